// SubChannel: a subset of a channel's ranks as a channel of its own.
#pragma once

#include <vector>

#include "collectives/channel.hpp"

namespace tutti {

/// The ranks `members` of `inner`, renumbered in that order; `inner` must outlive it and its own
/// rank must be a member. Members are distinct. All members must name the same list. Two subsets
/// that share no pair of ranks may be active at once on one lane.
class SubChannel final : public Channel {
 public:
  SubChannel(Channel& inner, std::vector<int> members);

  double now() const override { return inner_.now(); }
  void set_deadline(double seconds) override { inner_.set_deadline(seconds); }
  void charge(const Work& work) override { inner_.charge(work); }

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  Channel& inner_;
  std::vector<int> members_;
};

}  // namespace tutti
