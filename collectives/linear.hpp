// The linear family: one rank talks to all others, in turn or at once. The baseline that shows why
// the rest exist.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// The root sends to root + 1, root + 2, ... in turn. Invariant: after i messages the i ranks after
/// the root hold the data. Steps N - 1; bytes sent (N-1) n by the root; time (N-1) (a + n b).
void broadcast_linear(Channel& channel, Block data, int root);

/// The root receives from root + 1, root + 2, ... in turn and folds. Invariant: after i messages
/// the root holds x[root], x[root+1], ..., x[root+i], folded in this order; other ranks' data stays
/// as it is. Steps N - 1; bytes sent n, the root's 0; time (N-1) (a + n b + n g).
void reduce_linear(Channel& channel, Block data, Op op, int root);

/// The root receives all other ranks' parts at once. Steps 1; bytes sent part(r), the root's 0;
/// time at most a + (N-1)/N n b, since what the root receives at once shares its port.
void gather_linear(Channel& channel, const Parts& data, int root);

/// The root sends all other ranks their parts at once. Steps 1; bytes sent n - part(r) by the root;
/// time as gather_linear.
void scatter_linear(Channel& channel, const Parts& data, int root);

/// Every rank sends and receives everything at once, and copies its own part. Steps 1; bytes sent
/// n - part(r); time at most a + (N-1)/N n b + n/N g.
void alltoall_linear(Channel& channel, const Parts& data, const Parts& source);

/// Everything to rank 0, which folds x[0], x[1], x[2], ... in this order, and back by
/// broadcast_linear. Steps 2(N-1); bytes sent (N-1) n by rank 0, n by the others;
/// time 2(N-1) (a + n b) + (N-1) n g.
void allreduce_naive(Channel& channel, Block data, Op op);

}  // namespace tutti
