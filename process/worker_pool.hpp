// A pool of forked processes that share out tasks and send back texts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace tutti {

struct PoolHooks {
  /// In a forked process: does the task and returns its result. It sees the caller's variables as
  /// they were when the pool began, and what earlier tasks of its own process left.
  std::function<std::string(std::size_t task)> work;
  /// In the caller, as results come.
  std::function<void(std::size_t task, const std::string& result)> finished;
  /// In the caller: the task's process has ended on the way; `why` is for people. The other tasks
  /// go on.
  std::function<void(std::size_t task, const std::string& why)> crashed;
  /// In the caller, after each result, signal and `patience`: true ends the pool early. Its
  /// processes are killed, and what they were doing is lost.
  std::function<bool()> stops = [] { return false; };
};

/// Runs the tasks, in order, on at most `processes` forked processes. The caller must have no
/// threads. `work` must not throw; SIGINT ends the processes. Throws Error(system) where not even
/// one can be forked.
void run_in_processes(const std::vector<std::size_t>& tasks, int processes, const PoolHooks& hooks);

}  // namespace tutti
