// What collectives/faulty.hpp's faults mean in a real process.
#pragma once

#include "collectives/faulty.hpp"

namespace tutti {

/// Delays by sleeping, stalls for ever, or kills the process with SIGKILL: pass it to Faulty.
void act_on_process(const Fault& fault);

}  // namespace tutti
