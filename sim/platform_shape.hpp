// Shapes from SimGrid's own platform files, as SimGrid understands them.
#pragma once

#include <simgrid/forward.h>

#include <cstddef>
#include <string>

#include "topologies/shape.hpp"

namespace tutti {

/// The most hosts of a platform that ranks can be placed on: a table of the routes is kept.
inline constexpr int maximum_platform_hosts = 2048;

struct Platform {
  Shape shape;
  std::size_t file_hosts = 0;  ///< Of the file; the shape has the first maximum_platform_hosts.
};

/// What SimGrid makes of a platform file: its first hosts in the order of the file, with their
/// cores, the links that routes between them cross, and these routes; a rank for each core, the
/// first ones on different hosts. Simulations read the file
/// again as it is, so zones, sharing policies and profiles have SimGrid's meaning; the speeds of
/// hosts are flops and say nothing about reductions, which are free. Links have no ends: such a
/// shape can be simulated, not drawn. Throws ShapeError with SimGrid's own message for what it
/// refuses, for two of these hosts without a route between them, and where SimGrid needs more than
/// 4 GiB or a minute. Cost: a process, and the square of the hosts.
Platform load_platform(const std::string& file);

/// Connects the hosts of wireless zones at the first of their link's rates, without which SimGrid
/// ends the process at their first message. To be called when a platform is loaded; seals it if it
/// has such zones. Cost: linear.
void connect_wireless_hosts(simgrid::s4u::Engine& engine);

}  // namespace tutti
