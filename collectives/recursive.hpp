// The recursive family: partners at distances 1, 2, 4, ...
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 2005.
#pragma once

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

}  // namespace tutti
