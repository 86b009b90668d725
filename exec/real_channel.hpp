// RealChannel: what the channels of real processes have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "collectives/channel.hpp"
#include "collectives/envelope.hpp"
#include "exec/clock.hpp"

namespace tutti {

/// The messages between a rank and one peer.
struct PeerTraffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  Envelope last_sent;
};

/// A Channel on the wall's clock, on which local work takes the time that it takes.
class RealChannel : public Channel {
 public:
  double now() const final { return monotonic_seconds(); }
  void charge(const Work&) final {}

  /// Those posted and not waited for; 0 once the channel is dead.
  virtual std::int64_t open_requests() const = 0;

  /// At the end of the rank's program: sees that all participants of the last call know that this
  /// rank made it. Throws as a wait does.
  virtual void settle() {}

  /// What has passed to and from `peer`, so that what was sent and never received is noticed at the
  /// end of a run; nothing where the substrate notices it otherwise.
  virtual PeerTraffic traffic(int /*peer*/) const { return {}; }

 protected:
  using Channel::Channel;
};

/// Makes a rank's channel of a lane.
using ChannelMaker = std::function<std::unique_ptr<RealChannel>(int lane)>;

}  // namespace tutti
