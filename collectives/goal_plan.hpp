// The programs of a graph, in the order of its schedule.
#pragma once

#include <vector>

#include "collectives/goal_graph.hpp"
#include "collectives/goal_schedule.hpp"
#include "collectives/plan.hpp"

namespace tutti {

/// One program a rank, on lane 0, that posts the graph's operations in the order in which
/// `schedule` started them, each after waiting for what it requires, and for no more than that.
/// `events` are what the plan has in place of the operations, in their order; their step, peer and
/// request are filled in. Work that computes for no time is left out. The two ends of a pair post
/// in one order: if not that of their starts, then that of matching. Cost: n log n.
Plan plan_of_schedule(const GoalGraph& graph, const GoalSchedule& schedule,
                      std::vector<PlanEvent> events);

}  // namespace tutti
