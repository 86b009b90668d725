#include "collectives/sub_channel.hpp"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

int index_of(const std::vector<int>& members, int rank) {
  const auto found = std::find(members.begin(), members.end(), rank);
  check(found != members.end(), "sub_channel: rank {} is not a member of the group", rank);
  return static_cast<int>(found - members.begin());
}

}  // namespace

SubChannel::SubChannel(Channel& inner, std::vector<int> members)
    : Decorator(inner, index_of(members, inner.rank()), static_cast<int>(members.size())),
      members_(std::move(members)) {
  std::vector<int> sorted = members_;
  std::sort(sorted.begin(), sorted.end());
  check(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
        "sub_channel: a rank is a member twice");
  check(sorted.front() >= 0 && sorted.back() < inner.size(),
        "sub_channel: members {} to {} do not lie within a world of {}", sorted.front(),
        sorted.back(), inner.size());
  std::vector<int> ranks = members_;
  if (group() != nullptr) {
    for (int& rank : ranks) rank = group()->ranks[static_cast<std::size_t>(rank)];
  }
  group_ = RankGroup::of(std::move(ranks));
  set_group(group_);
}

Request SubChannel::post_send(int to, Block block) {
  return inner().isend(members_[static_cast<std::size_t>(to)], block);
}

Request SubChannel::post_recv(int from, Block block, Op op) {
  return inner().irecv(members_[static_cast<std::size_t>(from)], block, op);
}

}  // namespace tutti
