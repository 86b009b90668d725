// The direct family: every rank talks to every other itself. The first three post everything at
// once, so that one message's latency is all they wait for; what a rank receives still shares its
// port.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Every rank sends part j to rank j and folds what it gets for its own part in the order x[0],
/// x[1], ..., x[N-1], each as soon as it and those before it are there: the order of
/// allreduce_naive, to the bit. Needs (N-1)/N n of scratch, where everything may arrive at once.
/// Steps 1; bytes sent n - part(r); time a + (N-1)/N n (b + g). The first half of Open MPI's and
/// DeepSpeed's one-node allreduce.
void reduce_scatter_direct(Channel& channel, const Parts& data, Op op);

/// Every rank sends its part to all others. Steps 1; bytes sent (N-1) part(r), which is (N-1)/N n
/// where N divides n; time a + (N-1)/N n b.
void allgather_direct(Channel& channel, const Parts& data);

/// reduce_scatter_direct, then allgather_direct. Steps 2; bytes sent n + (N-2) part(r); time
/// 2a + 2(N-1)/N n b + (N-1)/N n g.
void allreduce_direct(Channel& channel, Block data, Op op);

/// In step s (from 1) rank r sends part r + s to rank r + s and folds what comes from rank r - s
/// into its own. Invariant: after step s part r holds the contributions of ranks r, r - 1, ...,
/// r - s, folded in this order. No scratch. Steps N - 1; bytes sent n - part(r); time (N-1) (a +
/// n/N (b + g)). Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations
/// in MPICH", IJHPCA 2005.
void reduce_scatter_pairwise(Channel& channel, const Parts& data, Op op);

}  // namespace tutti
