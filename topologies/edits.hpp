// What-if edits: changes to a shape that was built, without touching its file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Whether "KEY=VALUE" names links or hosts (apply_edit) rather than a key that only files have.
bool is_edit(std::string_view setting);

/// Changes links or hosts of the shape:
///
///   links.CLASS.bandwidth=50%        all links of a class; if there is none, as links[CLASS]
///   links.CLASS.latency=2us          a value of each link, a percentage "50%", or a factor "2x"
///   links.CLASS.overhead=1us         likewise
///   links[leaf1-spine0].latency=2x   one cable, or all that match a pattern: both directions
///   host[3].speed=0.5x               a host by number, a range "host[0-3]", or "host[*]"
///   host[3].reduction=10GBps         also send_overhead, receive_overhead, cores
///
/// Throws ShapeError that begins with "--set SETTING" for what names nothing (with the nearest name
/// or class there is) or cannot be understood.
void apply_edit(Shape& shape, const std::string& setting);

/// "link:leaf1-spine0" (a cable, both directions; * is a pattern), "node:spine0" (all its cables).
/// Routes that crossed them are replaced by the shortest there are, by number of links: those of
/// one sender by all of the shortest in turn, in the order of their destinations. Throws ShapeError
/// for a name that is not there (with the nearest, or some, switches before hosts), and, where
/// `ranks` cannot reach each other any more, naming two of them.
void apply_failures(Shape& shape, const std::vector<std::string>& failures);

}  // namespace tutti
