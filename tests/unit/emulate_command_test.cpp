// tutti emulate, where this process may make network namespaces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "run_tutti.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

// Slow enough for machines that do something else too.
const std::string star = "emulate --topology topologies/emulated_star.yaml --set bandwidth=20Mbps ";

// Whether the command was refused what not every machine grants.
bool lacks_rights(const CommandResult& result) {
  const auto says = [&](const char* text) { return result.errors.find(text) != std::string::npos; };
  return result.exit_code == 3 &&
         (says("which takes root") || says("cannot make a network namespace") ||
          says("part of iproute2") || says("cannot open /proc/sys/net"));
}

// The devices of this namespace, which must stay as they are.
std::set<std::string> devices() {
  std::set<std::string> names;
  struct if_nameindex* const all = if_nameindex();
  for (const struct if_nameindex* one = all; one->if_index != 0; ++one) names.insert(one->if_name);
  if_freenameindex(all);
  return names;
}

std::set<std::string> named_namespaces() {
  std::set<std::string> names;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/run/netns", none)) {
    names.insert(entry.path());
  }
  return names;
}

// What a link below /proc leads to: "net:[4026531840]" for a namespace.
std::string target(const fs::path& link) {
  std::error_code gone;
  return fs::read_symlink(link, gone).string();
}

std::set<int> children_of(int pid) {
  std::istringstream text(read_text(fmt::format("/proc/{0}/task/{0}/children", pid)));
  std::set<int> children;
  for (int child = 0; text >> child;) children.insert(child);
  return children;
}

// Whether a process is in one of the namespaces, or has one open.
bool is_held(const std::set<std::string>& namespaces) {
  std::error_code gone;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", gone)) {
    if (namespaces.contains(target(process.path() / "ns/net"))) return true;
    for (const fs::directory_entry& file : fs::directory_iterator(process.path() / "fd", gone)) {
      if (namespaces.contains(target(file.path()))) return true;
    }
  }
  return false;
}

// Whether it holds before a generous end.
bool becomes(const std::function<bool()>& condition) {
  for (int look = 0; look < 2000; ++look) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class Emulate : public testing::Test {
 protected:
  void SetUp() override {
    const CommandResult trial = run_tutti(star + "--ranks 1 --program -- true");
    if (lacks_rights(trial)) GTEST_SKIP() << trial.errors;
    ASSERT_EQ(trial.exit_code, 0) << trial.errors;
  }

  void TearDown() override {
    EXPECT_EQ(devices(), devices_);
    EXPECT_EQ(named_namespaces(), named_namespaces_);
  }

 private:
  const std::set<std::string> devices_ = devices();
  const std::set<std::string> named_namespaces_ = named_namespaces();
};

TEST_F(Emulate, RunsACommandOnceForEachRankInANamespaceOfItsHost) {
  const CommandResult result = run_tutti(
      star + "--program -- sh -c 'echo $RANK of $WORLD_SIZE, $MASTER_ADDR; ip -o link; ip route'");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("0 of 4, 10.0.0.1\n"), HasSubstr("c0@"),
                                   HasSubstr("10.0.0.4 dev c0 scope link src 10.0.0.1")));
  EXPECT_THAT(result.output, Not(HasSubstr("1 of 4")));
  EXPECT_THAT(result.errors, AllOf(HasSubstr("4 ranks on 5 namespaces and 4 cables"),
                                   HasSubstr("rank 0 to rank")));
}

TEST_F(Emulate, RunsACollectiveWithRightResults) {
  const char* const shapes[] = {
      "emulated_star.yaml --set bandwidth=20Mbps",
      "emulated_racks.yaml --set links.host.bandwidth=20Mbps --set links.spine.bandwidth=20Mbps",
      "emulated_ring.yaml --set bandwidth=20Mbps",
  };
  for (const char* shape : shapes) {
    const CommandResult result =
        run_tutti(fmt::format("emulate --topology topologies/{} -- bench allreduce --algo "
                              "ring,tree --sizes 1K,8K -n 2 -w 1 --format csv",
                              shape));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr(",8192,")) << result.errors;
  }
}

TEST_F(Emulate, EndsAsItsRanksDo) {
  CommandResult result =
      run_tutti(star + "--program -- sh -c 'test $RANK != 2 || { echo why >&2; exit 7; }'");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors, HasSubstr("rank 2 ended with exit code 7: why"));
  result = run_tutti(star + "--program -- sh -c 'test $RANK != 3 || kill -9 $$'");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("rank 3 was killed by signal 9"));
  EXPECT_EQ(run_tutti(star + "--program -- no-such-program").exit_code, 3);
}

TEST_F(Emulate, KillsRanksThatOutliveAFailure) {
  const CommandResult result =
      run_tutti(star + "--ranks 2 --program -- sh -c 'test $RANK = 0 || exit 1; exec sleep 100'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.errors, HasSubstr("rank 0 had to be killed"));
}

TEST_F(Emulate, LeavesNothingBehindWhenASignalEndsIt) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int silenced = std::freopen("/dev/null", "w", stderr) != nullptr;
      execl(TUTTI_COMMAND, "tutti", "emulate", "--topology", "topologies/emulated_star.yaml",
            "--set", "bandwidth=20Mbps", "--program", "--", "sleep", "100",
            static_cast<char*>(nullptr));
      _exit(silenced);
    }
    std::set<std::string> namespaces;
    std::set<int> ranks;
    const auto all_sleep = [&] {
      namespaces.clear();
      ranks = children_of(pid);
      for (const int rank : ranks) {
        if (!target(fmt::format("/proc/{}/exe", rank)).ends_with("sleep")) return false;
        namespaces.insert(target(fmt::format("/proc/{}/ns/net", rank)));
      }
      return namespaces.size() == 4;
    };
    EXPECT_TRUE(becomes(all_sleep));
    EXPECT_FALSE(namespaces.contains(target("/proc/self/ns/net")));
    EXPECT_TRUE(is_held(namespaces));
    kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, signal);
    EXPECT_TRUE(becomes([&] { return !is_held(namespaces); })) << "signal " << signal;
  }
}

TEST_F(Emulate, RefusesLinksThatThisMachineCannotEmulate) {
  const CommandResult result = run_tutti(
      "emulate --topology topologies/emulated_star.yaml --set bandwidth=1TBps --program -- true");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("faster than this machine can emulate"));
}

TEST_F(Emulate, NeedsItsTools) {
  ASSERT_EQ(setenv("PATH", "/nowhere", 1), 0);
  const CommandResult result = run_tutti(star + "--program -- true");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("cannot run 'ip', which is part of iproute2"));
}

TEST(EmulateCommand, PrintsItsPlanWithoutAnyRights) {
  const CommandResult result = run_tutti(star + "--plan");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("tc qdisc add dev c0 root tbf rate"));
}

TEST(EmulateCommand, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run_tutti(star).exit_code, 2);
  EXPECT_EQ(run_tutti(star + "--ranks 5 -- bench allreduce").exit_code, 2);
  EXPECT_EQ(run_tutti(star + "--mtu 1 --plan").exit_code, 2);
  EXPECT_EQ(run_tutti("emulate --topology topologies/dragonfly.yaml --plan").exit_code, 2);
  EXPECT_EQ(run_tutti("emulate --topology no/such.yaml --plan").exit_code, 3);
}

}  // namespace
}  // namespace tutti
