// Sizes on the command line, and the sweep between two of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti {

/// "8", "4K", "16M", "1G", "2T": bytes, with nccl-tests' binary suffixes (either case; an "iB",
/// "B", "b" or nothing may follow). Throws Error(usage) for anything else and for what does not fit
/// 64 bits.
std::size_t parse_size(const std::string& text);

/// The flags of a sweep, as typed.
struct SweepFlags {
  std::string minimum = "1K";
  std::string maximum = "16M";
  std::size_t factor = 4;
  std::string step;   ///< Added instead of multiplied by `factor`, if given.
  std::string sizes;  ///< A comma-separated list instead of all of the above, if given.
};

/// The sizes from minimum to maximum, ascending for a sweep, as listed for a list. Throws
/// Error(usage) where there is no end or there are more than 10,000.
std::vector<std::size_t> sweep_sizes(const SweepFlags& flags);

}  // namespace tutti
