// Quantities with units, as people write them.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

/// "12.5GBps", "100 Gbps" (bits), "512MiBps": a positive number, an optional prefix k, M, G, T, Ki,
/// Mi, Gi or Ti, and bps or Bps; returns bytes per second. Throws ShapeError.
double parse_bandwidth(std::string_view text);

/// "5us", "1.5 ms", "0s": zero or more, in ns, us, ms or s; returns seconds. Throws ShapeError.
double parse_duration(std::string_view text);

/// "50%" and "0.5x": a factor greater than zero; false where the text ends in neither. Throws
/// ShapeError where it does and the rest is no such number.
bool is_factor(std::string_view text);
double parse_factor(std::string_view text);

/// A short text that parses back to the same value: "12.5GBps", "5us".
std::string format_bandwidth(double bytes_per_second);
std::string format_duration(double seconds);

}  // namespace tutti
