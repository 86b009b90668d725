#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

// Children of a rank in the binomial tree of broadcast_binomial: one for each round after its own.
int binomial_children(const Problem& problem, int rank) {
  const int v = (rank - problem.root + problem.ranks) % problem.ranks;
  if (v == 0) return ceil_log2(problem.ranks);
  const int first = floor_log2(v) + 1;
  const int within = problem.ranks - v;  // v + 2^k < N for 2^k < within
  return std::max(0, ceil_log2(within) - first);
}

std::size_t broadcast_binomial_bytes(const Problem& problem, int rank) {
  return static_cast<std::size_t>(binomial_children(problem, rank)) * problem.bytes();
}

std::size_t allreduce_tree_bytes(const Problem& problem, int rank) {
  return broadcast_binomial_bytes(problem, rank) + (rank == 0 ? 0 : problem.bytes());
}

int binomial_steps(const Problem& problem) {
  return steps_unless_empty(problem, ceil_log2(problem.ranks));
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "tree",
        .full_name = "allreduce_tree",
        .execute = [](Channel& c, const Invocation& i) { allreduce_tree(c, i.data.whole(), i.op); },
        .steps = [](const Problem& p) { return 2 * binomial_steps(p); },
        .bytes_sent =
            [](const Problem& p, int rank) {
              return allreduce_tree_bytes({p.ranks, p.count, p.element_bytes, 0}, rank);
            },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(2 * ceil_log2(p.ranks), ceil_log2(p.ranks), p.bytes(), m);
            },
        .steps_formula = "2L",
        .bytes_formula = "L n",
        .seconds_formula = "2L a + 2L n b + L n g",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "binomial",
        .full_name = "broadcast_binomial",
        .execute = [](Channel& c,
                      const Invocation& i) { broadcast_binomial(c, i.data.whole(), i.root); },
        .steps = binomial_steps,
        .bytes_sent = broadcast_binomial_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(ceil_log2(p.ranks), 0, p.bytes(), m);
            },
        .steps_formula = "L",
        .bytes_formula = "L n",
        .seconds_formula = "L a + L n b",
        .source = thakur,
    },
};

}  // namespace

std::span<const Algorithm> tree_entries() {
  return entries;
}

}  // namespace tutti
