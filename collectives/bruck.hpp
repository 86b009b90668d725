// The Bruck family: ceil(log2 N) steps at distances 2^k, for any N. Bruck, Ho, Kipnis, Upfal and
// Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", IEEE TPDS 1997.
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// In step k (from 0) rank r sends parts r, ..., r + 2^k - 1 to r - 2^k, or as many as that still
/// lacks. Invariant: before step k rank r holds parts r, ..., r + 2^k - 1. Nothing is rotated: a
/// range that wraps around the last part travels as two messages posted at once. Steps L; bytes
/// sent (N-1)/N n; time L a + (N-1)/N n b.
void allgather_bruck(Channel& channel, const Parts& data);

/// Data for the rank d further on travels in one hop of 2^k for every bit k of d, the lowest first.
/// Invariant: before step k, part r - d of rank r holds what left rank r - (d mod 2^k) for rank
/// r - (d mod 2^k) + d, for every d whose bits below k are not all zero. Equal parts only, since a
/// rank passes on what it knows no size of: programmer error otherwise. Steps L; with c(k) of the
/// numbers below N having bit k, bytes sent c(k) n/N in step k, packed into one message where c(k)
/// is above 1: at most L/2 n in total; time at most L a + L/2 n (b + 2g) + n/N g.
void alltoall_bruck(Channel& channel, const Parts& data, const Parts& source);

/// PAT, parallel aggregated trees (Jeaugey, arXiv 2506.20252), in its form with buffers as large as
/// the data and logarithmic steps: Bruck's with the distances reversed, so that the farthest
/// partners get the smallest messages. In steps k = L-1, ..., 0 rank r sends all parts it holds to
/// r + 2^k, but those that would come round to where they began, packed into one message.
/// Invariant: before step k rank r holds the parts r - d, for every multiple d < N of 2^(k+1).
/// Steps L; bytes sent (N-1)/N n; time at most L a + (N-1)/N n b + 2(N-2)/N n g, a single part not
/// being packed.
void allgather_pat(Channel& channel, const Parts& data);

/// allgather_pat backwards: in steps k = 0, ..., L-1 rank r sends its folds of the parts r - d, d
/// an odd multiple of 2^k below N, to r - 2^k. Invariant: before step k, part r - d of rank r holds
/// for every multiple d < N of 2^k the fold of the contributions of the ranks r + j with j < 2^k
/// and d + j < N; at the end part r is complete. Steps L; bytes sent (N-1)/N n; time at most L a +
/// (N-1)/N n b + (2N-3)/N n g, a single part not being packed.
void reduce_scatter_pat(Channel& channel, const Parts& data, Op op);

/// In round k rank r tells r + 2^k, and hears from r - 2^k, with a ghost of one byte. Invariant:
/// after round k rank r knows that r, r - 1, ..., r - 2^(k+1) + 1 have entered. Steps L; bytes sent
/// L; time L (a + b). Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization",
/// 1988.
void barrier_dissemination(Channel& channel);

}  // namespace tutti
