// The recursive family: partners at distances 1, 2, 4, ...
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005.
#pragma once

#include <vector>

#include "collectives/channel.hpp"

namespace tutti {

/// With P = 2^k the largest power of two <= N and m = N - P: first each even rank below 2m gives
/// its data to the next odd one, which takes part for both; then the P that take part exchange and
/// fold everything with partners at distance 1, 2, 4, ...; at last the odd ranks below 2m return
/// the result. Invariant: before round s all ranks of a group of 2^s hold the same fold of the
/// group's contributions, to the bit, since every op is commutative to the bit. Steps k, and 2 more
/// where m > 0; bytes sent k n (n if it takes no part, (k+1) n if it does for two); time k (a + n
/// (b + g)), and 2 (a + n b) + n g more where m > 0.
void allreduce_recursive_doubling(Channel& channel, Block data, Op op);

inline constexpr int default_exchange_radix = 4;

/// The radices of allreduce_recursive_multiplying's rounds: `radix` (0: default_exchange_radix) as
/// often as their product does not exceed `ranks`, then once what still fits, if that is above 1.
/// Their product is more than half of `ranks`.
std::vector<int> exchange_radices(int ranks, int radix);

/// The generalisation of recursive doubling to radices k1, k2, ..., whose product P may leave a
/// surplus m = N - P, treated likewise. In a round of radix k, groups of k participants at distance
/// d (the product of the radices before) send their data to each other all at once; each folds the
/// group's k in the order of their numbers, so that all get the same bits (without that they would
/// not: https://github.com/pmodels/mpich/pull/6538). Invariant: before a round all participants of
/// a group of d hold the same fold of the group's contributions. Needs (k-1) n of scratch. Steps:
/// rounds R, and 2 more where m > 0; bytes sent sum (k_i - 1) n (n if surplus, n more for who takes
/// part for two); time R a + sum (k_i - 1) n (b + g), and 2(a + n b) + n g more where m > 0.
/// Ruefenacht, Bull and Booth, "Generalisation of recursive doubling for AllReduce", EuroMPI 2016.
void allreduce_recursive_multiplying(Channel& channel, Block data, Op op, int radix = 0);

}  // namespace tutti
