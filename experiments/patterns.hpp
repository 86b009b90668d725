// Patterns: messages and local work between real ranks, timed for a profile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/world.hpp"
#include "profiles/profile.hpp"

namespace tutti {

struct PatternOptions {
  DType dtype = DType::float32;
  Op op = Op::sum;
  std::size_t largest_bytes = std::size_t{16} << 20;
  int rounds = 9;          ///< Of each pattern in each of two passes; fewer for large buffers.
  std::uint64_t seed = 1;  ///< Of the bootstrap.
};

struct MeasuredRanks {
  RankProfile profile;
  /// How far the medians of the two passes are apart, typically: 0.1 is a tenth.
  double noise = 0.0;
};

/// The median of `samples` (at least one) with its 90 % bootstrap interval. Reorders them.
Estimate estimate_of(std::vector<double>& samples, std::uint64_t seed);

/// Measures all curves in `world` of at least two ranks, whose memory grows by twice the largest
/// buffer for each rank. A time is that of the slowest rank. Before each round every rank writes
/// its buffer anew; in between is a barrier, not timed.
MeasuredRanks measure_ranks(World& world, const PatternOptions& options);

}  // namespace tutti
