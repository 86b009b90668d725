// Launcher: starts the processes of a run and sees to it that all of them end.
#pragma once

#include <sys/types.h>

#include <functional>
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
  /// still run half a second after the first failure are killed.
  void watch();

  /// The ranks that were found stopped, as by SIGSTOP, when they had to be killed.
  const std::vector<int>& stopped_ranks() const { return stopped_ranks_; }

 private:
  struct Child {
    pid_t pid = -1;  // -1: reaped.
    int descriptor = -1;
  };

  void poll_children();
  void reap(int rank);
  void note_death(int rank, int status) const;
  bool is_running() const;
  void find_stopped();
  void kill_all();

  const Board& board_;
  std::vector<Child> children_;
  std::vector<int> stopped_ranks_;
  bool is_killing_ = false;
};

}  // namespace tutti
