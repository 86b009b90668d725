// Inputs whose results can be predicted, and the serial reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/division.hpp"

namespace tutti {

/// Integer-valued contributions that every op combines exactly, in any order, for every dtype:
/// small integers that repeat with a prime period along the buffer, different on each rank.
class ExactInputs {
 public:
  ExactInputs(int size, DType dtype, Op op);

  /// Makes `whole` what `rank` contributes: in an alltoall, what it sends. What the rank does not
  /// contribute (all but its part in allgather and gather, all but the root's in broadcast and
  /// scatter) is filled with bytes that must not survive.
  void fill(const Division& division, int rank, Block whole) const;

  /// Elements of `rank`'s result that are not the right ones.
  std::size_t count_wrong(const Division& division, int rank, Block whole) const;

 private:
  using Pattern = std::vector<std::byte>;

  std::vector<Pattern> contributions_;  ///< By rank.
  Pattern reduced_;
};

/// Pseudo-random contributions: floating-point in [-1, 1), integers of all bits. The same seed
/// gives the same values everywhere.
void fill_random(const Division& division, int rank, std::uint64_t seed, Block whole);

/// Bytes that are no contribution's, so that what an algorithm does not write is noticed.
void fill_with_filler(Block whole);

/// Turns the contributions in `data` (one block a rank) into the results, in place: reductions fold
/// from rank 0 up. op is not average; rank i has for rank j as much as that expects.
void reduce_serially(const Division& division, Op op, const std::vector<Block>& data);

/// The elements as float64; of int64 those beyond 2^53 are rounded.
std::vector<double> to_doubles(Block block);

}  // namespace tutti
