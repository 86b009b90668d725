// LocalCosts: what a rank's own work costs, beside the network.
#pragma once

#include "topologies/shape.hpp"

namespace tutti {

struct LocalCosts {
  /// Else reducing, copying and scaling take their bytes at the speed of the rank's host.
  bool reductions_are_free = true;
  double send_overhead_seconds = 0.0;     ///< Passes before a message is posted,
  double receive_overhead_seconds = 0.0;  ///< and after it has come, before it is reduced.
};

inline LocalCosts local_costs_of(const Host& host) {
  return {.reductions_are_free = !host.reduction_bytes_per_second.has_value(),
          .send_overhead_seconds = host.send_overhead_seconds / host.speed,
          .receive_overhead_seconds = host.receive_overhead_seconds / host.speed};
}

}  // namespace tutti
