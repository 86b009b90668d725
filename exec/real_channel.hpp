// RealChannel: what the channels of real processes have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "collectives/channel.hpp"
#include "exec/clock.hpp"

namespace tutti {

/// A Channel on the wall's clock, on which local work takes the time that it takes.
class RealChannel : public Channel {
 public:
  double now() const final { return monotonic_seconds(); }
  void charge(const Work&) final {}

  /// Those posted and not waited for; 0 once the channel is dead.
  virtual std::int64_t open_requests() const = 0;

 protected:
  using Channel::Channel;
};

/// Makes a rank's channel of a lane.
using ChannelMaker = std::function<std::unique_ptr<RealChannel>(int lane)>;

}  // namespace tutti
