#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/recursive.hpp"

namespace tutti {
namespace {

int recursive_doubling_steps(const Problem& problem) {
  const int rounds = floor_log2(problem.ranks);
  return steps_unless_empty(problem, rounds + ((1 << rounds) < problem.ranks ? 2 : 0));
}

std::size_t recursive_doubling_bytes(const Problem& problem, int rank) {
  const int rounds = floor_log2(problem.ranks);
  const int surplus = problem.ranks - (1 << rounds);
  const bool paired = rank < 2 * surplus;
  const int messages = paired && rank % 2 == 0 ? 1 : rounds + (paired ? 1 : 0);
  return static_cast<std::size_t>(messages) * problem.bytes();
}

double recursive_doubling_seconds(const Problem& problem, const CostModel& model) {
  const int rounds = floor_log2(problem.ranks);
  const bool has_surplus = (1 << rounds) < problem.ranks;
  return chain_seconds(rounds + (has_surplus ? 2 : 0), rounds + (has_surplus ? 1 : 0),
                       problem.bytes(), model);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "recursive_doubling",
        .full_name = "allreduce_recursive_doubling",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_recursive_doubling(c, i.data.whole(), i.op);
            },
        .steps = recursive_doubling_steps,
        .bytes_sent = recursive_doubling_bytes,
        .seconds = recursive_doubling_seconds,
        .steps_formula = "log2 N, or floor(log2 N) + 2",
        .bytes_formula = "log2 N n, or (floor(log2 N) + 1) n",
        .seconds_formula = "log2 N (a + n b + n g), or 2(a + n b) + n g more",
        .source = thakur,
    },
};

}  // namespace

std::span<const Algorithm> recursive_entries() {
  return entries;
}

}  // namespace tutti
