// run(): one collective as a user calls it: in or out of place, averages, wider accumulation.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/catalogue.hpp"

namespace tutti {

/// In which type reductions accumulate: the element type itself (each step rounds to it), or
/// float32 for float16 and bfloat16 (twice the bytes travel, one rounding at the end).
enum class Accumulate : std::uint8_t { native, float32 };

/// What a user passes. Without an input (or with the output's own block) the collective works in
/// place on `output`; otherwise the two must not overlap and the input is left untouched. Counts,
/// with n the count of the whole buffer:
///
/// | collective     | input                    | output                    | in place             |
/// |----------------|--------------------------|---------------------------|----------------------|
/// | allreduce      | n                        | n                         | n                    |
/// | broadcast      | n (read at the root)     | n                         | n                    |
/// | allgather      | part `rank` of n         | n                         | n, own part filled   |
/// | reduce_scatter | n                        | part `rank` of n          | n, own part results  |
struct Arguments {
  std::optional<Block> input;
  Block output;
  Op op = Op::sum;
  int root = 0;
  Accumulate accumulate = Accumulate::native;
};

/// Runs `algorithm` on this rank of `channel`. Throws Error(usage), before any data moves, for an
/// op that the collective or the dtype does not support (average of integers, replace in a
/// reduction, a root outside the world) and for counts that do not fit.
void run(const Algorithm& algorithm, Channel& channel, const Arguments& arguments);

/// In place on `data`.
inline void run(const Algorithm& algorithm, Channel& channel, Block data, Op op = Op::sum,
                int root = 0) {
  run(algorithm, channel, Arguments{std::nullopt, data, op, root, Accumulate::native});
}

/// Throws Error(usage) if the combination is not supported; run() calls it.
void check_supported(Collective collective, DType dtype, Op op, int root, int size);

}  // namespace tutti
