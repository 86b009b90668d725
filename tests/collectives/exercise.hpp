// Exercise: one use of a collective with whole numbers whose result is known.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "collectives/division.hpp"
#include "collectives/run.hpp"

namespace tutti {

/// Rank r contributes 1000 (r + 1) + e as element e of its whole buffer; what a rank must not know
/// yet is -1. `counts` are those of the division.
struct Exercise {
  Collective collective;
  std::vector<std::size_t> counts;
  int root = 0;

  int size() const { return static_cast<int>(counts.size()); }
  std::size_t count() const;
  Division division() const { return {collective, size(), root, counts}; }

  /// Writes what the rank has before the call into its whole buffer.
  void fill(Block whole, int rank) const;

  /// Whether `result` is what the collective promises to the rank in Division::result_of().
  testing::AssertionResult has_result(Block result, int rank) const;
};

}  // namespace tutti
