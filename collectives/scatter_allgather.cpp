#include "collectives/scatter_allgather.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "collectives/butterfly.hpp"
#include "collectives/closed_form.hpp"
#include "collectives/ring.hpp"
#include "collectives/sub_channel.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

// All ranks, renumbered from the root on.
std::vector<int> ranks_from(int root, int size) {
  check(root >= 0 && root < size, "scatter_allgather: root {} is not a rank of a world of {}", root,
        size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::rotate(ranks.begin(), ranks.begin() + root, ranks.end());
  return ranks;
}

template <typename Allgather>
void scatter_then(Channel& channel, Block data, int root, const Allgather& allgather) {
  const auto from_rank_0 = [&](Channel& c) {
    const Parts parts(data, c.size());
    scatter_binomial(c, parts, 0);
    allgather(c, parts);
  };
  if (root == 0) return from_rank_0(channel);
  SubChannel renumbered(channel, ranks_from(root, channel.size()));
  from_rank_0(renumbered);
}

}  // namespace

void broadcast_scatter_ring(Channel& channel, Block data, int root) {
  const int size = channel.size();
  const Operation operation(channel, "broadcast_scatter_ring", data, Op::replace,
                            ceil_log2(size) + size - 1, root);
  scatter_then(channel, data, root,
               [](Channel& c, const Parts& parts) { allgather_ring(c, parts); });
}

void broadcast_scatter_recursive_doubling(Channel& channel, Block data, int root) {
  const int rounds = ceil_log2(channel.size()), doublings = floor_log2(channel.size());
  const Operation operation(channel, "broadcast_scatter_recursive_doubling", data, Op::replace,
                            rounds + doublings + (doublings < rounds ? 2 : 0), root);
  scatter_then(channel, data, root,
               [](Channel& c, const Parts& parts) { allgather_recursive_doubling(c, parts); });
}

}  // namespace tutti
