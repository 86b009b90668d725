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
};

}  // namespace

std::span<const Algorithm> linear_entries() {
  return entries;
}

}  // namespace tutti
