// Runs random collectives while ranks are delayed, stopped and killed at random points, and sees to
// it that nothing hangs, no result is wrong and nothing is left behind.
#include <fmt/format.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

#include "tests/chaos/run.hpp"

namespace tutti {
namespace {

struct Flags {
  int runs = 100;
  std::uint64_t seed = 1;
  std::string transport = "shm";
  bool is_verbose = false;
};

// Where other programs' ports and shared memory are not seen, and /dev/shm is as small as in a
// container. Needs root; without it all of the machine's are seen.
void enter_own_namespaces() {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return;
  const int control = socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  if (control >= 0) ioctl(control, SIOCSIFFLAGS, &request);
  if (control >= 0) close(control);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64m");
}

// Returns whether nothing was wrong.
bool run_chaos(const Flags& flags) {
  const Wire wire = flags.transport == "tcp" ? Wire::tcp : Wire::shm;
  int failed = 0, complaints = 0;
  for (int i = 0; i < flags.runs; ++i) {
    const Scenario scenario = draw_scenario(flags.seed + static_cast<std::uint64_t>(i));
    const Verdict verdict = run_scenario(scenario, wire);
    failed += verdict.has_failed ? 1 : 0;
    if (flags.is_verbose) {
      fmt::print("{}\n  {}\n", scenario.describe(), verdict.error.empty() ? "good" : verdict.error);
    }
    if (!verdict.complaint.empty()) {
      ++complaints;
      fmt::print("{}: {}\n  again: chaos --transport {} --runs 1 --seed {} --verbose\n",
                 scenario.describe(), verdict.complaint, flags.transport, scenario.seed);
    }
    std::fflush(stdout);
  }
  fmt::print(
      "{} runs over {}, seeds {} to {}: {} ended well, {} with an error as they should, {} "
      "complaints\n",
      flags.runs, flags.transport, flags.seed,
      flags.seed + static_cast<std::uint64_t>(flags.runs) - 1, flags.runs - failed,
      failed - std::min(failed, complaints), complaints);
  return complaints == 0;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  tutti::Flags flags;
  CLI::App app(
      "Random collectives under seeded kills, stops and delays; exits with 1 if one hangs, "
      "gives a wrong result or leaves something behind.");
  app.add_option("--runs", flags.runs, "Runs, each of the next seed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the first run")->capture_default_str();
  app.add_option("--transport", flags.transport)
      ->check(CLI::IsMember({"shm", "tcp"}))
      ->capture_default_str();
  app.add_flag("--verbose", flags.is_verbose, "Print every run");
  CLI11_PARSE(app, argc, argv);
  tutti::enter_own_namespaces();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return tutti::run_chaos(flags) ? 0 : 1;
}
