// A probe of the emulated network: what one message really gets there.
#pragma once

#include "emulation/emulated_network.hpp"

namespace tutti {

struct ProbeResult {
  double latency_seconds = 0.0;             ///< Half the round trip of one byte, the median.
  double bandwidth_bytes_per_second = 0.0;  ///< Of one large message, without the bucket's burst.
};

/// Between the hosts of two nodes, over TCP, while nothing else is sent; some tenths of a second.
/// `expected_bytes_per_second` settles how much is sent. Throws Error(system), and Error(timeout)
/// where no answer comes.
ProbeResult probe(const EmulatedNetwork& network, int from_node, int to_node,
                  double expected_bytes_per_second);

}  // namespace tutti
