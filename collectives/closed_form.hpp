// Closed forms: what an algorithm costs on paper, which plans and simulations are checked against.
#pragma once

#include <cstddef>

namespace tutti {

/// The alpha-beta-gamma model: a message of b bytes takes alpha + b beta, from when both ends are
/// ready, in each direction independently and without contention; reducing b bytes takes b gamma.
struct CostModel {
  double alpha_seconds = 0.0;
  double beta_seconds_per_byte = 0.0;
  double gamma_seconds_per_byte = 0.0;
};

/// One use of a collective: `count` elements of `element_bytes` in the whole buffer.
struct Problem {
  int ranks = 1;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  int root = 0;

  std::size_t bytes() const { return count * element_bytes; }
};

/// The smallest L with 2^L >= ranks: rounds of anything binomial.
int ceil_log2(int ranks);

/// The largest k with 2^k <= ranks.
int floor_log2(int ranks);

}  // namespace tutti
