// Inputs whose results can be predicted, and the serial reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/catalogue.hpp"

namespace tutti {

/// Integer-valued contributions that every op combines exactly, in any order, for every dtype:
/// small integers that repeat with a prime period along the buffer, different on each rank.
class ExactInputs {
 public:
  ExactInputs(int size, DType dtype, Op op);

  /// Makes `whole` what `rank` contributes: in an alltoall, what it sends. What the rank does not
  /// contribute (all but its part in allgather and gather, all but the root's in broadcast and
  /// scatter) is filled with bytes that must not survive.
  void fill(Collective collective, int rank, int root, Block whole) const;

  /// Elements of `rank`'s result that are not the right ones.
  std::size_t count_wrong(Collective collective, int rank, int root, Block whole) const;

 private:
  using Pattern = std::vector<std::byte>;

  const int size_;
  const DType dtype_;
  std::vector<Pattern> contributions_;  ///< By rank.
  Pattern reduced_;
};

/// Pseudo-random contributions: floating-point in [-1, 1), integers of all bits. The same seed
/// gives the same values everywhere.
void fill_random(Collective collective, int rank, int size, int root, std::uint64_t seed,
                 Block whole);

/// The part of `whole` that holds the result of `rank`; empty where it has none.
Block result_of(Collective collective, int rank, int size, int root, Block whole);

/// Bytes that are no contribution's, so that what an algorithm does not write is noticed.
void fill_with_filler(Block whole);

/// Turns the contributions in `data` (one block a rank) into the results, in place: reductions fold
/// from rank 0 up. op is not average; an alltoall's parts are equal.
void reduce_serially(Collective collective, Op op, int root, const std::vector<Block>& data);

/// The elements as float64; of int64 those beyond 2^53 are rounded.
std::vector<double> to_doubles(Block block);

}  // namespace tutti
