#include "collectives/hierarchical.hpp"

#include <optional>

#include "collectives/local.hpp"
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
struct Lines {
  Lines(Channel& channel, int group)
      : groups(groups_of(channel, group)),
        inner(channel, line_through(channel.rank(), 1, group)),
        outer(channel, line_through(channel.rank(), group, groups)) {}

  int groups;
  SubChannel inner;  // The ranks of the group.
  SubChannel outer;  // Those of the same number in each group.
};

void execute(const Algorithm& algorithm, Channel& channel, const Parts& data, Op op = Op::replace,
             int root = 0) {
  algorithm.execute(channel, {.data = data, .source = data, .op = op, .root = root});
}

void execute(const Algorithm& algorithm, Channel& channel, Block data, Op op = Op::replace,
             int root = 0) {
  execute(algorithm, channel, Parts(data, channel.size()), op, root);
}

// The parts of an outer collective: they lie apart, unless each group is one rank. Where its
// algorithm cannot work on such, they are together in memory of their own.
class OuterParts {
 public:
  OuterParts(Channel& channel, const Parts& apart, const Algorithm& algorithm, int group)
      : channel_(channel), apart_(apart), together_(apart) {
    if (!algorithm.needs_adjacent_parts || group == 1 || apart.size() == 1) return;
    std::vector<std::size_t> counts;
    std::size_t total = 0;
    for (int i = 0; i < apart.size(); ++i) total += counts.emplace_back(apart[i].count);
    const Block whole = apart.whole();
    memory_.emplace(channel, Block{whole.data, total, whole.dtype});
    together_ = Parts(memory_->block(), counts);
  }

  const Parts& parts() const { return together_; }

  void fill(int index) { move(together_, apart_, index); }
  void empty(int index) { move(apart_, together_, index); }

 private:
  void move(const Parts& target, const Parts& source, int index) {
    if (memory_) copy_block(channel_, target[index], source[index]);
  }

  Channel& channel_;
  Parts apart_;
  Parts together_;
  std::optional<Scratch> memory_;
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
  Lines ranks(channel, group);
  const Operation operation(channel, "allreduce_hierarchical", data, op,
                            2 * (group - 1 + ranks.groups - 1));
  const Parts parts(data, group);
  execute(levels.reduce_scatter, ranks.inner, parts, op);
  execute(levels.allreduce, ranks.outer, parts[ranks.inner.rank()], op);
  execute(levels.allgather, ranks.inner, parts);
}

void broadcast_hierarchical(Channel& channel, Block data, int root, int group,
                            const Algorithm& inner, const Algorithm& outer) {
  Lines ranks(channel, group);
  const Operation operation(channel, "broadcast_hierarchical", data, Op::replace,
                            group - 1 + ranks.groups - 1, root);
  if (ranks.inner.rank() == root % group) {
    execute(outer, ranks.outer, data, Op::replace, root / group);
  }
  execute(inner, ranks.inner, data, Op::replace, root % group);
}

void allgather_hierarchical(Channel& channel, const Parts& data, int group, const Algorithm& inner,
                            const Algorithm& outer) {
  Lines ranks(channel, group);
  const Operation operation(channel, "allgather_hierarchical", data.whole(), Op::replace,
                            channel.size() - 1);
  const int own = ranks.outer.rank();
  OuterParts line(channel, data.select(ranks.inner.rank(), group, ranks.groups), outer, group);
  line.fill(own);
  execute(outer, ranks.outer, line.parts());
  for (int i = 0; i < ranks.groups; ++i) {
    if (i != own) line.empty(i);
  }
  for (int i = 0; i < ranks.groups; ++i) {
    execute(inner, ranks.inner, data.select(i * group, 1, group));
  }
}

void reduce_scatter_hierarchical(Channel& channel, const Parts& data, Op op, int group,
                                 const Algorithm& inner, const Algorithm& outer) {
  Lines ranks(channel, group);
  const Operation operation(channel, "reduce_scatter_hierarchical", data.whole(), op,
                            channel.size() - 1);
  for (int i = 0; i < ranks.groups; ++i) {
    execute(inner, ranks.inner, data.select(i * group, 1, group), op);
  }
  OuterParts line(channel, data.select(ranks.inner.rank(), group, ranks.groups), outer, group);
  for (int i = 0; i < ranks.groups; ++i) line.fill(i);
  execute(outer, ranks.outer, line.parts(), op);
  line.empty(ranks.outer.rank());
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
