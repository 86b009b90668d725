// Replay: one run of a program by the replay engine.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "sim/outcome.hpp"
#include "sim/replay_rank.hpp"

namespace tutti {

class Replay final : public ReplayFailures {
 public:
  /// All references outlive it. `observation` may be null.
  Replay(const Shape& shape, const SimOptions& options, int size, StackPool& stacks,
         Observation* observation);

  /// Runs `program` on all ranks; throws as World::run() does. Once.
  void run(const Program& program);

  /// When each rank has ended.
  void write_ends(std::span<double> end_seconds) const;

  /// Messages that have been waited for on both ends.
  std::size_t messages() const { return mail_.finished(); }

  void fail(int rank, std::exception_ptr failure) override;

 private:
  void loop();
  void handle(const std::vector<Event>& events);
  Error deadlock() const;
  void check_end() const;

  ReplayTasks tasks_;
  HostCores cores_;
  ReplayMail mail_;
  std::vector<std::unique_ptr<ReplayRank>> ranks_;
  std::vector<std::uint32_t> done_;  ///< Tasks whose work is done.
  bool has_failed_ = false;
  Outcome outcome_{};
};

}  // namespace tutti
