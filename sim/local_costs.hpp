// LocalCosts: what a rank's own work costs, beside the network.
#pragma once

#include <cstddef>

#include "topologies/shape.hpp"

namespace tutti {

struct LocalCosts {
  /// Else reducing, copying and scaling take their bytes at the speed of the rank's host.
  bool reductions_are_free = true;
  double send_overhead_seconds = 0.0;       ///< Passes before a message is posted,
  double receive_overhead_seconds = 0.0;    ///< and after it has come, before it is reduced.
  double reduction_bytes_per_second = 0.0;  ///< Of a rank with a core of its own.

  /// What reducing, copying or scaling takes a rank with a core of its own.
  double seconds_of(std::size_t bytes) const {
    if (reductions_are_free || bytes == 0) return 0.0;
    return static_cast<double>(bytes) / reduction_bytes_per_second;
  }
};

inline LocalCosts local_costs_of(const Host& host) {
  return {.reductions_are_free = !host.reduction_bytes_per_second.has_value(),
          .send_overhead_seconds = host.send_overhead_seconds / host.speed,
          .receive_overhead_seconds = host.receive_overhead_seconds / host.speed,
          .reduction_bytes_per_second = host.reduction_bytes_per_second.value_or(0.0) * host.speed};
}

}  // namespace tutti
