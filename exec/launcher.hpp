// Launcher: starts the processes of a run and sees to it that all of them end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <vector>

#include "exec/board.hpp"

namespace tutti {

/// The processes of one run. They die with the thread that started them.
class Launcher {
 public:
  explicit Launcher(const Board& board) : board_(board) {}
  /// Kills and reaps what is left.
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Forks one process per rank, which ends with the exit code that `body` returns; no handler
  /// of atexit runs. Throws Error(system).
  void start(const std::function<int(int rank)>& body);

  /// Returns when all have been reaped. A rank that dies is made known to the others; those that
  /// still run half a second after the first failure are killed. So is, with Error(timeout) as its
  /// failure, a rank that stays stopped for longer than `timeout_seconds` while this process runs:
  /// a little longer, so that a rank that waits for it can say first what it waits for. Throws
  /// Error(system) where the processes cannot be watched.
  void watch(double timeout_seconds);

  /// The ranks that were found stopped, as by SIGSTOP, when they had to be killed.
  const std::vector<int>& stopped_ranks() const { return stopped_ranks_; }

 private:
  struct Child {
    pid_t pid = -1;  // -1: reaped.
    int descriptor = -1;
    std::optional<double> stopped_seconds = {};  // Seen so far; empty while it runs.
  };

  void poll_children();
  void reap(int rank);
  void note_death(int rank, int status) const;
  bool is_running() const;
  void count_stopped(double elapsed_seconds);
  void end_stopped(double timeout_seconds);
  void find_stopped();
  void kill_all();

  const Board& board_;
  std::vector<Child> children_;
  std::vector<int> stopped_ranks_;
  bool is_killing_ = false;
};

}  // namespace tutti
