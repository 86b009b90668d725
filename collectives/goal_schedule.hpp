// GoalSchedule: one execution of a GOAL graph, which decides what the graph leaves open.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/goal_graph.hpp"

namespace tutti {

/// By operation, when things happened to it: numbers that grow with time over all ranks, no two the
/// same but those of one message's end.
struct GoalSchedule {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::vector<std::size_t> start;    ///< When it was posted, or its calc began.
  std::vector<std::size_t> matched;  ///< When both ends of the message were posted.
  std::vector<std::size_t> end;
  std::vector<std::size_t> partner;  ///< The other end of the message; `none` for calc.
};

/// Executes the graph in the model of parse_goal(). Throws Error(mismatch) for messages that do not
/// match and Error(deadlock) where operations wait for themselves.
GoalSchedule schedule_goal(const GoalGraph& graph, const CostModel& model);

}  // namespace tutti
