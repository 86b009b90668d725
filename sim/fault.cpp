#include "sim/fault.hpp"

#include "sim/simulated_rank.hpp"

namespace tutti {

Faulty::Act simulated_faults(Rank& rank) {
  auto* const simulated = dynamic_cast<SimulatedRank*>(&rank);
  check(simulated != nullptr, "rank {} is not of a simulated world", rank.index());
  return [simulated](const Fault& fault) {
    switch (fault.kind) {
      case Fault::Kind::delay:
        return simulated->pause(fault.seconds);
      case Fault::Kind::stall:
        return simulated->stall();
      case Fault::Kind::kill:
        return simulated->kill();
    }
  };
}

}  // namespace tutti
