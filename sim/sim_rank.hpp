// SimRank: a rank as an actor, with its channels and the tasks it has spawned.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/sim_channel.hpp"
#include "sim/sim_world.hpp"
#include "sim/simulated_rank.hpp"

namespace tutti {

class SimRank final : public SimulatedRank {
 public:
  /// Called in the actor that fails; does not return.
  using Fail = std::function<void(int rank, std::exception_ptr failure)>;

  SimRank(SimStreams& streams, int index, int size, const SimOptions& options, const Host& host,
          Fail fail);

  Channel& channel(int lane = 0) override;
  void spawn(std::function<void()> task) override;

  /// The actor's code: waits for the rank's start, runs `program`, joins the tasks and checks that
  /// all requests are closed.
  void run(const Program& program);

  void pause(double seconds) override { simgrid::s4u::this_actor::sleep_for(seconds); }
  void stall() override;
  void kill() override;

  std::optional<double> end_seconds() const { return end_seconds_; }
  bool is_killed() const { return killed_; }
  RankState state() const;

 private:
  void guard(const std::function<void()>& code) const;

  SimStreams& streams_;
  const LocalCosts costs_;
  const double start_seconds_;
  Fail fail_;
  std::vector<std::unique_ptr<SimChannel>> channels_;
  std::vector<simgrid::s4u::ActorPtr> actors_;  ///< The rank's own, then its tasks'.
  std::optional<double> end_seconds_;
  bool killed_ = false;
  bool stalled_ = false;
};

}  // namespace tutti
