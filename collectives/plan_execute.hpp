// execute_plan(): a plan as a program, on any substrate.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/plan.hpp"

namespace tutti {

/// Posts, waits and works as `program` says, with ghosts of its sizes, whatever memory it was
/// recorded with: the same messages and times, and no data. The channel belongs to the program's
/// rank (programmer error otherwise); every rank of the plan executes its own program, each lane on
/// a channel of its own.
void execute_plan(const PlanProgram& program, Channel& channel);

}  // namespace tutti
