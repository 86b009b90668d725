// Fits of measured curves: latency + bytes / bandwidth, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiles/sample.hpp"

namespace tutti {

/// A figure and the ends of its 95 % confidence interval.
struct FittedFigure {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// latency + bytes * seconds_per_byte, for some sizes.
struct FittedPiece {
  std::size_t first_bytes = 0;  ///< The smallest and largest size that it was fitted to.
  std::size_t last_bytes = 0;
  FittedFigure latency_seconds;   ///< At least 0.
  FittedFigure seconds_per_byte;  ///< Likewise.
};

struct CurveFit {
  std::vector<FittedPiece> pieces;  ///< By size; at least one.
  std::vector<double> residuals;    ///< Of each size: (fitted - measured) / measured.
  double median_residual = 0.0;     ///< Of their absolute values.
  double largest_residual = 0.0;

  /// Between two pieces by a straight line in the logarithms, beyond all by the nearest piece.
  double seconds(std::size_t bytes) const;
};

/// The pieces that describe a curve best by the Bayesian information criterion, each with at least
/// two sizes, fitted to relative errors with less weight for outliers. Intervals are those of
/// resampled residuals, drawn with `seed`. A curve of one size is a constant. Cost: cubic in the
/// number of sizes.
CurveFit fit_curve(const MeasuredCurve& curve, std::uint64_t seed = 1);

}  // namespace tutti
