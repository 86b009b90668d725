#include <algorithm>
#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/pipeline.hpp"

namespace tutti {
namespace {

constexpr std::string_view two_trees = "Sanders, Speck, Traeff, Parallel Computing 2009";

// A block that passes so many levels of a tree in segments, one level a step.
struct Pipeline {
  Pipeline(const Problem& problem, std::size_t count, int tree_levels)
      : levels(tree_levels),
        segments(static_cast<int>(std::min(
            count, static_cast<std::size_t>(segments_of(problem.tuning.segments, levels))))),
        largest_bytes(segments == 0
                          ? 0
                          : (count + static_cast<std::size_t>(segments) - 1) /
                                static_cast<std::size_t>(segments) * problem.element_bytes) {}

  int steps() const { return segments == 0 || levels == 0 ? 0 : segments + levels - 1; }

  /// Where a rank sends `sent` and folds `folded` segments at once in each step.
  double seconds(int sent, int folded, const CostModel& model) const {
    return steps() * (message_seconds(static_cast<std::size_t>(sent) * largest_bytes, model) +
                      folded * reduction_seconds(largest_bytes, model));
  }

  int levels;
  int segments;  // Those that are not empty.
  std::size_t largest_bytes;
};

Pipeline chain(const Problem& problem) {
  return {problem, problem.count, problem.ranks - 1};
}

// The largest segment is the first, and reaches the end of the chain before the others pass it.
double chain_time(const Problem& problem, const CostModel& model, bool folds) {
  const Pipeline pipeline = chain(problem);
  if (pipeline.steps() == 0) return 0.0;
  const int fold = folds ? 1 : 0;
  return chain_seconds(pipeline.levels - 1, fold * (pipeline.levels - 1), pipeline.largest_bytes,
                       model) +
         messages_seconds(pipeline.segments, problem.bytes(), model) +
         fold * reduction_seconds(problem.bytes(), model);
}

double broadcast_chain_seconds(const Problem& problem, const CostModel& model) {
  return chain_time(problem, model, false);
}

double reduce_chain_seconds(const Problem& problem, const CostModel& model) {
  return chain_time(problem, model, true);
}

int chain_steps(const Problem& problem) {
  return chain(problem).steps();
}

Pipeline binary(const Problem& problem) {
  return {problem, problem.count, floor_log2(problem.ranks)};
}

// The children of an inner rank.
int children_of(const Problem& problem) {
  return std::min(2, problem.ranks - 1);
}

Messages binary_messages(const Problem& problem) {
  const int steps = binary(problem).steps();
  return {children_of(problem) * steps, steps};
}

std::size_t half_bytes(const Problem& problem, int half) {
  return (problem.count + (half == 0 ? 1 : 0)) / 2 * problem.element_bytes;
}

Pipeline split_binary(const Problem& problem) {
  const int left = problem.ranks / 2;
  return {problem, (problem.count + 1) / 2, left == 0 ? 0 : 1 + floor_log2(left)};
}

int split_binary_steps(const Problem& problem) {
  const int steps = split_binary(problem).steps();
  return steps == 0 ? 0 : steps + 1;
}

Messages split_binary_messages(const Problem& problem) {
  const int steps = split_binary(problem).steps();
  return steps == 0 ? Messages{} : Messages{children_of(problem) * steps + 1, steps + 1};
}

double split_binary_seconds(const Problem& problem, const CostModel& model) {
  const Pipeline pipeline = split_binary(problem);
  if (pipeline.steps() == 0) return 0.0;
  return pipeline.seconds(2, 0, model) + message_seconds(half_bytes(problem, 0), model);
}

// What it passes down, and what it gives in exchange: the root the second half for who lacks a
// partner, the others the half they had.
std::size_t split_binary_bytes(const Problem& problem, int rank) {
  std::size_t bytes = 0;
  for (const int half : {0, 1}) {
    const TreePlace place = split_binary_place(rank, problem.ranks, problem.root, half);
    bytes += place.children.size() * half_bytes(problem, half);
  }
  return problem.ranks == 1 ? 0 : bytes + half_bytes(problem, 0);
}

Pipeline double_tree(const Problem& problem) {
  return {problem, (problem.count + 1) / 2, 2 * ceil_log2(problem.ranks)};
}

// A rank has at most two parents and two children in the two trees together.
Messages double_tree_messages(const Problem& problem) {
  const int messages = std::min(4, problem.ranks) * double_tree(problem).steps();
  return {messages, messages};
}

std::size_t double_tree_bytes(const Problem& problem, int rank) {
  std::size_t bytes = 0;
  for (const int which : {0, 1}) {
    const TreePlace place = double_tree_place(rank, problem.ranks, which);
    const std::size_t peers = place.children.size() + (place.parent < 0 ? 0 : 1);
    bytes += peers * half_bytes(problem, which);
  }
  return bytes;
}

std::size_t broadcast_chain_bytes(const Problem& problem, int rank) {
  const int last = (problem.root + problem.ranks - 1) % problem.ranks;
  return rank == last ? 0 : problem.bytes();
}

std::size_t reduce_chain_bytes(const Problem& problem, int rank) {
  return rank == problem.root ? 0 : problem.bytes();
}

std::size_t allreduce_chain_bytes(const Problem& problem, int rank) {
  Problem to_rank_0 = problem;
  to_rank_0.root = 0;
  return reduce_chain_bytes(to_rank_0, rank) + broadcast_chain_bytes(to_rank_0, rank);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "chain",
        .full_name = "allreduce_chain",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_chain(c, i.data.whole(), i.op, i.tuning.segments);
            },
        .steps = [](const Problem& p) { return 2 * chain_steps(p); },
        .bytes_sent = allreduce_chain_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return reduce_chain_seconds(p, m) + broadcast_chain_seconds(p, m);
            },
        .steps_formula = "2(N-2+m), m = segments",
        .bytes_formula = "2n",
        .seconds_formula = "(N-2+m)(2a + 2n/m b + n/m g)",
        .source = "Open MPI, coll_base_reduce.c and coll_base_bcast.c",
        .uses_segments = true,
        .between_neighbors = true,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "double_tree",
        .full_name = "allreduce_double_tree",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_double_tree(c, i.data.whole(), i.op, i.tuning.segments);
            },
        .steps = [](const Problem& p) { return double_tree(p).steps(); },
        .messages = double_tree_messages,
        .bytes_sent = double_tree_bytes,
        .seconds = [](const Problem& p,
                      const CostModel& m) { return double_tree(p).seconds(4, 2, m); },
        .form = always_bound,
        .steps_formula = "2L-1+m, m = segments",
        .bytes_formula = "2n",
        .seconds_formula = "(2L-1+m)(a + 2n/m b + n/m g)",
        .source = two_trees,
        .uses_segments = true,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "chain",
        .full_name = "broadcast_chain",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_chain(c, i.data.whole(), i.root, i.tuning.segments);
            },
        .steps = chain_steps,
        .bytes_sent = broadcast_chain_bytes,
        .seconds = broadcast_chain_seconds,
        .steps_formula = "N-2+m, m = segments",
        .bytes_formula = "n",
        .seconds_formula = "(N-2+m)(a + n/m b)",
        .source = "Open MPI, coll_base_bcast.c",
        .uses_segments = true,
        .between_neighbors = true,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "binary",
        .full_name = "broadcast_binary",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_binary(c, i.data.whole(), i.root, i.tuning.segments);
            },
        .steps = [](const Problem& p) { return binary(p).steps(); },
        .messages = binary_messages,
        .bytes_sent =
            [](const Problem& p, int rank) {
              return binary_place(rank, p.ranks, p.root).children.size() * p.bytes();
            },
        .seconds = [](const Problem& p,
                      const CostModel& m) { return binary(p).seconds(children_of(p), 0, m); },
        .form = always_bound,
        .steps_formula = "floor(log2 N)-1+m, m = segments",
        .bytes_formula = "2n",
        .seconds_formula = "(floor(log2 N)-1+m)(a + 2n/m b)",
        .source = "Open MPI, coll_base_bcast.c",
        .uses_segments = true,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "split_binary",
        .full_name = "broadcast_split_binary",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_split_binary(c, i.data.whole(), i.root, i.tuning.segments);
            },
        .steps = split_binary_steps,
        .messages = split_binary_messages,
        .bytes_sent = split_binary_bytes,
        .seconds = split_binary_seconds,
        .form = always_bound,
        .steps_formula = "floor(log2 N)+m, m = segments",
        .bytes_formula = "3/2 n",
        .seconds_formula = "(floor(log2 N)-1+m)(a + n/m b) + a + n/2 b",
        .source = "Open MPI, coll_base_bcast.c",
        .uses_segments = true,
    },
    Algorithm{
        .collective = Collective::reduce,
        .name = "chain",
        .full_name = "reduce_chain",
        .execute =
            [](Channel& c, const Invocation& i) {
              reduce_chain(c, i.data.whole(), i.op, i.root, i.tuning.segments);
            },
        .steps = chain_steps,
        .bytes_sent = reduce_chain_bytes,
        .seconds = reduce_chain_seconds,
        .steps_formula = "N-2+m, m = segments",
        .bytes_formula = "n",
        .seconds_formula = "(N-2+m)(a + n/m b + n/m g)",
        .source = "Open MPI, coll_base_reduce.c",
        .uses_segments = true,
        .between_neighbors = true,
    },
};

}  // namespace

std::span<const Algorithm> pipeline_entries() {
  return entries;
}

}  // namespace tutti
