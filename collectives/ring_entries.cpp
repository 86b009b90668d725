#include <algorithm>
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

int segments_of(const Problem& problem) {
  return problem.tuning.segments == 0 ? default_ring_segments : problem.tuning.segments;
}

int segmented_ring_steps(const Problem& problem) {
  return std::max(2, segments_of(problem)) * ring_steps(problem);
}

// Bound by the port, the reduction or the chain of a piece's predecessor but one, whichever is
// slowest; the first piece of each pass has nothing to overlap with. Two pieces that share the port
// from the same moment on also wait for their first bytes together: half of alpha for each.
double segmented_ring_seconds(const Problem& problem, const CostModel& model) {
  const int segments = segments_of(problem), pieces = (problem.ranks - 1) * segments;
  if (segments == 1) return ring_allreduce_seconds<Partition::balanced>(problem, model);
  if (problem.count == 0 || pieces == 0) return 0.0;
  const std::size_t bytes = ghost_of(problem).part(0, problem.ranks).part(0, segments).bytes();
  const double message = message_seconds(bytes, model), fold = reduction_seconds(bytes, model);
  const double shared = message - model.alpha_seconds / 2;
  return 2 * message + fold +
         (pieces - 1) * (std::max({shared, fold, (message + fold) / 2}) + shared);
}

// Of two pieces that are under way at once, steps count one. A fold hides half of alpha but none of
// the overheads: half a message more for every piece that is folded.
Messages segmented_ring_messages(const Problem& problem) {
  const int segments = segments_of(problem), pieces = segments * ring_steps(problem);
  const int messages = segments == 1 ? 2 * pieces : 2 * pieces + (pieces + 1) / 2;
  return {messages, messages};
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
        .between_neighbors = true,
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
        .between_neighbors = true,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring_segmented",
        .full_name = "allreduce_ring_segmented",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_ring_segmented(c, i.data.whole(), i.op, i.tuning.segments);
            },
        .steps = segmented_ring_steps,
        .messages = segmented_ring_messages,
        .bytes_sent = allreduce_ring_bytes,
        .seconds = segmented_ring_seconds,
        .form = [](const Problem& p) { return segments_of(p) == 1 ? Form::exact : Form::bound; },
        .supports = [](const Problem& p) { return p.tuning.segments >= 0; },
        .steps_formula = "(N-1)m, m = segments",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula =
            "2a + 2p b + p g + ((N-1)m-1) (max(a/2+p b, p g, (a+p b+p g)/2) + a/2 + p b), "
            "p = n/(Nm)",
        .source = "Open MPI's ring_segmented; gloo/allreduce.cc",
        .supported = "any N, segments >= 1",
        .uses_segments = true,
        .between_neighbors = true,
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
        .between_neighbors = true,
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
        .between_neighbors = true,
    },
};

}  // namespace

std::span<const Algorithm> ring_entries() {
  return entries;
}

}  // namespace tutti
