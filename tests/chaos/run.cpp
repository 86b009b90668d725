#include "tests/chaos/run.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <sstream>

#include "collectives/bruck.hpp"
#include "exec/clock.hpp"
#include "exec/faults.hpp"
#include "process/child.hpp"
#include "process/shared_memory.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

// What a run may take beyond its timeout and pauses, on a busy machine and under sanitizers.
constexpr double slack_seconds = 60.0;

// What the processes of a run tell the one that watches.
struct Report {
  enum class End : int { none, good, error, other };

  std::array<std::atomic<pid_t>, most_chaos_ranks> processes{};
  std::atomic<int> wrong{0};  // Results, of all ranks, also before a failure.
  End end = End::none;
  ErrorKind kind = ErrorKind::usage;
  int new_descriptors = 0;
  char text[2000] = {};
};

void write(Report& report, Report::End end, const std::string& text) {
  report.end = end;
  std::snprintf(report.text, sizeof report.text, "%s", text.c_str());
}

int count_entries(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// Sockets that listen in this network namespace.
int count_listening() {
  int count = 0;
  for (const char* const name : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(name);
    for (std::string line; std::getline(file, line);) {
      std::string slot, local, remote, state;
      std::istringstream(line) >> slot >> local >> remote >> state;
      count += state == "0A";
    }
  }
  return count;
}

std::vector<Case> filled_cases(World& world, const Scenario& scenario) {
  std::vector<Case> cases;
  std::mt19937_64 random(scenario.seed);
  for (const CaseSpec& spec : scenario.cases) {
    cases.push_back(allocate_case(world, spec));
    fill_inputs(cases.back(), fill_whole, random);
  }
  return cases;
}

// What each rank must get, by case: from threads that pass messages through mailboxes.
std::vector<std::vector<std::vector<std::byte>>> expected_results(const Scenario& scenario) {
  LoopbackWorld world(scenario.ranks);
  const std::vector<Case> cases = filled_cases(world, scenario);
  run_cases(world, cases);
  std::vector<std::vector<std::vector<std::byte>>> expected;
  for (const Case& done : cases) {
    expected.emplace_back();
    for (int rank = 0; rank < scenario.ranks; ++rank) {
      expected.back().push_back(bytes_in(result_of(done, rank)));
    }
  }
  return expected;
}

// The life of the process that starts the ranks.
void launch(const Scenario& scenario, Wire wire, Report& report) {
  const auto expected = expected_results(scenario);
  const int descriptors = count_entries("/proc/self/fd");
  try {
    ForkWorld world(
        scenario.ranks,
        {.timeout_seconds = scenario.timeout_seconds, .seed = scenario.seed, .wire = wire});
    const std::vector<Case> cases = filled_cases(world, scenario);
    world.run([&](Rank& rank) {
      const auto index = static_cast<std::size_t>(rank.index());
      report.processes[index] = getpid();
      Faulty channel(rank.channel(), scenario.faults_of(rank.index()), act_on_process);
      for (std::size_t i = 0; i < cases.size(); ++i) {
        run_case(cases[i], channel);
        if (bytes_in(result_of(cases[i], rank.index())) != expected[i][index]) ++report.wrong;
      }
      // Somebody misses a rank that never goes on, also where it had sent all it had to.
      barrier_dissemination(rank.channel());
    });
    write(report, Report::End::good, "");
  } catch (const Error& error) {
    report.kind = error.kind();
    write(report, Report::End::error, error.what());
  } catch (const std::exception& error) {
    write(report, Report::End::other, error.what());
  }
  report.new_descriptors = count_entries("/proc/self/fd") - descriptors;
}

void sleep_until(double seconds) {
  while (monotonic_seconds() < seconds) usleep(200);
}

// A process by a descriptor: its number may belong to another one soon after its end.
class Target {
 public:
  explicit Target(pid_t process)
      : descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}
  ~Target() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void send(int signal) const { syscall(SYS_pidfd_send_signal, descriptor_, signal, nullptr, 0); }

 private:
  const int descriptor_;
};

