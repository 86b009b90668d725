#include "exec/launcher.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "exec/clock.hpp"
#include "exec/rank_process.hpp"
#include "process/child.hpp"

namespace tutti {
namespace {

constexpr double grace_seconds = 0.5;
constexpr int look_milliseconds = 100;
// The most that counts of the time between two looks; on a busy machine they come late.
constexpr double longest_look_seconds = 2e-3 * look_milliseconds;
// A rank that waits for a stopped one may speak first: it knows what it waits for.
constexpr double precedence_seconds = 0.1;

bool is_stopped(pid_t pid) {
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT);
  return result == 0 && info.si_pid != 0;
}

// A death record's text follows "rank 2 ".
std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("ended by itself with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Launcher::~Launcher() {
  kill_all();
  for (std::size_t rank = 0; rank < children_.size(); ++rank) reap(static_cast<int>(rank));
}

void Launcher::start(const std::function<int(int rank)>& body) {
  // What is buffered now would be written once by every process.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  for (int rank = 0; rank < board_.size(); ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      die_with_parent(parent);
      int code = exit_code_failed;
      try {
        code = body(rank);
      } catch (...) {
        // Nothing of the parent's stack may run in a child.
      }
      std::fflush(nullptr);
      _exit(code);
    }
    if (pid < 0) {
      throw Error(ErrorKind::system, fmt::format("cannot fork rank {} of {}: {}", rank,
                                                 board_.size(), std::strerror(errno)));
    }
    children_.push_back({.pid = pid});
    children_.back().descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (children_.back().descriptor < 0) {
      throw Error(ErrorKind::system, fmt::format("cannot watch process {} of rank {}: {}", pid,
                                                 rank, std::strerror(errno)));
    }
  }
}

void Launcher::watch(double timeout_seconds) {
  double kill_seconds = no_deadline;
  double last_seconds = monotonic_seconds();
  while (is_running()) {
    const double now_seconds = monotonic_seconds();
    count_stopped(now_seconds - last_seconds);
    last_seconds = now_seconds;
    if (board_.first_failed() < 0) end_stopped(timeout_seconds);
    if (board_.first_failed() >= 0 && std::isinf(kill_seconds)) {
      kill_seconds = now_seconds + grace_seconds;
    }
    if (now_seconds >= kill_seconds && !is_killing_) {
      find_stopped();
      kill_all();
    }
    poll_children();
  }
}

// Returns at the end of a process, or soon: a rank may fail without its process ending.
void Launcher::poll_children() {
  std::vector<pollfd> descriptors;
  // poll() ignores the negative descriptors of those already reaped.
  for (const Child& child : children_) descriptors.push_back({child.descriptor, POLLIN, 0});
  if (poll(descriptors.data(), descriptors.size(), look_milliseconds) < 0) {
    if (errno == EINTR) return;
    throw Error(ErrorKind::system, fmt::format("cannot watch the processes of {} ranks: {}",
                                               descriptors.size(), std::strerror(errno)));
  }
  for (std::size_t rank = 0; rank < descriptors.size(); ++rank) {
    if (descriptors[rank].revents != 0) reap(static_cast<int>(rank));
  }
}

// Waits for the end of the rank's process, if it has not been reaped.
void Launcher::reap(int rank) {
  Child& child = children_[static_cast<std::size_t>(rank)];
  if (child.pid < 0) return;
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = waitpid(child.pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (child.descriptor >= 0) close(child.descriptor);
  child = {};
  if (reaped > 0 && !is_killing_) note_death(rank, status);
}

void Launcher::note_death(int rank, int status) const {
  RankRecord& record = board_.rank(rank);
  if (record.left.load() && WIFEXITED(status)) return;
  if (record.failure.cause == FailureRecord::Cause::none) {
    record.failure.set(FailureRecord::Cause::death, ErrorKind::peer_lost,
                       fmt::format("rank {} {}", rank, describe_status(status)));
  }
  board_.fail(rank);
}

bool Launcher::is_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.pid >= 0; });
}

// Of a time in which this process was stopped itself, as all are by Ctrl-Z, little is counted.
void Launcher::count_stopped(double elapsed_seconds) {
  for (Child& child : children_) {
    if (child.pid < 0 || !is_stopped(child.pid)) {
      child.stopped_seconds.reset();
    } else if (child.stopped_seconds) {
      *child.stopped_seconds += std::min(elapsed_seconds, longest_look_seconds);
    } else {
      child.stopped_seconds = 0.0;
    }
  }
}

// Kills all stopped ranks where one has been so for too long; that one is the first failure.
void Launcher::end_stopped(double timeout_seconds) {
  const auto longest = std::max_element(
      children_.begin(), children_.end(),
      [](const Child& a, const Child& b) { return a.stopped_seconds < b.stopped_seconds; });
  if (longest->stopped_seconds.value_or(0.0) < timeout_seconds + precedence_seconds) return;
  const auto culprit = static_cast<int>(longest - children_.begin());
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    const Child& child = children_[rank];
    if (!child.stopped_seconds) continue;
    kill(child.pid, SIGKILL);
    board_.rank(static_cast<int>(rank))
        .failure.set(
            FailureRecord::Cause::error, ErrorKind::timeout,
            fmt::format("rank {} has been stopped for {:.3f} s", rank, *child.stopped_seconds));
    if (static_cast<int>(rank) != culprit) stopped_ranks_.push_back(static_cast<int>(rank));
  }
  board_.fail(culprit);
}

void Launcher::find_stopped() {
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    if (children_[rank].pid < 0 || !is_stopped(children_[rank].pid)) continue;
    stopped_ranks_.push_back(static_cast<int>(rank));
  }
}

void Launcher::kill_all() {
  is_killing_ = true;
  for (const Child& child : children_) {
    if (child.pid >= 0) kill(child.pid, SIGKILL);
  }
}

}  // namespace tutti
