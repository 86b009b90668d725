// The exchange family: in each step every rank trades parts with one partner.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Even N only (programmer error otherwise, but for N = 1). Pair j is ranks and parts 2j and 2j
/// + 1. First the two of each pair exchange their parts; then every rank trades in turn with its
/// neighbour outside the pair and the one inside, each time passing on the pair of parts that it
/// got last. Invariant: after step s (from 1) a rank holds 2s parts: the pairs from which its own
/// is reached in fewer than s such steps. Steps N/2; bytes sent (N-1)/N n; time N/2 a + (N-1)/N n
/// b. Chen, Zhang, Zhang and Yuan, "Performance evaluation of allgather algorithms on terascale
/// Linux cluster with fast Ethernet", HPC Asia 2005.
void allgather_neighbor_exchange(Channel& channel, const Parts& data);

/// In step s (from 1) rank r sends to r + s and receives from r - s. Invariant: after step s, the
/// parts from r, r - 1, ..., r - s have arrived. Steps N - 1; bytes sent n - part(r); time
/// (N-1) (a + n/N b) + n/N g. Thakur, Rabenseifner and Gropp, IJHPCA 2005.
void alltoall_pairwise(Channel& channel, const Parts& data, const Parts& source);

}  // namespace tutti
