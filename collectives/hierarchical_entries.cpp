#include <array>

#include "collectives/butterfly.hpp"
#include "collectives/direct.hpp"
#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/hierarchical.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

int group_of(const Problem& problem) {
  return problem.tuning.group == 0 ? default_group(problem.ranks) : problem.tuning.group;
}

bool group_divides(const Problem& problem) {
  return group_of(problem) > 0 && problem.ranks % group_of(problem) == 0;
}

// A problem among `ranks` of the ranks, on `count` of the elements.
Problem among(const Problem& problem, int ranks, std::size_t count, int root = 0) {
  return {ranks, count, problem.element_bytes, root};
}

int groups_of(const Problem& problem) {
  return problem.ranks / group_of(problem);
}

// One use of a catalogue entry on one level.
struct Level {
  const Algorithm& algorithm;
  Problem problem;
  int rank;    // That of whose bytes are asked for.
  int stride;  // From one of its ranks to the next.
};

// The closed forms of an algorithm whose levels run one after the other are the sums of theirs.
// `levels` gives those that `rank` takes part in; the root (rank 0, where there is none) takes part
// in all of them, and has the largest parts.
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
      sum += level.algorithm.seconds(level.problem, model);
    }
    return sum;
  }

  static double profile_seconds(const Problem& problem, const CostProfile& profile) {
    double sum = 0.0;
    for (const Level& level : longest(problem)) {
      // Ranks of one level lie `stride` apart.
      const int span = level.stride * level.problem.ranks;
      sum += level.algorithm.seconds(
          level.problem, span == problem.ranks ? profile.among_first(span) : profile.within(span));
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

struct LevelNames {
  std::string_view inner;
  std::string_view outer;
};

constexpr LevelNames ring_ring = {"ring", "ring"};
constexpr LevelNames ring_tree = {"ring", "tree"};
constexpr LevelNames direct_rabenseifner = {"direct", "rabenseifner"};

template <const LevelNames& names>
std::vector<Level> allreduce_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), number = rank % group;
  const Block whole = ghost_of(problem);
  const Problem inner = among(problem, group, problem.count);
  return {
      {find_algorithm(Collective::reduce_scatter, names.inner), inner, number, 1},
      {find_algorithm(Collective::allreduce, names.outer),
       among(problem, groups_of(problem), whole.part(number, group).count), rank / group, group},
      {find_algorithm(Collective::allgather, names.inner), inner, number, 1}};
}

std::vector<Level> broadcast_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), root = problem.root;
  const Algorithm& binomial = find_algorithm(Collective::broadcast, "binomial");
  const Level inner = {binomial, among(problem, group, problem.count, root % group), rank % group,
                       1};
  if (rank % group != root % group) return {inner};
  return {{binomial, among(problem, groups_of(problem), problem.count, root / group), rank / group,
           group},
          inner};
}

