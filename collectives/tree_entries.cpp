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

int knomial_steps(const Problem& problem) {
  return steps_unless_empty(problem,
                            knomial_rounds(problem.ranks, knomial_radix(problem.tuning.radix)));
}

// Children of a rank in the tree of broadcast_knomial: up to k - 1 in each round after its own.
std::size_t broadcast_knomial_bytes(const Problem& problem, int rank) {
  const int v = (rank - problem.root + problem.ranks) % problem.ranks;
  const std::int64_t k = knomial_radix(problem.tuning.radix);
  std::size_t children = 0;
  for (std::int64_t distance = 1; distance < problem.ranks; distance *= k) {
    if (v >= distance) continue;
    children += static_cast<std::size_t>(std::min(k - 1, (problem.ranks - v - 1) / distance));
  }
  return children * problem.bytes();
}

// What the root sends. Only in the last round may that be fewer than k - 1.
int knomial_sends(const Problem& problem) {
  const std::int64_t k = knomial_radix(problem.tuning.radix);
  std::int64_t sends = 0;
  for (std::int64_t distance = 1; distance < problem.ranks; distance *= k) {
    sends += std::min(k - 1, (problem.ranks - 1) / distance);
  }
  return steps_unless_empty(problem, static_cast<int>(sends));
}

Messages knomial_messages(const Problem& problem) {
  return {knomial_sends(problem), knomial_steps(problem)};
}

double broadcast_knomial_seconds(const Problem& problem, const CostModel& model) {
  const auto sends = static_cast<std::size_t>(knomial_sends(problem));
  return messages_seconds(knomial_steps(problem), sends * problem.bytes(), model);
}

bool has_radix(const Problem& problem) {
  return problem.tuning.radix == 0 || problem.tuning.radix >= 2;
}

// Bytes of the parts that a rank passes to its parent in gather_binomial, or gets in
// scatter_binomial.
std::size_t subtree_bytes(const Problem& problem, int rank) {
  const int v = (rank - problem.root + problem.ranks) % problem.ranks;
  const int length = v == 0 ? problem.ranks : std::min(v & -v, problem.ranks - v);
  std::size_t bytes = 0;
  for (int i = 0; i < length; ++i) bytes += part_bytes(problem, rank + i, Partition::balanced);
  return bytes;
}

// The root's parts but its own pass through its port, in L messages.
double gather_binomial_seconds(const Problem& problem, const CostModel& model) {
  return messages_seconds(ceil_log2(problem.ranks), other_parts_bytes(problem), model);
}

// From another root, a range that wraps around is two messages, unless it is a single part.
Messages gather_binomial_messages(const Problem& problem) {
  const int steps = binomial_steps(problem);
  const int messages = problem.root == 0 || steps == 0 ? steps : 2 * steps - 1;
  return {messages, messages};
}

// Otherwise parts differ, or ranges wrap around.
Form gather_binomial_form(const Problem& problem) {
  return problem.root == 0 ? exact_for_equal_parts(problem) : Form::bound;
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
    Algorithm{
        .collective = Collective::broadcast,
        .name = "knomial",
        .full_name = "broadcast_knomial",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_knomial(c, i.data.whole(), i.root, i.tuning.radix);
            },
        .steps = knomial_steps,
        .messages = knomial_messages,
        .bytes_sent = broadcast_knomial_bytes,
        .seconds = broadcast_knomial_seconds,
        .form = always_bound,
        .supports = has_radix,
        .steps_formula = "log_k N, k = radix",
        .bytes_formula = "(k-1) log_k N n",
        .seconds_formula = "log_k N (a + (k-1) n b)",
        .source = "MPICH, UCC: k-nomial tree",
        .supported = "any N, a radix of 2 or more",
        .uses_radix = true,
    },
    Algorithm{
        .collective = Collective::reduce,
        .name = "binomial",
        .full_name = "reduce_binomial",
        .execute = [](Channel& c,
                      const Invocation& i) { reduce_binomial(c, i.data.whole(), i.op, i.root); },
        .steps = binomial_steps,
        .bytes_sent = [](const Problem& p, int rank) { return rank == p.root ? 0 : p.bytes(); },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(ceil_log2(p.ranks), ceil_log2(p.ranks), p.bytes(), m);
            },
        .steps_formula = "L",
        .bytes_formula = "n",
        .seconds_formula = "L a + L n b + L n g",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::gather,
        .name = "binomial",
        .full_name = "gather_binomial",
        .execute = [](Channel& c, const Invocation& i) { gather_binomial(c, i.data, i.root); },
        .steps = binomial_steps,
        .messages = gather_binomial_messages,
        .bytes_sent = [](const Problem& p,
                         int rank) { return rank == p.root ? 0 : subtree_bytes(p, rank); },
        .seconds = gather_binomial_seconds,
        .form = gather_binomial_form,
        .steps_formula = "L",
        .bytes_formula = "n/2",
        .seconds_formula = "L a + (N-1)/N n b",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::scatter,
        .name = "binomial",
        .full_name = "scatter_binomial",
        .execute = [](Channel& c, const Invocation& i) { scatter_binomial(c, i.data, i.root); },
        .steps = binomial_steps,
        .messages = gather_binomial_messages,
        .bytes_sent =
            [](const Problem& p, int rank) {
              return subtree_bytes(p, rank) - part_bytes(p, rank, Partition::balanced);
            },
        .seconds = gather_binomial_seconds,
        .form = gather_binomial_form,
        .steps_formula = "L",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "L a + (N-1)/N n b",
        .source = thakur,
    },
};

}  // namespace

std::span<const Algorithm> tree_entries() {
  return entries;
}

}  // namespace tutti
