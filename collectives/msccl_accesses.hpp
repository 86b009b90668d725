// What MSCCL's threadblocks read and write beside each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/goal_schedule.hpp"
#include "collectives/msccl_graph.hpp"

namespace tutti {

/// Two operations of one rank that touch the same chunk, of which one writes.
struct MscclConflict {
  std::size_t before = 0;  ///< In the schedule.
  std::size_t after = 0;
};

struct MscclAccesses {
  /// Those whose order the graph's own requirements do not yet force when messages are not
  /// buffered.
  std::vector<MscclConflict> conflicts;
  /// Why the result depends on chance: two operations that conflict and neither of which waits for
  /// the other, directly or not; empty if there are none.
  std::string race;
  bool knows_race = true;  ///< False where it would take too long to tell.
};

/// `schedule` is one of the graph, in which a send is over when it has started. Cost: linear in the
/// chunks that are moved; where the order of conflicts comes from other ranks, linear in the
/// operations for each threadblock that is waited for so, up to 2^27 in all.
MscclAccesses accesses_of(const MscclGraph& graph, const GoalSchedule& schedule,
                          std::size_t chunk_bytes);

}  // namespace tutti
