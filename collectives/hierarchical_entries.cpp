#include <algorithm>
#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/hierarchical.hpp"

namespace tutti {
namespace {

int group_of(int ranks, const Tuning& tuning) {
  return tuning.group == 0 ? default_group(ranks) : tuning.group;
}

int group_of(const Problem& problem) {
  return group_of(problem.ranks, problem.tuning);
}

int groups_of(const Problem& problem) {
  return problem.ranks / group_of(problem);
}

bool group_divides(const Problem& problem) {
  return group_of(problem) > 0 && problem.ranks % group_of(problem) == 0;
}

// A problem among `ranks` of the ranks, on `count` of the elements.
Problem among(const Problem& problem, int ranks, std::size_t count, int root = 0) {
  return {ranks, count, problem.element_bytes, root};
}

// What the levels of the hierarchical algorithm of a collective run.
template <Collective collective>
Levels hierarchy(const Tuning& tuning) {
  static const Algorithm& self = find_algorithm(collective, "hierarchical");
  return levels_of(self, tuning);
}

// The allgather that takes the same way back as a reduce_scatter; of pairwise, which no allgather
// mirrors, the ring does: as many messages, one after the other.
const Algorithm& mirror_of(const Algorithm& reduce_scatter) {
  if (reduce_scatter.name == "recursive_halving") {
    static const Algorithm& doubling = find_algorithm(Collective::allgather, "recursive_doubling");
    return doubling;
  }
  for (const Algorithm* allgather : algorithms_of(Collective::allgather)) {
    if (allgather->name == reduce_scatter.name) return *allgather;
  }
  static const Algorithm& ring = find_algorithm(Collective::allgather, "ring");
  return ring;
}

// One use of a catalogue entry on one level.
struct Level {
  const Algorithm& algorithm;
  Problem problem;
  int rank;                      // That of whose bytes are asked for.
  int stride;                    // From one of its ranks to the next.
  std::size_t copied_bytes = 0;  // Before and after it, where its parts lie apart.
};

double seconds_of(const Level& level, const CostModel& model) {
  return level.algorithm.seconds(level.problem, model) +
         reduction_seconds(level.copied_bytes, model);
}

// The closed forms of an algorithm whose levels run one after the other are the sums of theirs.
// `levels` gives those that `rank` takes part in; the root (rank 0, where there is none) takes part
// in all of them, has the largest parts and is among the last to end each: so the sum is exact
// where all its terms are.
template <std::vector<Level> (*levels)(const Problem&, int rank), bool rooted = false>
struct Sum {
  static std::vector<Level> longest(const Problem& problem) {
    return levels(problem, rooted ? problem.root : 0);
  }

  static int steps(const Problem& problem) {
    int sum = 0;
    for (const Level& level : longest(problem)) {
      sum += level.algorithm.steps(level.problem);
    }
    return sum;
  }

  static Messages messages(const Problem& problem) {
    Messages sum;
    for (const Level& level : longest(problem)) {
      sum += messages_of(level.algorithm, level.problem);
    }
    return sum;
  }

  static std::size_t bytes_sent(const Problem& problem, int rank) {
    std::size_t sum = 0;
    for (const Level& level : levels(problem, rank)) {
      sum += level.algorithm.bytes_sent(level.problem, level.rank);
    }
    return sum;
  }

  static double seconds(const Problem& problem, const CostModel& model) {
    double sum = 0.0;
    for (const Level& level : longest(problem)) {
      sum += seconds_of(level, model);
    }
    return sum;
  }

  static double profile_seconds(const Problem& problem, const CostProfile& profile) {
    double sum = 0.0;
    for (const Level& level : longest(problem)) {
      // Ranks of one level lie `stride` apart.
      const int span = level.stride * level.problem.ranks;
      sum += seconds_of(level,
                        span == problem.ranks ? profile.among_first(span) : profile.within(span));
    }
    return sum;
  }

  static Form form(const Problem& problem) {
    for (const Level& level : longest(problem)) {
      if (level.algorithm.form(level.problem) == Form::bound) return Form::bound;
    }
    return Form::exact;
  }
};

std::vector<Level> allreduce_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), number = rank % group;
  const Levels chosen = hierarchy<Collective::allreduce>(problem.tuning);
  const std::size_t part = ghost_of(problem).part(number, group).count;
  const Problem inner = among(problem, group, problem.count);
  return {{*chosen.inner, inner, number, 1},
          {*chosen.outer, among(problem, groups_of(problem), part), rank / group, group},
          {mirror_of(*chosen.inner), inner, number, 1}};
}

