// The tree family: binomial broadcast, reduce, gather and scatter, the k-nomial broadcast, and
// allreduce as reduce and broadcast one after the other.
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// With v = (r - root) mod N: in round k (from 0) every v < 2^k sends to v + 2^k, where that
/// exists. Invariant: before round k the ranks v < 2^k hold the data. Steps L = ceil(log2 N); bytes
/// sent n per child; time L (a + n b).
void broadcast_binomial(Channel& channel, Block data, int root);

/// The radix that broadcast_knomial takes for `radix`: itself, or 4 where it is 0.
constexpr int knomial_radix(int radix) {
  return radix == 0 ? 4 : radix;
}

/// The smallest L with radix^L >= ranks, for a radix of at least 2.
int knomial_rounds(int ranks, int radix);

/// With v = (r - root) mod N and radix k >= 2: in round s (from 0) every v < k^s sends to v + k^s,
/// v + 2 k^s, ..., v + (k-1) k^s, where those exist, all at once. Invariant: before round s the
/// ranks v < k^s hold the data. Steps L = the smallest with k^L >= N; bytes sent n per child; time
/// at most L a + (k-1) L n b, since what a rank sends at once shares its port.
void broadcast_knomial(Channel& channel, Block data, int root, int radix = 0);

/// The mirror image of broadcast_binomial: in rounds k = L-1, ..., 0 every v in [2^k, 2^(k+1))
/// sends to v - 2^k, which folds what it receives into its own. Invariant: before round k, the
/// ranks v < 2^(k+1) hold together each contribution once. Other ranks' data is unspecified at the
/// end. Steps L; bytes sent n, the root's 0; time L (a + n (b + g)).
void reduce_binomial(Channel& channel, Block data, Op op, int root);

/// With v = (r - root) mod N: in round k (from 0) every v whose lowest set bit is 2^k sends its
/// subtree's parts to v - 2^k. Invariant: before round k every v that is a multiple of 2^k holds
/// the parts of v, v + 1, ..., v + 2^k - 1, where those exist. For a root other than 0 that range
/// may wrap around the last rank; it then travels as two messages posted at once. Steps L; bytes
/// sent are those of the subtree's parts; time L a + (N-1)/N n b, or less where ranges wrap around.
void gather_binomial(Channel& channel, const Parts& data, int root);

/// The mirror image: in rounds k = L-1, ..., 0 every v that is a multiple of 2^(k+1) sends the
/// parts of v + 2^k and its subtree there. Invariant: after round k every v that is a multiple of
/// 2^k holds the parts of v, ..., v + 2^k - 1. Other parts than the own are unspecified at the end.
/// Steps and time as gather_binomial; bytes sent are those of the subtree's parts but the own.
void scatter_binomial(Channel& channel, const Parts& data, int root);

/// reduce_binomial to rank 0, then broadcast_binomial from it; unpipelined. Steps 2L; bytes sent n
/// and n per child; time 2L (a + n b) + L n g.
void allreduce_tree(Channel& channel, Block data, Op op);

}  // namespace tutti
