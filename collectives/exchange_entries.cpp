#include <array>

#include "collectives/entries.hpp"
#include "collectives/exchange.hpp"
#include "collectives/forms.hpp"

namespace tutti {
namespace {

bool is_even_or_one(const Problem& problem) {
  return problem.ranks == 1 || problem.ranks % 2 == 0;
}

std::size_t other_bytes(const Problem& problem, int) {
  return other_parts_bytes(problem);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allgather,
        .name = "neighbor_exchange",
        .full_name = "allgather_neighbor_exchange",
        .execute = [](Channel& c, const Invocation& i) { allgather_neighbor_exchange(c, i.data); },
        .steps = [](const Problem& p) { return steps_unless_empty(p, p.ranks / 2); },
        .bytes_sent = other_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return messages_seconds(p.ranks / 2, other_parts_bytes(p), m);
            },
        .form = exact_for_equal_parts,
        .supports = is_even_or_one,
        .steps_formula = "N/2",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "N/2 a + (N-1)/N n b",
        .source = "Chen, Zhang, Zhang, Yuan, HPC Asia 2005",
        .supported = "even N",
        .needs_adjacent_parts = true,
    },
    Algorithm{
        .collective = Collective::alltoall,
        .name = "pairwise",
        .full_name = "alltoall_pairwise",
        .execute = [](Channel& c, const Invocation& i) { alltoall_pairwise(c, i.data, i.source); },
        .steps = [](const Problem& p) { return steps_unless_empty(p, p.ranks - 1); },
        .bytes_sent = other_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              const std::size_t part = largest_part_bytes(p, Partition::balanced);
              return messages_seconds(p.ranks - 1, other_parts_bytes(p), m) +
                     reduction_seconds(part, m);
            },
        .supports = has_equal_parts,
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n b + n/N g",
        .source = thakur,
        .supported = alltoall_supported,
    },
};

}  // namespace

std::span<const Algorithm> exchange_entries() {
  return entries;
}

}  // namespace tutti
