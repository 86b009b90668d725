// Drawings of shapes by Graphviz.
#pragma once

#include <string>

#include "topologies/shape.hpp"

namespace tutti {

/// The shape as SVG: on levels where hosts are on switches, by springs where they are on each
/// other. Runs Graphviz's program `dot`. Throws Error(system) if that is missing or fails,
/// Error(usage) for a shape too large to be looked at.
std::string draw_svg(const Shape& shape);

}  // namespace tutti
