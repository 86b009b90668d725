#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/linear.hpp"

namespace tutti {
namespace {

int linear_steps(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks - 1);
}

int there_and_back_steps(const Problem& problem) {
  return 2 * linear_steps(problem);
}

std::size_t broadcast_linear_bytes(const Problem& problem, int rank) {
  return rank == problem.root ? static_cast<std::size_t>(problem.ranks - 1) * problem.bytes() : 0;
}

std::size_t allreduce_naive_bytes(const Problem& problem, int rank) {
  return rank == 0 ? static_cast<std::size_t>(problem.ranks - 1) * problem.bytes()
                   : problem.bytes();
}

int one_step(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks == 1 ? 0 : 1);
}

// What the root, or in alltoall every rank, has in transit at once.
double at_once_seconds(const Problem& problem, const CostModel& model) {
  return messages_seconds(1, other_parts_bytes(problem), model);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "naive",
        .full_name = "allreduce_naive",
        .execute = [](Channel& c,
                      const Invocation& i) { allreduce_naive(c, i.data.whole(), i.op); },
        .steps = there_and_back_steps,
        .bytes_sent = allreduce_naive_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(2 * (p.ranks - 1), p.ranks - 1, p.bytes(), m);
            },
        .steps_formula = "2(N-1)",
        .bytes_formula = "(N-1) n",
        .seconds_formula = "2(N-1)a + 2(N-1) n b + (N-1) n g",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "linear",
        .full_name = "broadcast_linear",
        .execute = [](Channel& c,
                      const Invocation& i) { broadcast_linear(c, i.data.whole(), i.root); },
        .steps = linear_steps,
        .bytes_sent = broadcast_linear_bytes,
        .seconds = [](const Problem& p,
                      const CostModel& m) { return chain_seconds(p.ranks - 1, 0, p.bytes(), m); },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1) n",
        .seconds_formula = "(N-1)a + (N-1) n b",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::reduce,
        .name = "linear",
        .full_name = "reduce_linear",
        .execute = [](Channel& c,
                      const Invocation& i) { reduce_linear(c, i.data.whole(), i.op, i.root); },
        .steps = linear_steps,
        .bytes_sent = [](const Problem& p, int rank) { return rank == p.root ? 0 : p.bytes(); },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, p.ranks - 1, p.bytes(), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "n",
        .seconds_formula = "(N-1)a + (N-1) n b + (N-1) n g",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::gather,
        .name = "linear",
        .full_name = "gather_linear",
        .execute = [](Channel& c, const Invocation& i) { gather_linear(c, i.data, i.root); },
        .steps = one_step,
        .messages =
            [](const Problem& p) {
              return Messages{one_step(p), linear_steps(p)};
            },
        .bytes_sent =
            [](const Problem& p, int rank) {
              return rank == p.root ? 0 : part_bytes(p, rank, Partition::balanced);
            },
        .seconds = at_once_seconds,
        .form = always_bound,
        .steps_formula = "1",
        .bytes_formula = "n/N",
        .seconds_formula = "a + (N-1)/N n b",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::scatter,
        .name = "linear",
        .full_name = "scatter_linear",
        .execute = [](Channel& c, const Invocation& i) { scatter_linear(c, i.data, i.root); },
        .steps = one_step,
        .messages =
            [](const Problem& p) {
              return Messages{linear_steps(p), one_step(p)};
            },
        .bytes_sent =
            [](const Problem& p, int rank) {
              return rank == p.root ? p.bytes() - part_bytes(p, rank, Partition::balanced) : 0;
            },
        .seconds = at_once_seconds,
        .form = always_bound,
        .steps_formula = "1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "a + (N-1)/N n b",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::alltoall,
        .name = "linear",
        .full_name = "alltoall_linear",
        .execute = [](Channel& c, const Invocation& i) { alltoall_linear(c, i.data, i.source); },
        .steps = one_step,
        .messages =
            [](const Problem& p) {
              return Messages{linear_steps(p), linear_steps(p)};
            },
        .bytes_sent = [](const Problem& p, int) { return other_parts_bytes(p); },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return at_once_seconds(p, m) +
                     reduction_seconds(largest_part_bytes(p, Partition::balanced), m);
            },
        .form = always_bound,
        .supports = has_equal_parts,
        .steps_formula = "1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "a + (N-1)/N n b + n/N g",
        .source = "the baseline",
        .supported = alltoall_supported,
    },
};

}  // namespace

std::span<const Algorithm> linear_entries() {
  return entries;
}

}  // namespace tutti
