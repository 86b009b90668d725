// Validation of fits on what they have not seen.
#pragma once

#include <string>
#include <vector>

#include "profiles/sample.hpp"

namespace tutti {

/// Where the faster of two algorithms changes.
struct CrossoverCheck {
  std::string first;  ///< Faster below.
  std::string second;
  double measured_bytes = 0.0;
  double predicted_bytes = 0.0;  ///< 0: none predicted.

  /// Of the larger to the smaller; infinite where none is predicted.
  double ratio() const;
};

/// Of all curves of one collective and number of ranks: fitted to the sizes at even places, tested
/// on those at odd places.
struct HeldOutCheck {
  Series series;  ///< Without algorithm.
  int algorithms = 0;
  int tested = 0;             ///< Times.
  double median_error = 0.0;  ///< Relative.
  double largest_error = 0.0;
  int choices = 0;           ///< Sizes at which two or more algorithms were compared.
  double mean_regret = 0.0;  ///< Time lost by taking what is predicted to be the fastest, a share.
  double largest_regret = 0.0;
  std::vector<CrossoverCheck> crossovers;  ///< Of pairs that change places once, as measured.
};

/// Groups with no curve of at least four sizes are left out. Every figure is a test on sizes that
/// the fit has not seen, but measured crossovers, which are interpolated between all sizes.
std::vector<HeldOutCheck> check_held_out(const SampleSet& set);

}  // namespace tutti