std::vector<Level> broadcast_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), root = problem.root;
  const Levels chosen = hierarchy<Collective::broadcast>(problem.tuning);
  const Level inner = {*chosen.inner, among(problem, group, problem.count, root % group),
                       rank % group, 1};
  if (rank % group != root % group) return {inner};
  const Problem outer = among(problem, groups_of(problem), problem.count, root / group);
  return {{*chosen.outer, outer, rank / group, group}, inner};
}

// Of allgather and reduce_scatter, which do the same in another order.
template <Collective collective>
std::vector<Level> scattered_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), groups = groups_of(problem);
  const Levels chosen = hierarchy<collective>(problem.tuning);
  const Parts parts(ghost_of(problem), problem.ranks);
  std::size_t line = 0;
  std::vector<Level> levels;
  for (int i = 0; i < groups; ++i) {
    line += parts[i * group + rank % group].count;
    const Problem inner = among(problem, group, parts.range(i * group, group).count);
    levels.push_back({*chosen.inner, inner, rank % group, 1});
  }
  Level outer = {*chosen.outer, among(problem, groups, line), rank / group, group};
  if (chosen.outer->needs_adjacent_parts && group > 1 && groups > 1) {
    // All parts of the line, and of a reduce_scatter the own one twice, each as large as the first.
    const int copies = groups + (collective == Collective::reduce_scatter ? 1 : 0);
    outer.copied_bytes = static_cast<std::size_t>(copies) * parts.largest_bytes();
  }
  levels.push_back(outer);
  return levels;
}

// With unequal parts, those that take the longest on one level need not do so on the other.
template <Collective collective>
Form scattered_form(const Problem& problem) {
  return has_equal_parts(problem) ? Sum<scattered_levels<collective>>::form(problem) : Form::bound;
}

template <Collective collective, std::vector<Level> (*levels)(const Problem&, int rank)>
bool levels_support(const Problem& problem) {
  if (!group_divides(problem)) return false;
  const Levels chosen = hierarchy<collective>(problem.tuning);
  if (chosen.inner->collective != inner_collective(collective)) return false;
  if (chosen.outer->collective != collective) return false;
  const std::vector<Level> all = levels(problem, problem.root);
  return std::all_of(all.begin(), all.end(),
                     [](const Level& level) { return level.algorithm.supports(level.problem); });
}

std::vector<Level> ring_multi_levels(const Problem& problem, int rank) {
  std::vector<Level> levels;
  Block block = ghost_of(problem);
  int stride = 1;
  for (const int size : ring_dimensions(problem.ranks, problem.tuning.group)) {
    const Problem ring = among(problem, size, block.count);
    levels.push_back({find_algorithm(Collective::allreduce, "ring"), ring, rank % size, stride});
    block = block.part(rank % size, size);
    rank /= size;
    stride *= size;
  }
  return levels;
}

int group_of(const Channel& channel, const Invocation& invocation) {
  return group_of(channel.size(), invocation.tuning);
}

void execute_allreduce(Channel& channel, const Invocation& invocation) {
  const Levels levels = hierarchy<Collective::allreduce>(invocation.tuning);
  allreduce_hierarchical(channel, invocation.data.whole(), invocation.op,
                         group_of(channel, invocation),
                         {*levels.inner, *levels.outer, mirror_of(*levels.inner)});
}

void execute_broadcast(Channel& channel, const Invocation& invocation) {
  const Levels levels = hierarchy<Collective::broadcast>(invocation.tuning);
  broadcast_hierarchical(channel, invocation.data.whole(), invocation.root,
                         group_of(channel, invocation), *levels.inner, *levels.outer);
}

void execute_allgather(Channel& channel, const Invocation& invocation) {
  const Levels levels = hierarchy<Collective::allgather>(invocation.tuning);
  allgather_hierarchical(channel, invocation.data, group_of(channel, invocation), *levels.inner,
                         *levels.outer);
}

void execute_reduce_scatter(Channel& channel, const Invocation& invocation) {
  const Levels levels = hierarchy<Collective::reduce_scatter>(invocation.tuning);
  reduce_scatter_hierarchical(channel, invocation.data, invocation.op,
                              group_of(channel, invocation), *levels.inner, *levels.outer);
}

using AllreduceSum = Sum<allreduce_levels>;
using BroadcastSum = Sum<broadcast_levels, true>;
using AllgatherSum = Sum<scattered_levels<Collective::allgather>>;
using ReduceScatterSum = Sum<scattered_levels<Collective::reduce_scatter>>;
using RingMultiSum = Sum<ring_multi_levels>;

