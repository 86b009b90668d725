// Reads shapes from YAML files.
#pragma once

#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Reads a shape, after applying `settings` ("hosts=64", "bandwidth=100Gbps"; the last of a key
/// wins) to the file's keys. The keys of a star:
///
/// | key       | value                                       | if absent |
/// |-----------|---------------------------------------------|-----------|
/// | shape     | star                                        | an error  |
/// | hosts     | 1 to maximum_hosts                          | an error  |
/// | bandwidth | from host to host, a bandwidth              | an error  |
/// | latency   | from host to host, a duration, 0us or more  | an error  |
/// | reduction | "free" or a host's reduction speed          | free      |
///
/// Throws ShapeError whose text is "FILE:LINE: what is wrong, what was expected" for a number
/// without unit, an unknown or repeated key (with the valid one it resembles), a negative value or
/// one out of range, a missing key, what is not a regular file, cannot be read, is larger than 1
/// MiB or is not YAML; a setting is named "--set KEY=VALUE" in FILE:LINE's place. Long names and
/// values are cut.
Shape load_shape(const std::string& file, const std::vector<std::string>& settings = {});

/// "12.5GBps", "100 Gbps" (bits), "512MiBps": a positive number, an optional prefix k, M, G, T, Ki,
/// Mi, Gi or Ti, and bps or Bps; returns bytes per second. Throws ShapeError.
double parse_bandwidth(const std::string& text);

/// "5us", "1.5 ms", "0s": zero or more, in ns, us, ms or s; returns seconds. Throws ShapeError.
double parse_duration(const std::string& text);

}  // namespace tutti