// Does from outside what the scenario wants.
void cause_trouble(const Scenario& scenario, pid_t launcher, Report& report) {
  if (!scenario.is_from_outside()) return;
  const double limit_seconds = monotonic_seconds() + slack_seconds;
  const std::atomic<pid_t>& process = report.processes[static_cast<std::size_t>(scenario.victim)];
  while (process.load() == 0 && monotonic_seconds() < limit_seconds) {
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(launcher), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0) return;
    usleep(100);
  }
  const Target victim(scenario.trouble == Trouble::launcher_kill ? launcher : process.load());
  sleep_until(monotonic_seconds() + scenario.after_seconds);
  switch (scenario.trouble) {
    case Trouble::pause:
      victim.send(SIGSTOP);
      sleep_until(monotonic_seconds() + scenario.pause_seconds);
      return victim.send(SIGCONT);
    case Trouble::outer_stop:
      return victim.send(SIGSTOP);
    default:
      return victim.send(SIGKILL);
  }
}

// Reaps `launcher`; false if it is still there when the time is over.
bool await_end(pid_t launcher, double seconds, int& status) {
  const double limit_seconds = monotonic_seconds() + seconds;
  while (monotonic_seconds() < limit_seconds) {
    if (waitpid(launcher, &status, WNOHANG) == launcher) return true;
    usleep(200);
  }
  return false;
}

// Reaps orphans. A killed launcher's ranks take a moment to follow it; none may stay for long.
int count_orphans(double seconds) {
  const double limit_seconds = monotonic_seconds() + seconds;
  for (;;) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0) return 0;
    if (reaped > 0) continue;
    if (monotonic_seconds() > limit_seconds) break;
    usleep(200);
  }
  return 1;
}

std::string complain(const Scenario& scenario, const Report& report, int status) {
  if (report.wrong.load() > 0) return fmt::format("{} wrong results", report.wrong.load());
  if (scenario.trouble == Trouble::launcher_kill && WIFSIGNALED(status)) return "";
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fmt::format("the launcher ended with status {}", status);
  }
  if (report.new_descriptors != 0) {
    return fmt::format("{} descriptors left open", report.new_descriptors);
  }
  if (report.end == Report::End::good) return "";
  if (scenario.must_succeed()) return fmt::format("failed for no reason: {}", report.text);
  const bool is_apt = report.end == Report::End::error &&
                      (report.kind == ErrorKind::peer_lost || report.kind == ErrorKind::timeout);
  if (!is_apt) return fmt::format("failed in a wrong way: {}", report.text);
  const std::string name = fmt::format("rank {}", scenario.victim);
  if (std::strstr(report.text, name.c_str()) == nullptr) {
    return fmt::format("the error does not name {}: {}", name, report.text);
  }
  return "";
}

}  // namespace

Verdict run_scenario(const Scenario& scenario, Wire wire) {
  const SharedMapping memory(sizeof(Report), SharedMapping::Pages::reserved);
  Report& report = *new (memory.data()) Report;
  const int segments = count_entries("/dev/shm"), ports = count_listening();
  const pid_t watcher = getpid();
  const pid_t launcher = fork();
  if (launcher == 0) {
    die_with_parent(watcher);
    launch(scenario, wire, report);
    std::fflush(nullptr);
    _exit(0);
  }
  cause_trouble(scenario, launcher, report);
  int status = 0;
  const bool is_over = await_end(launcher, scenario.timeout_seconds + slack_seconds, status);
  if (!is_over) {
    kill(launcher, SIGKILL);
    waitpid(launcher, &status, 0);
  }
  const bool was_killed = WIFSIGNALED(status);
  const int orphans = count_orphans(was_killed ? 5.0 : 0.0);
  Verdict verdict{.has_failed = report.end != Report::End::good, .error = report.text};
  verdict.complaint = complain(scenario, report, status);
  if (!is_over) verdict.complaint = "hangs";
  if (orphans > 0) verdict.complaint += " left processes behind";
  if (count_entries("/dev/shm") > segments) verdict.complaint += " left shared memory behind";
  if (count_listening() > ports) verdict.complaint += " left a port behind";
  return verdict;
}

}  // namespace tutti
