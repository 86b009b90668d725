#include "emulation/emulated_network.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "collectives/error.hpp"
#include "emulation/forked_child.hpp"
#include "process/temporary_file.hpp"

namespace tutti {
namespace {

constexpr int exit_code_no_tool = 127;

[[noreturn]] void refuse(std::string_view what, int error) {
  throw Error(ErrorKind::system, fmt::format("cannot {}: {}", what, std::strerror(error)));
}

void write_setting(const std::string& path, std::string_view value) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse("open " + path, errno);
  const ssize_t written = write(descriptor, value.data(), value.size());
  const int error = errno;
  close(descriptor);
  if (written < 0) refuse(fmt::format("write '{}' to {}", value, path), error);
}

bool may_make_namespaces() {
  ForkedChild trial([](int) { return unshare(CLONE_NEWNET) == 0 ? 0 : 1; });
  return trial.wait() == 0;
}

// Users without rights over networks have them within a user namespace of their own, where the
// machine permits that.
void enter_user_namespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER) != 0) {
    refuse(
        "make network namespaces, which takes root, nor a user namespace, in which everybody "
        "may; run this as root",
        errno);
  }
  write_setting("/proc/self/setgroups", "deny");
  write_setting("/proc/self/uid_map", fmt::format("0 {} 1", user));
  write_setting("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

// The settings of IPv6 are not there where the kernel has none.
void apply_settings(const std::vector<EmulationSetting>& settings) {
  for (const EmulationSetting& setting : settings) {
    const std::string path = "/proc/sys/net/" + setting.path;
    if (setting.path.starts_with("ipv6/") && access(path.c_str(), F_OK) != 0) continue;
    write_setting(path, setting.value);
  }
}

void run_batch(const NetworkNamespace& place, const std::string& node, const char* tool,
               const std::string& batch) {
  if (batch.empty()) return;
  const TemporaryFile input;
  input.write(batch);
  input.rewind();
  ForkedChild child([&](int messages) {
    place.enter();
    dup2(input.descriptor(), STDIN_FILENO);
    dup2(messages, STDOUT_FILENO);
    dup2(messages, STDERR_FILENO);
    execlp(tool, tool, "-batch", "-", static_cast<char*>(nullptr));
    return exit_code_no_tool;
  });
  const int status = child.wait();
  if (status == 0) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_code_no_tool) {
    throw Error(ErrorKind::system,
                fmt::format("cannot run '{}', which is part of iproute2; install that", tool));
  }
  std::string message = child.message();
  std::replace(message.begin(), message.end(), '\n', ' ');
  throw Error(ErrorKind::system,
              fmt::format("'{}' failed in the namespace of {}: {}", tool, node, message));
}

}  // namespace

// Made by a child, so that this process never leaves its own.
NetworkNamespace::NetworkNamespace(const std::vector<EmulationSetting>& settings) {
  std::array<int, 2> ready;
  if (pipe2(ready.data(), O_CLOEXEC) != 0) refuse("make a pipe", errno);
  ForkedChild maker([&](int) {
    if (unshare(CLONE_NEWNET) != 0) refuse("make a network namespace", errno);
    apply_settings(settings);
    close(ready[0]);
    if (write(ready[1], "", 1) == 1) pause();
    return 0;
  });
  close(ready[1]);
  char byte = 0;
  ssize_t count = 0;
  do {
    count = read(ready[0], &byte, 1);
  } while (count < 0 && errno == EINTR);
  close(ready[0]);
  if (count == 1) {
    descriptor_ = open(fmt::format("/proc/{}/ns/net", maker.pid()).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse("open a network namespace", errno);
    return;
  }
  maker.wait();
  throw Error(ErrorKind::system, maker.message());
}

NetworkNamespace::~NetworkNamespace() {
  if (descriptor_ >= 0) close(descriptor_);
}

NetworkNamespace::NetworkNamespace(NetworkNamespace&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string NetworkNamespace::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

void NetworkNamespace::enter() const {
  if (setns(descriptor_, CLONE_NEWNET) != 0) refuse("enter a network namespace", errno);
}

EmulatedNetwork::EmulatedNetwork(const EmulationPlan& plan) : plan_(plan) {
  if (!may_make_namespaces()) enter_user_namespace();
  const std::vector<EmulationSetting> settings = emulation_settings(plan);
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) namespaces_.emplace_back(settings);
  const auto path_of = [&](int node) { return namespaces_[static_cast<std::size_t>(node)].path(); };
  const auto run_everywhere = [&](const char* tool, const auto& batch_of) {
    for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
      run_batch(namespaces_[node], plan.nodes[node].name, tool, batch_of(static_cast<int>(node)));
    }
  };
  run_everywhere("ip", [&](int node) { return link_batch(plan, node, path_of); });
  run_everywhere("ip", [&](int node) { return route_batch(plan, node); });
  run_everywhere("tc", [&](int node) { return bucket_batch(plan, node); });
}

void EmulatedNetwork::enter(int node) const {
  namespaces_.at(static_cast<std::size_t>(node)).enter();
}

}  // namespace tutti
