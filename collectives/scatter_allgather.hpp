// The scatter-allgather family: broadcast for large blocks, in which the root sends everything
// once. Barnett, Gupta, Payne, Shuler, van de Geijn and Watts, "Interprocessor collective
// communication library (InterCom)", SHPCC 1994; Thakur, Rabenseifner and Gropp, IJHPCA 2005.
#pragma once

#include "collectives/channel.hpp"

namespace tutti {

/// Both: scatter_binomial, then an allgather, over v = (r - root) mod N, to whom part v belongs.
/// Invariant: after the scatter v holds part v; after the allgather all parts.

/// With allgather_ring. Steps L + N - 1; bytes sent (N-1)/N n and those of the subtree but the own
/// part; time L a + (N-1)/N n b + (N-1) (a + n/N b).
void broadcast_scatter_ring(Channel& channel, Block data, int root);

/// With allgather_recursive_doubling. Steps L + log2 N, or as that one's where N is no power of
/// two; time L a + (N-1)/N n b and that one's.
void broadcast_scatter_recursive_doubling(Channel& channel, Block data, int root);

}  // namespace tutti
