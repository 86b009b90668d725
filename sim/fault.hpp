// What faults mean in a simulation; see collectives/faulty.hpp.
#pragma once

#include "collectives/faulty.hpp"
#include "collectives/world.hpp"

namespace tutti {

/// For a rank of a SimWorld (programmer error otherwise), which must outlive it: delay lets
/// simulated time pass, stall suspends the actor for good, kill ends the rank's actors without a
/// word. Others that need a stalled or killed rank go on until their deadline, or until no rank can
/// go on.
Faulty::Act simulated_faults(Rank& rank);

}  // namespace tutti
