// What faults mean in a simulation; see collectives/faulty.hpp.
#pragma once

#include "collectives/faulty.hpp"
#include "collectives/world.hpp"

namespace tutti {

/// For a rank of a SimulatedWorld (programmer error otherwise), which must outlive it: delay lets
/// simulated time pass, stall suspends the task for good, kill ends the rank's tasks without a
/// word. Others that need a stalled or killed rank go on until their deadline, or until no rank can
/// go on.
Faulty::Act simulated_faults(Rank& rank);

}  // namespace tutti
