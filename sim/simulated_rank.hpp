// SimulatedRank: what can befall a rank of any simulating engine.
#pragma once

#include "collectives/world.hpp"

namespace tutti {

class SimulatedRank : public Rank {
 public:
  /// Lets simulated time pass for the task that calls.
  virtual void pause(double seconds) = 0;

  /// Suspends the task that calls, for good.
  virtual void stall() = 0;

  /// Ends the task that calls and all others of the rank, without a word; does not return.
  virtual void kill() = 0;

 protected:
  using Rank::Rank;
};

}  // namespace tutti
