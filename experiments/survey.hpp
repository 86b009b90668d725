// Survey: which algorithm is best at each size, and where that changes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace tutti {

/// Times within this fraction of each other are equal.
inline constexpr double equal_times = 1e-9;

/// The times of all algorithms at one size.
struct Sample {
  std::size_t count = 0;
  std::vector<double> seconds;  ///< By algorithm.

  /// The fastest; of equally fast ones the first.
  std::size_t winner() const;

  /// The second fastest; the winner where there is only one.
  std::size_t runner_up() const;

  /// How much longer the runner-up takes: 0.25 is a quarter longer. 0 where both are equal.
  double margin() const;
};

/// From this count on, `to` is faster than `from`, which won below.
struct Change {
  std::size_t from = 0;
  std::size_t to = 0;
  double count = 0.0;
};

struct Survey {
  std::vector<Sample> samples;
  std::vector<Change> changes;  ///< By ascending count.
};

/// The times of all algorithms at a count.
using Evaluate = std::function<std::vector<double>(std::size_t count)>;

/// Samples each count (made ascending and unique), then bisects wherever the winner changes, until
/// the two ends are within 1 % (or one element), and takes where the straight lines between their
/// times cross. A winner stays the winner until another is faster by more than `tolerance` (0.1: a
/// tenth), so that noise is not taken for a change. A change that is undone between two counts goes
/// unseen.
Survey survey(std::vector<std::size_t> counts, const Evaluate& evaluate,
              double tolerance = equal_times);

}  // namespace tutti