// Of allgather and reduce_scatter, which do the same in another order.
template <Collective collective>
std::vector<Level> scattered_levels(const Problem& problem, int rank) {
  const int group = group_of(problem), groups = groups_of(problem);
  const Algorithm& ring = find_algorithm(collective, "ring");
  const Parts parts(ghost_of(problem), problem.ranks);
  std::size_t own = 0;
  std::vector<Level> levels;
  for (int i = 0; i < groups; ++i) {
    own += parts[i * group + rank % group].count;
    levels.push_back(
        {ring, among(problem, group, parts.range(i * group, group).count), rank % group, 1});
  }
  levels.push_back({ring, among(problem, groups, own), rank / group, group});
  return levels;
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

constexpr auto run_reduce_scatter_ring = [](Channel& channel, const Parts& data, Op op) {
  reduce_scatter_ring(channel, data, op);
};
constexpr auto run_allgather_ring = [](Channel& channel, const Parts& data) {
  allgather_ring(channel, data);
};
constexpr auto run_allreduce_ring = [](Channel& channel, Block data, Op op) {
  allreduce_ring(channel, data, op);
};

constexpr AllreduceLevels ring_ring_levels = {run_reduce_scatter_ring, run_allreduce_ring,
                                              run_allgather_ring};
constexpr AllreduceLevels ring_tree_levels = {run_reduce_scatter_ring, allreduce_tree,
                                              run_allgather_ring};
constexpr AllreduceLevels direct_rabenseifner_levels = {reduce_scatter_direct,
                                                        allreduce_rabenseifner, allgather_direct};

int group_of(const Channel& channel, const Invocation& invocation) {
  return group_of(Problem{.ranks = channel.size(), .tuning = invocation.tuning});
}

template <const AllreduceLevels& levels>
void execute_allreduce(Channel& channel, const Invocation& invocation) {
  allreduce_hierarchical(channel, invocation.data.whole(), invocation.op,
                         group_of(channel, invocation), levels);
}

constexpr std::string_view hierarchical_source = "Mikami et al., arXiv 1811.05233; Open MPI's HAN";
constexpr std::string_view hierarchical_supported = "N that a group g divides";

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "hierarchical",
        .full_name = "allreduce_hierarchical",
        .execute = execute_allreduce<ring_ring_levels>,
        .steps = Sum<allreduce_levels<ring_ring>>::steps,
        .bytes_sent = Sum<allreduce_levels<ring_ring>>::bytes_sent,
        .seconds = Sum<allreduce_levels<ring_ring>>::seconds,
        .form = Sum<allreduce_levels<ring_ring>>::form,
        .supports = group_divides,
        .steps_formula = "2(g-1) + 2(N/g-1)",
        .bytes_formula = "2(N-1)/N n, 2(N/g-1)/N n between groups",
        .seconds_formula = "2(g+N/g-2)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<allreduce_levels<ring_ring>>::profile_seconds,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "hierarchical_tree",
        .full_name = "allreduce_hierarchical_tree",
        .execute = execute_allreduce<ring_tree_levels>,
        .steps = Sum<allreduce_levels<ring_tree>>::steps,
        .bytes_sent = Sum<allreduce_levels<ring_tree>>::bytes_sent,
        .seconds = Sum<allreduce_levels<ring_tree>>::seconds,
        .form = Sum<allreduce_levels<ring_tree>>::form,
        .supports = group_divides,
        .steps_formula = "2(g-1) + 2L, L = ceil(log2(N/g))",
        .bytes_formula = "2(g-1)/g n + L n/g between groups",
        .seconds_formula = "2(g-1+L)a + (2(g-1)+2L)/g n b + (g-1+L)/g n g",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<allreduce_levels<ring_tree>>::profile_seconds,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "hierarchical_direct",
        .full_name = "allreduce_hierarchical_direct",
        .execute = execute_allreduce<direct_rabenseifner_levels>,
        .steps = Sum<allreduce_levels<direct_rabenseifner>>::steps,
        .bytes_sent = Sum<allreduce_levels<direct_rabenseifner>>::bytes_sent,
        .seconds = Sum<allreduce_levels<direct_rabenseifner>>::seconds,
        .form = Sum<allreduce_levels<direct_rabenseifner>>::form,
        .supports = group_divides,
        .steps_formula = "2 + 2 log2(N/g), or 4 + 2 floor(log2(N/g))",
        .bytes_formula = "2(N-1)/N n, 2(N/g-1)/N n between groups, or n/g more",
        .seconds_formula =
            "2(1+log2(N/g))a + 2(N-1)/N n b + (N-1)/N n g, or 2(a + n/g b) + n/g g more",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<allreduce_levels<direct_rabenseifner>>::profile_seconds,
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
        .steps = Sum<ring_multi_levels>::steps,
        .bytes_sent = Sum<ring_multi_levels>::bytes_sent,
        .seconds = Sum<ring_multi_levels>::seconds,
        .supports = group_divides,
        .steps_formula = "2(d1-1 + d2-1 + ...), N = d1 d2 ...",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "2(d1-1 + d2-1 + ...)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = "Cho et al., MLSys 2019 (BlueConnect)",
        .supported = "any N, a group that divides it",
        .uses_group = true,
        .profile_seconds = Sum<ring_multi_levels>::profile_seconds,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "hierarchical",
        .full_name = "broadcast_hierarchical",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_hierarchical(c, i.data.whole(), i.root, group_of(c, i), broadcast_binomial,
                                     broadcast_binomial);
            },
        .steps = Sum<broadcast_levels, true>::steps,
        .bytes_sent = Sum<broadcast_levels, true>::bytes_sent,
        .seconds = Sum<broadcast_levels, true>::seconds,
        .supports = group_divides,
        .steps_formula = "L(N/g) + L(g)",
        .bytes_formula = "(L(N/g) + L(g)) n",
        .seconds_formula = "(L(N/g) + L(g)) (a + n b)",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<broadcast_levels, true>::profile_seconds,
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "hierarchical",
        .full_name = "allgather_hierarchical",
        .execute =
            [](Channel& c, const Invocation& i) {
              allgather_hierarchical(c, i.data, group_of(c, i), run_allgather_ring,
                                     run_allgather_ring);
            },
        .steps = Sum<scattered_levels<Collective::allgather>>::steps,
        .bytes_sent = Sum<scattered_levels<Collective::allgather>>::bytes_sent,
        .seconds = Sum<scattered_levels<Collective::allgather>>::seconds,
        .supports = group_divides,
        .steps_formula = "N-1, N/g-1 between groups",
        .bytes_formula = "(N-1)/N n, (N/g-1)/N n between groups",
        .seconds_formula = "(N-1)a + (N-1)/N n b",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<scattered_levels<Collective::allgather>>::profile_seconds,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "hierarchical",
        .full_name = "reduce_scatter_hierarchical",
        .execute =
            [](Channel& c, const Invocation& i) {
              reduce_scatter_hierarchical(c, i.data, i.op, group_of(c, i), run_reduce_scatter_ring,
                                          run_reduce_scatter_ring);
            },
        .steps = Sum<scattered_levels<Collective::reduce_scatter>>::steps,
        .bytes_sent = Sum<scattered_levels<Collective::reduce_scatter>>::bytes_sent,
        .seconds = Sum<scattered_levels<Collective::reduce_scatter>>::seconds,
        .supports = group_divides,
        .steps_formula = "N-1, N/g-1 between groups",
        .bytes_formula = "(N-1)/N n, (N/g-1)/N n between groups",
        .seconds_formula = "(N-1)a + (N-1)/N n (b + g)",
        .source = hierarchical_source,
        .supported = hierarchical_supported,
        .uses_group = true,
        .profile_seconds = Sum<scattered_levels<Collective::reduce_scatter>>::profile_seconds,
    },
};

}  // namespace

std::span<const Algorithm> hierarchical_entries() {
  return entries;
}

}  // namespace tutti
