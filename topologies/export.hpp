// Shapes in the formats of other tools.
#pragma once

#include <string>

#include "topologies/shape.hpp"

namespace tutti {

/// Graphviz dot: hosts (boxes), NICs, bridges and switches, a line for each cable in the colour of
/// its class, a frame around each machine of several hosts, and a legend with bandwidths and
/// latencies; cables of a class that are not all alike have labels of their own. Dashed lines are
/// shared media, arrows one-way links, dotted red ones have failed. Cost: linear.
std::string export_dot(const Shape& shape);

/// The most hosts that export_simgrid() writes all routes of.
inline constexpr int maximum_exported_hosts = 512;

/// SimGrid platform XML 4.1 (for SimGrid 3.32 and later) with every route as it is here. A cable
/// with equal directions is a split-duplex link, everything else a shared one. What SimGrid's
/// format has no place for (reduction speeds and overheads of hosts, placement) is named in a
/// comment. Throws ShapeError for more than maximum_exported_hosts hosts, and for hosts that do not
/// reach each other. Cost: the lengths of all routes.
std::string export_simgrid(const Shape& shape);

/// ASTRA-sim network YAML, for its analytical backends. The shape's structure has to be a star, a
/// ring, fully connected, a torus or a product of those, with links that are the same in each
/// dimension, and its routes those of product(); otherwise throws ShapeError that says why not.
/// Hosts' attributes and placement are named in a comment. Cost: linear, and up to 65536 routes.
std::string export_astra(const Shape& shape);

}  // namespace tutti
