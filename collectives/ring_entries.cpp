#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/ring.hpp"

namespace tutti {
namespace {

template <Partition partition>
double ring_allreduce_seconds(const Problem& problem, const CostModel& model) {
  const int hops = problem.ranks - 1;
  return chain_seconds(2 * hops, hops, largest_part_bytes(problem, partition), model);
}

std::size_t reduce_scatter_ring_bytes(const Problem& problem, int rank) {
  return problem.bytes() - part_bytes(problem, rank, Partition::balanced);
}

std::size_t allgather_ring_bytes(const Problem& problem, int rank) {
  return problem.bytes() - part_bytes(problem, rank + 1, Partition::balanced);
}

std::size_t allreduce_ring_bytes(const Problem& problem, int rank) {
  return reduce_scatter_ring_bytes(problem, rank) + allgather_ring_bytes(problem, rank);
}

std::size_t allreduce_ring_gloo_bytes(const Problem& problem, int rank) {
  return 2 * problem.bytes() - part_bytes(problem, rank, Partition::gloo) -
         part_bytes(problem, rank - 1, Partition::gloo);
}

int ring_steps(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks - 1);
}

int two_rings_steps(const Problem& problem) {
  return 2 * ring_steps(problem);
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring",
        .full_name = "allreduce_ring",
        .execute = [](Channel& c, const Invocation& i) { allreduce_ring(c, i.data.whole(), i.op); },
        .steps = two_rings_steps,
        .bytes_sent = allreduce_ring_bytes,
        .seconds = ring_allreduce_seconds<Partition::balanced>,
        .steps_formula = "2(N-1)",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "2(N-1)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = patarasuk,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring_gloo",
        .full_name = "allreduce_ring_gloo",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_ring(c, i.data.whole(), i.op, gloo_ring_order);
            },
        .steps = two_rings_steps,
        .bytes_sent = allreduce_ring_gloo_bytes,
        .seconds = ring_allreduce_seconds<Partition::gloo>,
        .steps_formula = "2(N-1)",
        .bytes_formula = "2n, less two of gloo's chunks",
        .seconds_formula = "2(N-1)a + 2(N-1) c b + (N-1) c g, c bytes in gloo's first chunk",
        .source = "gloo/allreduce.cc, the order of its ring",
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "ring",
        .full_name = "allgather_ring",
        .execute = [](Channel& c, const Invocation& i) { allgather_ring(c, i.data); },
        .steps = ring_steps,
        .bytes_sent = allgather_ring_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, 0, largest_part_bytes(p, Partition::balanced), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n b",
        .source = patarasuk,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "ring",
        .full_name = "reduce_scatter_ring",
        .execute = [](Channel& c, const Invocation& i) { reduce_scatter_ring(c, i.data, i.op); },
        .steps = ring_steps,
        .bytes_sent = reduce_scatter_ring_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, p.ranks - 1,
                                   largest_part_bytes(p, Partition::balanced), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n b + (N-1)/N n g",
        .source = patarasuk,
    },
};

}  // namespace

std::span<const Algorithm> ring_entries() {
  return entries;
}

}  // namespace tutti
