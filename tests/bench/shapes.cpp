// What large shapes cost: for each, the seconds to build it, the largest memory of a process that
// does, and the nanoseconds of a route between two hosts of many evenly spread pairs.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "topologies/fabrics.hpp"

namespace {

using namespace tutti;
using Clock = std::chrono::steady_clock;

constexpr LinkSpec cable = {50e9, 1e-6};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double peak_megabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void measure(const std::function<Fabric()>& build) {
  const Clock::time_point begin = Clock::now();
  const Shape shape = build_shape(build());
  const double seconds = seconds_since(begin);

  constexpr int routes = 1'000'000;
  const auto hosts = static_cast<std::uint64_t>(shape.size());
  std::size_t crossed = 0;
  const Clock::time_point routing = Clock::now();
  for (std::uint64_t index = 0; index < routes; ++index) {
    const std::uint64_t from = index * 7919 % hosts, to = (from + 1 + index % (hosts - 1)) % hosts;
    crossed += shape.route(static_cast<int>(from), static_cast<int>(to)).size();
  }
  fmt::print("{:>8} {:>8} {:>8.2f} {:>8.0f} {:>9.0f} {:>11.2f}  {}\n", shape.size(),
             shape.links.size(), seconds, peak_megabytes(), seconds_since(routing) * 1e9 / routes,
             static_cast<double>(crossed) / routes, shape.name);
  std::fflush(stdout);
}

/// In a process of its own, so that its memory is its own.
void measure_apart(const std::function<Fabric()>& build) {
  const pid_t child = fork();
  if (child == 0) {
    measure(build);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main() {
  const MachineSpec machine_spec = {
      .devices = 8, .nics = 8, .pcie_switches = 4, .device = {450e9, 1e-6}, .pcie = cable};
  const std::vector<std::function<Fabric()>> shapes = {
      [] { return fat_tree(k_ary_fat_tree(36, 1, {cable})); },
      [] {
        return dragonfly({129, 16, 8, 8, cable, cable, cable});
      },
      [] {
        return grid({.dimensions = {22, 22, 22}, .links = {cable}});
      },
      [] {
        return leaf_spine({256, 32, 40, 1, 1, cable, cable});
      },
      [&] {
        return compose(leaf_spine({128, 64, 80, 1, 8, cable, cable}), machine(machine_spec));
      },
      [] {
        return star({maximum_hosts, cable});
      }};
  fmt::print("{:>8} {:>8} {:>8} {:>8} {:>9} {:>11}\n", "hosts", "links", "build s", "peak MB",
             "route ns", "route links");
  std::fflush(stdout);
  for (const std::function<Fabric()>& build : shapes) measure_apart(build);
}
