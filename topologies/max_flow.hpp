// The most that a network can carry between two sets of its nodes.
#pragma once

#include <functional>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Capacities in whole units (bytes/s, or 1 for counting routes), of a shape's links that have ends
/// and have not failed. A shared medium carries its capacity in both directions together: its share
/// is counted once for each direction, a bound from above.
class FlowNetwork {
 public:
  /// Capacity of a link, by its index in the shape.
  using Capacity = std::function<long long(int link)>;

  FlowNetwork(const Shape& shape, const Capacity& capacity);

  /// From the hosts in `sources` to those in `targets`, each of which sends or takes as much as its
  /// own links carry. Cost: one push-relabel on the whole network.
  long long maximum_flow(const std::vector<int>& sources, const std::vector<int>& targets) const;

 private:
  struct Edge {
    int from;
    int to;
    long long capacity;
  };

  int nodes_;
  std::vector<Edge> edges_;
  std::vector<long long> outgoing_;  ///< By node, what its links can carry away,
  std::vector<long long> incoming_;  ///< and bring.
};

}  // namespace tutti
