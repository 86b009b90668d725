// Reads shapes from YAML files.
#pragma once

#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Reads a shape, after applying `settings` ("hosts=64", "bandwidth=100Gbps") to the file's keys.
/// Throws ShapeError whose text is "FILE:LINE: what is wrong, what was expected" for a number
/// without unit, an unknown key (with the nearest valid one), a negative value, a missing key, a
/// file that cannot be read or is not YAML; a setting is named "--set KEY=VALUE" in FILE's place.
Shape load_shape(const std::string& file, const std::vector<std::string>& settings = {});

/// "12.5GBps", "100Gbps" (bits), "512MiBps"; bytes per second. Throws ShapeError.
double parse_bandwidth(const std::string& text);

/// "5us", "1.5 ms"; seconds. Throws ShapeError.
double parse_duration(const std::string& text);

}  // namespace tutti
