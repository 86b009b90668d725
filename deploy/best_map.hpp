// BestMap: which algorithm to take from which size on.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "profiles/sample.hpp"

namespace tutti {

/// From `first_bytes` on, up to the next choice.
struct SizeChoice {
  std::size_t first_bytes = 0;
  std::string algorithm;  ///< As the results name it.
};

/// Of one collective on one number of ranks.
struct BestMap {
  std::string collective;
  int ranks = 0;
  int nodes = 0;                    ///< 0: unknown.
  std::vector<SizeChoice> choices;  ///< Ascending, the first from 0 bytes; at least one.
  /// Time lost against the best of all algorithms, also of those that were not allowed: over the
  /// sizes, as a share.
  double mean_regret = 0.0;
  double largest_regret = 0.0;
  std::vector<std::string> left_out;  ///< Not allowed, but the best of some size.
};

/// Whether an algorithm of a collective may be chosen.
using Allowed = std::function<bool(const std::string& collective, const std::string& algorithm)>;

/// The best algorithms of each collective and number of ranks that `curves` have, of those that are
/// allowed. What is within `noise` (a share) of the best
/// allowed one counts as good; of all ways to be good at every size the one with the fewest
/// switches is taken, and of those the fastest. A switch lies in the geometric middle of the two
/// sizes around it. "default" is no algorithm. Maps without an allowed algorithm are left out.
std::vector<BestMap> best_maps(const std::vector<MeasuredCurve>& curves, const Allowed& allowed,
                               double noise = 0.03);

/// As best_maps(), but with one algorithm for all sizes: that of the smallest mean regret.
std::vector<BestMap> best_constants(const std::vector<MeasuredCurve>& curves,
                                    const Allowed& allowed);

}  // namespace tutti
