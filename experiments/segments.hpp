// Segments: straight lines in bytes, with the steps between them found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "profiles/profile.hpp"

namespace tutti {

struct TimedBytes {
  std::size_t bytes = 0;
  double seconds = 0.0;  ///< Positive.
};

/// seconds = start + bytes * slope for from_bytes <= bytes <= to_bytes.
struct Segment {
  std::size_t from_bytes = 0;
  std::size_t to_bytes = 0;
  Estimate start;                  ///< Seconds.
  Estimate slope;                  ///< Seconds per byte: of a plateau of bandwidth.
  double relative_residual = 0.0;  ///< The median of |fit / time - 1|.
};

/// As many lines as explain the times, by their relative errors: another one must lower the
/// Bayesian information criterion. Each has at least 3 of the times (ascending in bytes, at least
/// 3), slopes are not negative. Huber's weights keep single outliers from mattering; the intervals
/// (90 %) are those of `seed`'s bootstrap of the residuals.
std::vector<Segment> fit_segments(std::span<const TimedBytes> times, std::uint64_t seed);

}  // namespace tutti
