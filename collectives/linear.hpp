// The linear family: one rank talks to all others in turn. The baseline that shows why the rest
// exist.
#pragma once

#include "collectives/channel.hpp"

namespace tutti {

/// The root sends to root + 1, root + 2, ... in turn. Invariant: after i messages the i ranks after
/// the root hold the data. Steps N - 1; bytes sent (N-1) n by the root; time (N-1) (a + n b).
void broadcast_linear(Channel& channel, Block data, int root);

/// Everything to rank 0, which folds x[0], x[1], x[2], ... in this order, and back by
/// broadcast_linear. Steps 2(N-1); bytes sent (N-1) n by rank 0, n by the others;
/// time 2(N-1) (a + n b) + (N-1) n g.
void allreduce_naive(Channel& channel, Block data, Op op);

}  // namespace tutti
