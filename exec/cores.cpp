#include "exec/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace tutti {
namespace {

namespace fs = std::filesystem;

std::optional<double> read_number(const fs::path& file) {
  double number = 0.0;
  if (std::ifstream stream(file); stream >> number) return number;
  return std::nullopt;
}

// Version 2: "200000 100000" or "max 100000".
std::optional<double> quota_v2(const fs::path& group) {
  std::ifstream stream(group / "cpu.max");
  double quota = 0.0, period = 0.0;
  if (stream >> quota >> period && quota > 0.0 && period > 0.0) return quota / period;
  return std::nullopt;
}

std::optional<double> quota_v1(const fs::path& group) {
  const auto quota = read_number(group / "cpu.cfs_quota_us");
  const auto period = read_number(group / "cpu.cfs_period_us");
  if (quota && period && *quota > 0.0 && *period > 0.0) return *quota / *period;
  return std::nullopt;
}

using Quota = std::optional<double> (*)(const fs::path&);

// In a container the group's own path may not be visible below the mount; then only what is counts.
std::optional<double> smallest(const fs::path& mount, const fs::path& path, Quota quota_of) {
  std::optional<double> result = quota_of(mount);
  fs::path group = mount;
  for (const fs::path& name : path.relative_path()) {
    group /= name;
    if (const auto quota = quota_of(group)) result = std::min(result.value_or(*quota), *quota);
  }
  return result;
}

// Whether "cpu,cpuacct" names the controller "cpu".
bool lists_cpu(const std::string& names) {
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

int affinity_cores() {
  // The mask of a machine with more than 1024 processors does not fit; then all of them count.
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::optional<double> quota_cores(const std::string& groups, const fs::path& root) {
  std::optional<double> result;
  const auto limit = [&](std::optional<double> quota) {
    if (quota) result = std::min(result.value_or(*quota), *quota);
  };
  std::istringstream lines(groups);
  // Each line is "number:controllers:path"; version 2's has number 0 and no controllers.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const fs::path path = line.substr(second + 1);
    if (names.empty()) {
      limit(smallest(root, path, quota_v2));
    } else if (lists_cpu(names)) {
      limit(smallest(root / "cpu", path, quota_v1));
      limit(smallest(root / names, path, quota_v1));
    }
  }
  return result;
}

void pin_to_core(int index) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  int to_skip = index % std::max(1, CPU_COUNT(&mask));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &mask) || to_skip-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

int available_cores() {
  std::ifstream stream("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(stream), {}};
  const auto quota = quota_cores(groups, "/sys/fs/cgroup");
  const int allowed = std::max(1, affinity_cores());
  return quota ? std::clamp(static_cast<int>(std::ceil(*quota)), 1, allowed) : allowed;
}

}  // namespace tutti
