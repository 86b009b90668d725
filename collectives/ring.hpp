// The ring family: reduce_scatter and allgather around a ring, and allreduce as one after the
// other. Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 2009.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Which way round, and in which parts.
struct RingOrder {
  int direction = 1;  ///< +1: rank r sends to r + 1; -1: to r - 1.
  Partition partition = Partition::balanced;
};

/// gloo's: with it, allreduce_ring folds every element in the order of gloo's ring allreduce and
/// gives the same bits.
inline constexpr RingOrder gloo_ring_order{-1, Partition::gloo};

/// Invariant: before step s (from 1), part (r - s) of rank r holds the fold of its own contribution
/// and those of the s - 1 ranks before it; at the end part r is complete on rank r. (For direction
/// -1, read + for - and "after" for "before".) Element order: x[c+1], x[c+2] + that, ..., x[c]
/// last. Steps N - 1; bytes sent n - part(r); time (N-1) (a + n/N (b + g)).
void reduce_scatter_ring(Channel& channel, const Parts& data, Op op, int direction = 1);

/// Invariant: before step s (from 1), rank r holds parts r, r - 1, ..., r - s + 1; at the end all.
/// Steps N - 1; bytes sent n - part(r + 1); time (N-1) (a + n/N b).
void allgather_ring(Channel& channel, const Parts& data, int direction = 1);

/// reduce_scatter_ring, then allgather_ring. Steps 2(N-1); bytes sent 2n - part(r) - part(r + 1),
/// which is 2(N-1)/N n where N divides n; time 2(N-1) (a + n/N b) + (N-1)/N n g.
void allreduce_ring(Channel& channel, Block data, Op op, RingOrder order = {});

inline constexpr int default_ring_segments = 4;

/// allreduce_ring, every part of it in m = `segments` (0: default_ring_segments) pieces, with two
/// receives in flight, so that a piece is reduced while the next one arrives. Message t carries
/// piece t mod m of step t / m; a rank passes on in message t + m what came in message t.
/// Invariant: at that moment messages 0, ..., t are folded in and t + 1 is in flight. Folds in the
/// order of allreduce_ring, to the bit. Steps (N-1) m, or 2(N-1) for m = 1; bytes sent as
/// allreduce_ring; time for m > 1, with M = (N-1) m pieces of p = n/(N m) bytes a pass, at most
/// 2a + 2p b + p g + (M-1) (max(a/2 + p b, p g, (a + p (b + g))/2) + a/2 + p b), the two pieces
/// under way sharing a port.
/// Open MPI's ring_segmented; gloo's ring.
void allreduce_ring_segmented(Channel& channel, Block data, Op op, int segments = 0);

}  // namespace tutti
