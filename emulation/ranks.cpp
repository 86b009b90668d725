#include "emulation/ranks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

#include "collectives/error.hpp"
#include "emulation/forked_child.hpp"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

// A namespace has all its ports to itself.
constexpr int master_port = 29500;
constexpr std::chrono::milliseconds look_interval(10);
constexpr std::chrono::seconds grace(5);
constexpr int operating_error_code = 3;

// All are on this machine and share its cores, which is what the local numbers tell.
void set_environment(const EmulationPlan& plan, int rank) {
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  for (const char* name : {"RANK", "LOCAL_RANK"}) set(name, std::to_string(rank));
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) {
    set(name, std::to_string(plan.ranks()));
  }
  set("MASTER_ADDR", plan.nodes[static_cast<std::size_t>(plan.node_of_rank[0])].address);
  set("MASTER_PORT", std::to_string(master_port));
}

void keep_quiet(int messages) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(messages, STDERR_FILENO);
}

int become_rank(const EmulatedNetwork& network, int rank, const std::vector<std::string>& command,
                int messages) {
  network.enter(network.plan().node_of_rank[static_cast<std::size_t>(rank)]);
  set_environment(network.plan(), rank);
  std::signal(SIGPIPE, SIG_DFL);
  if (rank > 0) keep_quiet(messages);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  throw Error(ErrorKind::system,
              fmt::format("cannot run {}: {}", command.front(), std::strerror(errno)));
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : operating_error_code;
}

std::string note_of(int rank, int status, std::string message) {
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was killed by signal {} ({})", WTERMSIG(status),
                                            strsignal(WTERMSIG(status)))
                              : fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return fmt::format("rank {} {}{}{}", rank, how, message.empty() ? "" : ": ", message);
}

// The ranks in the order in which they ended; those that had to be killed are not among them.
std::vector<int> watch(std::deque<ForkedChild>& ranks) {
  std::vector<int> ended;
  std::vector<bool> is_running(ranks.size(), true);
  Clock::time_point kill_time = Clock::time_point::max();
  while (ended.size() < ranks.size() && Clock::now() < kill_time) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (!is_running[rank]) continue;
      const int status = ranks[rank].poll();
      if (status < 0) continue;
      is_running[rank] = false;
      ended.push_back(static_cast<int>(rank));
      if (status != 0 && kill_time == Clock::time_point::max()) kill_time = Clock::now() + grace;
    }
    std::this_thread::sleep_for(look_interval);
  }
  return ended;
}

}  // namespace

RanksOutcome run_ranks(const EmulatedNetwork& network, const std::vector<std::string>& command) {
  std::deque<ForkedChild> ranks;
  for (int rank = 0; rank < network.plan().ranks(); ++rank) {
    ranks.emplace_back([&](int messages) { return become_rank(network, rank, command, messages); });
  }
  const std::vector<int> ended = watch(ranks);
  RanksOutcome outcome;
  for (const int rank : ended) {
    ForkedChild& child = ranks[static_cast<std::size_t>(rank)];
    const int status = child.wait();
    if (status == 0) continue;
    const bool is_first = outcome.exit_code == 0;
    if (is_first) outcome.exit_code = exit_code_of(status);
    const std::string message = child.message();
    const bool is_as_rank_0 = status == ranks.front().poll();
    const bool is_said = rank == 0 ? WIFEXITED(status) && message.empty()
                                   : is_as_rank_0 && (!is_first || message.empty());
    if (!is_said) outcome.notes.push_back(note_of(rank, status, message));
  }
  for (int rank = 0; rank < network.plan().ranks(); ++rank) {
    if (std::find(ended.begin(), ended.end(), rank) != ended.end()) continue;
    outcome.notes.push_back(fmt::format("rank {} had to be killed", rank));
  }
  return outcome;
}

}  // namespace tutti
