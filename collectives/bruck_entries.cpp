#include <array>

#include "collectives/bruck.hpp"
#include "collectives/entries.hpp"
#include "collectives/forms.hpp"

namespace tutti {
namespace {

constexpr std::string_view pat = "Jeaugey, arXiv 2506.20252; buffers as large as the data";
constexpr std::string_view bruck = "Bruck et al., IEEE TPDS 1997";

// The numbers below N that have the bit `distance`.
int alltoall_blocks(const Problem& problem, int distance) {
  const int period = 2 * distance;
  return problem.ranks / period * distance + std::max(0, problem.ranks % period - distance);
}

// The multiples d of 2 * distance with d + distance < N.
int pat_blocks(const Problem& problem, int distance) {
  return (problem.ranks - distance + 2 * distance - 1) / (2 * distance);
}

// One message a step, which is packed and unpacked if it has several blocks.
template <int (*blocks)(const Problem& problem, int distance)>
double packed_seconds(const Problem& problem, const CostModel& model, int passes) {
  const std::size_t part = largest_part_bytes(problem, Partition::balanced);
  double seconds = 0.0;
  for (int distance = 1; part > 0 && distance < problem.ranks; distance *= 2) {
    const int count = blocks(problem, distance);
    const std::size_t bytes = static_cast<std::size_t>(count) * part;
    seconds += message_seconds(bytes, model);
    if (count > 1) seconds += passes * reduction_seconds(bytes, model);
  }
  return seconds;
}

int bruck_steps(const Problem& problem) {
  return steps_unless_empty(problem, ceil_log2(problem.ranks));
}

// Wherever several parts go at once, some rank's wrap around and are two messages.
Messages allgather_bruck_messages(const Problem& problem) {
  int messages = bruck_steps(problem);
  for (int distance = 2; messages > 0 && distance <= problem.ranks - 2; distance *= 2) ++messages;
  return {messages, messages};
}

std::size_t other_bytes(const Problem& problem, int) {
  return other_parts_bytes(problem);
}

std::size_t alltoall_bruck_bytes(const Problem& problem, int) {
  std::size_t blocks = 0;
  for (int distance = 1; distance < problem.ranks; distance *= 2) {
    blocks += static_cast<std::size_t>(alltoall_blocks(problem, distance));
  }
  return blocks * largest_part_bytes(problem, Partition::balanced);
}

double alltoall_bruck_seconds(const Problem& problem, const CostModel& model) {
  return packed_seconds<alltoall_blocks>(problem, model, 2) +
         reduction_seconds(largest_part_bytes(problem, Partition::balanced), model);
}

// Every part is folded, and all but those of one step packed before.
double reduce_scatter_pat_seconds(const Problem& problem, const CostModel& model) {
  return packed_seconds<pat_blocks>(problem, model, 1) +
         reduction_seconds(other_parts_bytes(problem), model);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allgather,
        .name = "bruck",
        .full_name = "allgather_bruck",
        .execute = [](Channel& c, const Invocation& i) { allgather_bruck(c, i.data); },
        .steps = bruck_steps,
        .messages = allgather_bruck_messages,
        .bytes_sent = other_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return messages_seconds(ceil_log2(p.ranks), other_parts_bytes(p), m);
            },
        .form = exact_for_equal_parts,
        .steps_formula = "L",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "L a + (N-1)/N n b",
        .source = bruck,
        .needs_adjacent_parts = true,
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "pat",
        .full_name = "allgather_pat",
        .execute = [](Channel& c, const Invocation& i) { allgather_pat(c, i.data); },
        .steps = bruck_steps,
        .bytes_sent = other_bytes,
        .seconds = [](const Problem& p,
                      const CostModel& m) { return packed_seconds<pat_blocks>(p, m, 2); },
        .form = exact_for_equal_parts,
        .steps_formula = "L",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "L a + (N-1)/N n b + up to 2(N-2)/N n g",
        .source = pat,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "pat",
        .full_name = "reduce_scatter_pat",
        .execute = [](Channel& c, const Invocation& i) { reduce_scatter_pat(c, i.data, i.op); },
        .steps = bruck_steps,
        .bytes_sent = other_bytes,
        .seconds = reduce_scatter_pat_seconds,
        .form = exact_for_equal_parts,
        .steps_formula = "L",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "L a + (N-1)/N n b + up to (2N-3)/N n g",
        .source = pat,
    },
    Algorithm{
        .collective = Collective::alltoall,
        .name = "bruck",
        .full_name = "alltoall_bruck",
        .execute = [](Channel& c, const Invocation& i) { alltoall_bruck(c, i.data, i.source); },
        .steps = bruck_steps,
        .bytes_sent = alltoall_bruck_bytes,
        .seconds = alltoall_bruck_seconds,
        .supports = has_equal_parts,
        .steps_formula = "L",
        .bytes_formula = "L/2 n",
        .seconds_formula = "L a + up to L/2 n b + L n g + n/N g",
        .source = bruck,
        .supported = "any N that divides the count",
        .parts = PartSizes::equal,
    },
    Algorithm{
        .collective = Collective::barrier,
        .name = "dissemination",
        .full_name = "barrier_dissemination",
        .execute = [](Channel& c, const Invocation&) { barrier_dissemination(c); },
        .steps = [](const Problem& p) { return ceil_log2(p.ranks); },
        .bytes_sent = [](const Problem& p,
                         int) { return static_cast<std::size_t>(ceil_log2(p.ranks)); },
        .seconds = [](const Problem& p,
                      const CostModel& m) { return ceil_log2(p.ranks) * message_seconds(1, m); },
        .steps_formula = "L",
        .bytes_formula = "L bytes",
        .seconds_formula = "L (a + b)",
        .source = "Hensgen, Finkel, Manber, IJPP 1988",
    },
};

}  // namespace

std::span<const Algorithm> bruck_entries() {
  return entries;
}

}  // namespace tutti
