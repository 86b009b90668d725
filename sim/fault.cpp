#include "sim/fault.hpp"

#include "sim/sim_rank.hpp"

namespace tutti {

Faulty::Act simulated_faults(Rank& rank) {
  auto* const simulated = dynamic_cast<SimRank*>(&rank);
  check(simulated != nullptr, "rank {} is not of a simulated world", rank.index());
  return [simulated](const Fault& fault) {
    switch (fault.kind) {
      case Fault::Kind::delay:
        return simgrid::s4u::this_actor::sleep_for(fault.seconds);
      case Fault::Kind::stall:
        return simulated->stall();
      case Fault::Kind::kill:
        simulated->kill();
    }
  };
}

}  // namespace tutti
