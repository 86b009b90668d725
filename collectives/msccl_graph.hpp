// MscclGraph: the steps of an MSCCL file as operations that wait for each other.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/goal_graph.hpp"
#include "collectives/msccl_file.hpp"
#include "collectives/plan.hpp"

namespace tutti {

/// The collective whose MSCCL name this is; none for custom ones and unknown names.
std::optional<Collective> collective_of(const MscclFile& file);

/// The operations of all steps. Those of one threadblock lie one after the other, in its order.
struct MscclGraph {
  /// Of PlanAddress: in place, input and output are buffer 0; else the output is buffer 0 and the
  /// input buffer 1. 's' is the first Scratch of its rank, what fused steps keep for a moment the
  /// second.
  static constexpr int scratch_buffer = -2;
  static constexpr int temporary_buffer = -3;

  GoalGraph graph;
  std::vector<PlanEvent> events;              ///< By operation, for plan_of_schedule().
  std::vector<std::size_t> threadblocks;      ///< By operation, numbered over all ranks.
  std::vector<std::size_t> steps;             ///< By operation, numbered over all threadblocks.
  std::vector<std::size_t> temporary_chunks;  ///< By rank.
};

/// MSCCL buffers what it sends, so that a step behind a send waits for its start only, and a
/// receive for the start of one in front of it, since the messages of one sender arrive in order.
/// Where `staged` says so of a step (by its number; it may be shorter), what it sends is copied
/// first. `gamma_seconds_per_byte` is what local work takes. Throws Error(usage) "line N: ..." for
/// chunks outside their buffers, and for more than 2^25 chunks, of all buffers or of all steps.
MscclGraph graph_of(const MscclFile& file, std::size_t chunk_bytes, double gamma_seconds_per_byte,
                    const std::vector<bool>& staged);

}  // namespace tutti
