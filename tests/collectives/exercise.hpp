// Exercise: one use of a collective with whole numbers whose result is known.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"

namespace tutti {

/// Rank r contributes 1000 (r + 1) + e as element e of its whole buffer; what a rank must not know
/// yet is -1. `counts` are the elements of each part; in alltoall rank i sends counts[(i + j) mod
/// N] elements to rank j.
struct Exercise {
  Collective collective;
  std::vector<std::size_t> counts;
  int root = 0;

  int size() const { return static_cast<int>(counts.size()); }
  std::size_t count() const;

  /// The elements of each part of `rank`'s buffer.
  std::vector<std::size_t> counts_of(int rank) const;

  /// Where the rank's input lies in its whole buffer, and where its result.
  Block input_of(Block whole, int rank) const;
  Block result_of(Block whole, int rank) const;

  /// Writes what the rank has before the call into its whole buffer.
  void fill(Block whole, int rank) const;

  /// Whether `result` is what the collective promises to the rank in result_of().
  testing::AssertionResult has_result(Block result, int rank) const;

 private:
  Block part(Block whole, int rank, int index) const;
};

}  // namespace tutti
