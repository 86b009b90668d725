#include "collectives/hierarchical.hpp"

#include "collectives/ring.hpp"
#include "collectives/sub_channel.hpp"

namespace tutti {
namespace {

// The `size` ranks, at distance `stride` from one to the next, of which `rank` is one.
std::vector<int> line_through(int rank, int stride, int size) {
  std::vector<int> members;
  const int first = rank - rank / stride % size * stride;
  for (int i = 0; i < size; ++i) members.push_back(first + i * stride);
  return members;
}

int groups_of(const Channel& channel, int group) {
  check(group > 0 && channel.size() % group == 0,
        "hierarchical: groups of {} ranks do not divide {} ranks", group, channel.size());
  return channel.size() / group;
}

// A rank's two levels.
struct Levels {
  Levels(Channel& channel, int group)
      : groups(groups_of(channel, group)),
        inner(channel, line_through(channel.rank(), 1, group)),
        outer(channel, line_through(channel.rank(), group, groups)) {}

  int groups;
  SubChannel inner;  // The ranks of the group.
  SubChannel outer;  // Those of the same number in each group.
};

void allreduce_along(Channel& channel, Block data, Op op, std::span<const int> dimensions,
                     int stride) {
  if (dimensions.empty()) return;
  const int size = dimensions.front();
  SubChannel ring(channel, line_through(channel.rank(), stride, size));
  const Parts parts(data, size);
  reduce_scatter_ring(ring, parts, op);
  allreduce_along(channel, parts[ring.rank()], op, dimensions.subspan(1), stride * size);
  allgather_ring(ring, parts);
}

}  // namespace

int default_group(int ranks) {
  int largest = 1;
  for (int divisor = 2; divisor * divisor <= ranks; ++divisor) {
    if (ranks % divisor == 0) largest = divisor;
  }
  return largest;
}

void allreduce_hierarchical(Channel& channel, Block data, Op op, int group,
                            const AllreduceLevels& levels) {
  Levels ranks(channel, group);
  const Operation operation(channel, "allreduce_hierarchical", data, op,
                            2 * (group - 1 + ranks.groups - 1));
  const Parts parts(data, group);
  levels.reduce_scatter(ranks.inner, parts, op);
  levels.allreduce(ranks.outer, parts[ranks.inner.rank()], op);
  levels.allgather(ranks.inner, parts);
}

void broadcast_hierarchical(Channel& channel, Block data, int root, int group,
                            BroadcastFunction inner, BroadcastFunction outer) {
  Levels ranks(channel, group);
  const Operation operation(channel, "broadcast_hierarchical", data, Op::replace,
                            group - 1 + ranks.groups - 1, root);
  if (ranks.inner.rank() == root % group) outer(ranks.outer, data, root / group);
  inner(ranks.inner, data, root % group);
}

void allgather_hierarchical(Channel& channel, const Parts& data, int group, AllgatherFunction inner,
                            AllgatherFunction outer) {
  Levels ranks(channel, group);
  const Operation operation(channel, "allgather_hierarchical", data.whole(), Op::replace,
                            channel.size() - 1);
  outer(ranks.outer, data.select(ranks.inner.rank(), group, ranks.groups));
  for (int i = 0; i < ranks.groups; ++i) inner(ranks.inner, data.select(i * group, 1, group));
}

void reduce_scatter_hierarchical(Channel& channel, const Parts& data, Op op, int group,
                                 ReduceScatterFunction inner, ReduceScatterFunction outer) {
  Levels ranks(channel, group);
  const Operation operation(channel, "reduce_scatter_hierarchical", data.whole(), op,
                            channel.size() - 1);
  for (int i = 0; i < ranks.groups; ++i) inner(ranks.inner, data.select(i * group, 1, group), op);
  outer(ranks.outer, data.select(ranks.inner.rank(), group, ranks.groups), op);
}

std::vector<int> ring_dimensions(int ranks, int group) {
  check(group >= 0 && (group == 0 || ranks % group == 0),
        "ring_dimensions: groups of {} ranks do not divide {} ranks", group, ranks);
  std::vector<int> dimensions;
  if (group > 1) dimensions.push_back(group);
  if (group > 1) ranks /= group;
  for (int factor = 2; ranks > 1; ++factor) {
    for (; ranks % factor == 0; ranks /= factor) dimensions.push_back(factor);
  }
  return dimensions;
}

void allreduce_ring_multi(Channel& channel, Block data, Op op, std::span<const int> dimensions) {
  int points = 1, steps = 0;
  for (const int size : dimensions) {
    points *= size;
    steps += 2 * (size - 1);
  }
  check(points == channel.size(), "allreduce_ring_multi: a grid of {} points for {} ranks", points,
        channel.size());
  const Operation operation(channel, "allreduce_ring_multi", data, op, steps);
  allreduce_along(channel, data, op, dimensions, 1);
}

}  // namespace tutti
