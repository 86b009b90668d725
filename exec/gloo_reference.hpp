// The reference: the same collectives by libtorch's c10d over gloo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/catalogue.hpp"

namespace tutti {

/// One collective for gloo to do: in place on `data[rank]`, each of the same count and dtype, all
/// in memory shared between processes (World::allocate). Results are where the catalogue says, and
/// the rest of the buffers is unspecified. reduce_scatter is done by gloo's allreduce of the whole
/// buffer, of which part `rank` counts; alltoall needs a count that the ranks divide. op is sum,
/// product, min or max.
struct GlooCase {
  Collective collective = Collective::allreduce;
  Op op = Op::sum;
  int root = 0;
  std::vector<Block> data;
};

/// True where this build has libtorch and gloo.
bool gloo_available();

/// True for the dtypes that c10d's gloo knows: all but bfloat16.
bool gloo_supports(DType dtype);

/// Runs the cases one after another in `ranks` forked processes that form one process group. Throws
/// Error with gloo's message if it fails, Error(usage) where !gloo_available(), and Error as
/// ForkWorld does where a rank dies, or a wait of one or a stop takes longer than
/// `timeout_seconds`.
void run_gloo(int ranks, const std::vector<GlooCase>& cases, double timeout_seconds = 30.0);

/// Times one case as the benchmark does: `warmup` then `iterations` runs with the same input; the
/// time of each iteration in seconds, the slowest rank's.
std::vector<double> time_gloo(int ranks, const GlooCase& gloo_case, int warmup, int iterations,
                              double timeout_seconds = 30.0);

}  // namespace tutti
