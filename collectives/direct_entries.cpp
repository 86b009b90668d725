#include <array>

#include "collectives/direct.hpp"
#include "collectives/entries.hpp"
#include "collectives/forms.hpp"

namespace tutti {
namespace {

std::size_t part_of(const Problem& problem, int rank) {
  return part_bytes(problem, rank, Partition::balanced);
}

int one_step(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks > 1 ? 1 : 0);
}

int to_all_others(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks - 1);
}

Messages one_phase_messages(const Problem& problem) {
  return {to_all_others(problem), to_all_others(problem)};
}

Messages two_phases_messages(const Problem& problem) {
  return {2 * to_all_others(problem), 2 * to_all_others(problem)};
}

std::size_t reduce_scatter_bytes(const Problem& problem, int rank) {
  return problem.bytes() - part_of(problem, rank);
}

std::size_t allgather_bytes(const Problem& problem, int rank) {
  return static_cast<std::size_t>(problem.ranks - 1) * part_of(problem, rank);
}

double reduce_scatter_seconds(const Problem& problem, const CostModel& model) {
  return chain_seconds(1, 1, other_parts_bytes(problem), model);
}

double allgather_seconds(const Problem& problem, const CostModel& model) {
  return chain_seconds(1, 0, other_parts_bytes(problem), model);
}

// What a rank sends at once shares its port, unless it is but one message.
Form exact_for_two(const Problem& problem) {
  return problem.ranks <= 2 ? Form::exact : Form::bound;
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "direct",
        .full_name = "allreduce_direct",
        .execute = [](Channel& c,
                      const Invocation& i) { allreduce_direct(c, i.data.whole(), i.op); },
        .steps = [](const Problem& p) { return 2 * one_step(p); },
        .messages = two_phases_messages,
        .bytes_sent =
            [](const Problem& p, int rank) {
              return reduce_scatter_bytes(p, rank) + allgather_bytes(p, rank);
            },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return reduce_scatter_seconds(p, m) + allgather_seconds(p, m);
            },
        .form = exact_for_two,
        .steps_formula = "2",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "2a + 2(N-1)/N n b + (N-1)/N n g",
        .source = "Open MPI coll/sm, DeepSpeed",
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "direct",
        .full_name = "allgather_direct",
        .execute = [](Channel& c, const Invocation& i) { allgather_direct(c, i.data); },
        .steps = one_step,
        .messages = one_phase_messages,
        .bytes_sent = allgather_bytes,
        .seconds = allgather_seconds,
        .form = exact_for_two,
        .steps_formula = "1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "a + (N-1)/N n b",
        .source = "Open MPI allgather linear",
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "direct",
        .full_name = "reduce_scatter_direct",
        .execute = [](Channel& c, const Invocation& i) { reduce_scatter_direct(c, i.data, i.op); },
        .steps = one_step,
        .messages = one_phase_messages,
        .bytes_sent = reduce_scatter_bytes,
        .seconds = reduce_scatter_seconds,
        .form = exact_for_two,
        .steps_formula = "1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "a + (N-1)/N n (b + g)",
        .source = "DeepSpeed csrc/cpu/comm/shm.cpp",
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "pairwise",
        .full_name = "reduce_scatter_pairwise",
        .execute = [](Channel& c,
                      const Invocation& i) { reduce_scatter_pairwise(c, i.data, i.op); },
        .steps = to_all_others,
        .bytes_sent = reduce_scatter_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, p.ranks - 1,
                                   largest_part_bytes(p, Partition::balanced), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n (b + g)",
        .source = thakur,
    },
};

}  // namespace

std::span<const Algorithm> direct_entries() {
  return entries;
}

}  // namespace tutti
