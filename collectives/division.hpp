// Division: which elements of a collective's buffer each rank contributes, and which are its
// result.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// True where the buffer is divided among the ranks, so that their parts may be unequal (the
/// v-forms).
constexpr bool has_parts(Collective collective) {
  return collective == Collective::allgather || collective == Collective::reduce_scatter ||
         collective == Collective::gather || collective == Collective::scatter ||
         collective == Collective::alltoall;
}

/// One use of a collective in place on the whole buffer, of the same count on each of `size` ranks.
struct Division {
  Collective collective = Collective::allreduce;
  int size = 1;
  int root = 0;
  /// The elements of each part; empty for equal parts. In alltoall rank i sends counts[(i + j) mod
  /// N] elements to rank j.
  std::vector<std::size_t> counts = {};

  /// The elements of each part of `rank`'s buffer, as run() wants them; empty for equal parts.
  std::vector<std::size_t> counts_of(int rank) const;

  Parts parts_of(Block whole, int rank) const;

  /// What of its whole buffer `rank` contributes, and what is its result; empty where it is
  /// nothing.
  Block input_of(Block whole, int rank) const;
  Block result_of(Block whole, int rank) const;
};

}  // namespace tutti
