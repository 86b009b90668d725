// ShapeZone: SimGrid's view of a Shape, which asks the shape for each route when it needs it.
#pragma once

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <cstddef>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// A zone with a shape's links and those of its hosts that run the first ranks: nothing grows with
/// the square of the hosts. SimGrid destroys it with the engine.
class ShapeZone final : public simgrid::kernel::routing::NetZoneImpl {
 public:
  /// Makes hosts and links and seals the zone. `shape` outlives it.
  static ShapeZone& create(const Shape& shape, std::size_t ranks);

  /// Where a rank runs.
  simgrid::s4u::Host* host_of(int rank) const;

 private:
  explicit ShapeZone(const Shape& shape);

  void get_local_route(const simgrid::kernel::routing::NetPoint* source,
                       const simgrid::kernel::routing::NetPoint* target,
                       simgrid::kernel::routing::Route* into, double* latency_seconds) override;

  void add_host(std::size_t index);
  void add_link(std::size_t index);
  void add_used_links(std::size_t ranks);

  const Shape& shape_;
  std::vector<simgrid::s4u::Host*> hosts_;  ///< By their number in the shape; null where unused.
  std::vector<simgrid::s4u::Link*> links_;  ///< Likewise.
  std::vector<int> host_of_point_;          ///< By the number that SimGrid gave to a host.
};

}  // namespace tutti
