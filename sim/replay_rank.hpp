// ReplayRank: a rank as a fiber, with its channels and the tasks it has spawned.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "sim/deadlock.hpp"
#include "sim/replay_channel.hpp"
#include "sim/simulated_rank.hpp"
#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Told of what a rank's code throws.
class ReplayFailures {
 public:
  virtual ~ReplayFailures() = default;
  virtual void fail(int rank, std::exception_ptr failure) = 0;

 protected:
  ReplayFailures() = default;
};

class ReplayRank final : public SimulatedRank {
 public:
  /// All references outlive it. `host` is where it runs.
  ReplayRank(const ReplayParts& parts, const Shape& shape, const SimOptions& options,
             ReplayFailures& failures, int index, int size);

  Channel& channel(int lane = 0) override;
  void spawn(std::function<void()> task) override;
  void pause(double seconds) override { parts_.tasks.sleep(seconds); }
  void stall() override;
  void kill() override;

  /// The code of its own task: waits for the rank's start, runs `program`, joins the tasks and
  /// checks that all requests are closed.
  void run(const Program& program);

  double end_seconds() const { return end_seconds_; }
  bool is_killed() const { return is_killed_; }
  RankState state() const;

 private:
  void guard(const std::function<void()>& code);
  double start_seconds() const;

  const ReplayParts parts_;
  const Shape& shape_;
  const SimOptions& options_;
  ReplayFailures& failures_;
  std::vector<std::unique_ptr<ReplayChannel>> channels_;
  std::vector<std::uint32_t> tasks_;  ///< Its own, then those that it has spawned.
  std::size_t open_tasks_ = 0;        ///< Spawned ones that have not ended.
  double end_seconds_ = 0.0;
  bool has_ended_ = false;
  bool is_killed_ = false;
  bool is_stalled_ = false;
};

}  // namespace tutti
