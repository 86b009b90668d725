// Vary: the values that one quantity of a what-if study takes, as typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// "bytes=1K..1G*4": what varies, and its values in order, each as it could have been typed alone.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// KEY=VALUES, where values are separated by commas (not those within brackets) and
///
///   4,8,..,1024   goes on by the factor of the two before it if that is whole and leads to the
///                 end, or else by their difference
///   1K..1G*4      from, to, and the factor (below 1: downwards); the end only if it is met
///   1us..9us+2us  from, to, and the difference
///
/// Numbers may have units: of one kind where they differ (1K and 1G, 500ns and 2us, 25% and 50%).
/// Throws Error(usage) that begins with "--vary TEXT" for what is none of these, does not end, has
/// more than 10,000 values, or names one twice.
Axis parse_axis(const std::string& text);

/// "1K" for 1024, "1000" for 1000: the largest binary unit that divides it.
std::string format_size(std::size_t bytes);

}  // namespace tutti
