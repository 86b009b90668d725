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

/// What some algorithms can be told; 0 leaves the choice to the algorithm, which documents it.
struct Tuning {
  int segments = 0;  ///< Pieces that a pipelined algorithm cuts the buffer into.
  int radix = 0;     ///< Fan-out of a k-nomial tree or exchange.
  int group = 0;     ///< Ranks of one inner group of a hierarchical algorithm.

  bool operator==(const Tuning&) const = default;
};

/// One use of a collective: `count` elements of `element_bytes` in the whole buffer.
struct Problem {
  int ranks = 1;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  int root = 0;
  Tuning tuning = {};

  std::size_t bytes() const { return count * element_bytes; }
};

/// The smallest L with 2^L >= ranks: rounds of anything binomial.
int ceil_log2(int ranks);

/// The largest k with 2^k <= ranks.
int floor_log2(int ranks);

}  // namespace tutti
