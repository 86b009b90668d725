// The tree family: binomial broadcast and reduce, and allreduce as one after the other.
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005.
#pragma once

#include "collectives/channel.hpp"

namespace tutti {

/// With v = (r - root) mod N: in round k (from 0) every v < 2^k sends to v + 2^k, where that
/// exists. Invariant: before round k the ranks v < 2^k hold the data. Steps L = ceil(log2 N); bytes
/// sent n per child; time L (a + n b).
void broadcast_binomial(Channel& channel, Block data, int root);

/// The mirror image: in rounds k = L-1, ..., 0 every v in [2^k, 2^(k+1)) sends to v - 2^k, which
/// folds what it receives into its own. Invariant: before round k, the ranks v < 2^(k+1) hold
/// together each contribution once. Other ranks' data is unspecified at the end.
/// Steps L; bytes sent n, the root's 0; time L (a + n (b + g)).
void reduce_binomial(Channel& channel, Block data, Op op, int root);

/// reduce_binomial to rank 0, then broadcast_binomial from it; unpipelined. Steps 2L; bytes sent n
/// and n per child; time 2L (a + n b) + L n g.
void allreduce_tree(Channel& channel, Block data, Op op);

}  // namespace tutti
