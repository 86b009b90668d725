// plan_of(): the plan of one use of a catalogued algorithm, with what it has to keep.
#pragma once

#include "collectives/catalogue.hpp"
#include "collectives/plan.hpp"
#include "collectives/proof.hpp"

namespace tutti {

/// The algorithm through run(), in place on buffer 0 (alltoall: out of buffer 1 into buffer 0),
/// with float32 elements and sums; matched, and free of deadlock. Throws Error(usage) for a problem
/// that it does not support.
Plan plan_of(const Algorithm& algorithm, const Problem& problem);

/// What such a plan promises.
Promise promise_of(const Algorithm& algorithm, const Problem& problem);

}  // namespace tutti
