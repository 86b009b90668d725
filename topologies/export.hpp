// Shapes in the formats of other tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Graphviz dot: hosts (boxes), NICs, bridges and switches, a line for each cable in the colour of
/// its class, a frame around each machine of several hosts, and a legend with bandwidths and
/// latencies; cables of a class that are not all alike have labels of their own. Dashed lines are
/// shared media, arrows one-way links, dotted red ones have failed. Cost: linear.
std::string export_dot(const Shape& shape);

enum class ExportFormat : std::uint8_t { simgrid, astra };

/// What the shape has and the format has no place for, in words: "reduction speeds", "the placement
/// of ranks". Loopbacks are none of it: SimGrid has them, and export_astra() refuses them.
std::vector<std::string> export_losses(const Shape& shape, ExportFormat format);

/// The most hosts that export_simgrid() writes all routes of: of a fat tree of three levels in some
/// 45 MB, which import_topology() can read.
inline constexpr int maximum_exported_hosts = 320;

/// SimGrid platform XML 4.1 (for SimGrid 3.32 and later) with every route as it is here. A cable
/// with equal directions is a split-duplex link, everything else a shared one. Its
/// export_losses() are named in a comment. Throws ShapeError for more than maximum_exported_hosts
/// hosts, for a file that would be longer than import_topology() reads (where routes are long or
/// have long names), and for hosts that do not reach each other. Cost: the lengths of all routes.
std::string export_simgrid(const Shape& shape);

/// ASTRA-sim network YAML, for its analytical backends. The shape's structure has to be a star, a
/// ring, fully connected, a torus or a product of those, with links that are the same in each
/// dimension, and its routes those of product(); otherwise throws ShapeError that says why not.
/// Its export_losses() are named in a comment. Cost: linear, and up to 65536 routes.
std::string export_astra(const Shape& shape);

}  // namespace tutti