constexpr std::string_view hierarchical_source = "Mikami et al., arXiv 1811.05233; Open MPI's HAN";
constexpr std::string_view hierarchical_supported =
    "N that a group g divides, an inner for g ranks, an outer for N/g";

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "hierarchical",
        .full_name = "allreduce_hierarchical",
        .execute = execute_allreduce,
        .steps = AllreduceSum::steps,
        .messages = AllreduceSum::messages,
        .bytes_sent = AllreduceSum::bytes_sent,
        .seconds = AllreduceSum::seconds,
        .form = AllreduceSum::form,
        .supports = levels_support<Collective::allreduce, allreduce_levels>,
        .steps_formula = "inner's and its mirror's + outer's; rings: 2(g-1) + 2(N/g-1)",
        .bytes_formula = "rings: 2(N-1)/N n, 2(N/g-1)/N n between groups",
        .seconds_formula = "rings: 2(g+N/g-2)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .default_inner = "ring",
        .default_outer = "ring",
        .profile_seconds = AllreduceSum::profile_seconds,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring_multi",
        .full_name = "allreduce_ring_multi",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_ring_multi(c, i.data.whole(), i.op,
                                   ring_dimensions(c.size(), i.tuning.group));
            },
        .steps = RingMultiSum::steps,
        .bytes_sent = RingMultiSum::bytes_sent,
        .seconds = RingMultiSum::seconds,
        .supports = group_divides,
        .steps_formula = "2(d1-1 + d2-1 + ...), N = d1 d2 ...",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "2(d1-1 + d2-1 + ...)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = "Cho et al., MLSys 2019 (BlueConnect)",
        .supported = "any N, a group that divides it",
        .uses_group = true,
        .profile_seconds = RingMultiSum::profile_seconds,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "hierarchical",
        .full_name = "broadcast_hierarchical",
        .execute = execute_broadcast,
        .steps = BroadcastSum::steps,
        .messages = BroadcastSum::messages,
        .bytes_sent = BroadcastSum::bytes_sent,
        .seconds = BroadcastSum::seconds,
        .form = BroadcastSum::form,
        .supports = levels_support<Collective::broadcast, broadcast_levels>,
        .steps_formula = "outer's + inner's; binomial: L(N/g) + L(g)",
        .bytes_formula = "binomial: (L(N/g) + L(g)) n",
        .seconds_formula = "binomial: (L(N/g) + L(g)) (a + n b)",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .default_inner = "binomial",
        .default_outer = "binomial",
        .profile_seconds = BroadcastSum::profile_seconds,
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "hierarchical",
        .full_name = "allgather_hierarchical",
        .execute = execute_allgather,
        .steps = AllgatherSum::steps,
        .messages = AllgatherSum::messages,
        .bytes_sent = AllgatherSum::bytes_sent,
        .seconds = AllgatherSum::seconds,
        .form = scattered_form<Collective::allgather>,
        .supports = levels_support<Collective::allgather, scattered_levels<Collective::allgather>>,
        .steps_formula = "outer's + N/g times inner's; rings: N-1",
        .bytes_formula = "rings: (N-1)/N n, (N/g-1)/N n between groups",
        .seconds_formula = "rings: (N-1)a + (N-1)/N n b",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .default_inner = "ring",
        .default_outer = "ring",
        .profile_seconds = AllgatherSum::profile_seconds,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "hierarchical",
        .full_name = "reduce_scatter_hierarchical",
        .execute = execute_reduce_scatter,
        .steps = ReduceScatterSum::steps,
        .messages = ReduceScatterSum::messages,
        .bytes_sent = ReduceScatterSum::bytes_sent,
        .seconds = ReduceScatterSum::seconds,
        .form = scattered_form<Collective::reduce_scatter>,
        .supports = levels_support<Collective::reduce_scatter,
                                   scattered_levels<Collective::reduce_scatter>>,
        .steps_formula = "N/g times inner's + outer's; rings: N-1",
        .bytes_formula = "rings: (N-1)/N n, (N/g-1)/N n between groups",
        .seconds_formula = "rings: (N-1)a + (N-1)/N n (b + g)",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .default_inner = "ring",
        .default_outer = "ring",
        .profile_seconds = ReduceScatterSum::profile_seconds,
    },
};

}  // namespace

std::span<const Algorithm> hierarchical_entries() {
  return entries;
}

}  // namespace tutti
