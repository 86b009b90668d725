// SubChannel: a subset of a channel's ranks as a channel of its own.
#pragma once

#include <vector>

#include "collectives/decorator.hpp"

namespace tutti {

/// The ranks `members` of `inner`, renumbered in that order; `inner` must outlive it and its own
/// rank must be a member. Members are distinct. All members must name the same list. Two subsets
/// that share no pair of ranks may be active at once on one lane.
class SubChannel final : public Decorator {
 public:
  SubChannel(Channel& inner, std::vector<int> members);

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;

 private:
  std::vector<int> members_;
  RankGroup group_;  // The members by their numbers in the world.
};

}  // namespace tutti
