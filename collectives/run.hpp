// run(): one collective as a user calls it: in or out of place, averages, wider accumulation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/catalogue.hpp"

namespace tutti {

/// In which type reductions accumulate: the element type itself (each step rounds to it), or
/// float32 for float16 and bfloat16 (twice the bytes travel, one rounding at the end).
enum class Accumulate : std::uint8_t { native, float32 };

/// What a user passes. Without an input (or with the output's own block) the collective works in
/// place on `output`, which holds the whole buffer of n elements on every rank; otherwise the two
/// must not overlap and the input is left untouched. Counts, with parts equal or as in `counts`:
///
/// | collective     | input             | output            | in place                           |
/// |----------------|-------------------|-------------------|------------------------------------|
/// | allreduce      | n                 | n                 | n                                  |
/// | broadcast      | n at the root     | n                 | n                                  |
/// | allgather      | part `rank`       | n                 | n, own part filled                 |
/// | reduce_scatter | n                 | part `rank`       | n, own part results                |
/// | reduce         | n                 | n at the root     | n, results at the root             |
/// | gather         | part `rank`       | n at the root     | n, own part filled, root's results |
/// | scatter        | n at the root     | part `rank`       | n, root's filled, own part results |
/// | alltoall       | n                 | n                 | n                                  |
/// | barrier        | none              | none              | none                               |
///
/// What is only needed at the root is ignored elsewhere and may be an empty block there.
struct Arguments {
  std::optional<Block> input = {};
  Block output = {};
  Op op = Op::sum;
  int root = 0;
  Accumulate accumulate = Accumulate::native;
  Tuning tuning = {};
  /// n, where neither block of this rank shows it: scatter and gather out of place.
  std::size_t count = 0;
  /// The elements of each part (the v-forms); empty for equal parts. The same on every rank, but
  /// for alltoall, where they are those this rank receives from each, and `source_counts` those it
  /// sends.
  std::vector<std::size_t> counts = {};
  std::vector<std::size_t> source_counts = {};
};

/// Runs `algorithm` on this rank of `channel`. Throws Error(usage), before any data moves, for an
/// op that the collective or the dtype does not support (average of integers, replace in a
/// reduction, a root outside the world), for a number of ranks or a
/// tuning that the algorithm does not support, and for counts that do not fit.
void run(const Algorithm& algorithm, Channel& channel, const Arguments& arguments);

/// In place on `data`.
inline void run(const Algorithm& algorithm, Channel& channel, Block data, Op op = Op::sum,
                int root = 0) {
  run(algorithm, channel, Arguments{.input = std::nullopt, .output = data, .op = op, .root = root});
}

/// Throws Error(usage) if the combination is not supported; run() calls it.
void check_supported(Collective collective, DType dtype, Op op, int root, int size);

}  // namespace tutti
