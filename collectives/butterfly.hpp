// The butterfly family: in log2 P steps, each halving or doubling what a rank holds, with partners
// that differ from one algorithm to the other. P ranks take part, 2^k for most; the surplus m = N -
// P ranks are folded in first and out last (collectives/participants.hpp).
#pragma once

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Who meets whom. Participants p < P; step 0 of a reduce_scatter exchanges the most.
struct Butterfly {
  /// The partner of `participant` in `step`, whose partner it is in turn.
  int (*peer)(int participant, int step, int participants);

  /// The number of the part that a participant ends with, where that is chosen so that all it keeps
  /// is one run of parts: after step s, those that agree with this number in the first s + 1 of k
  /// bits. Null: participant p ends with part p, and what it keeps may lie scattered.
  int (*place)(int participant, int rounds) = nullptr;

  /// Whether P may be any even number; otherwise it is a power of two.
  bool any_even = false;

  /// P: as many of `size` ranks as possible.
  int participants(int size) const;

  /// How many messages one of `participants` sends or receives in all steps of a reduce_scatter or
  /// an allgather, at most: a run of parts is one.
  int messages(int participants) const;
};

/// Partners at distance P/2, P/4, ..., 1; participant p ends with part p.
extern const Butterfly recursive_halving;

/// Rabenseifner's: partners at distance 1, 2, ..., P/2, so that the largest messages travel to the
/// nearest rank; participant p ends with the part whose number is p with its bits reversed.
extern const Butterfly distance_doubling;

/// Even p meets p + rho(s), odd p meets p - rho(s), modulo P, where rho(s) = (1 - (-2)^(s+1)) / 3 =
/// 1, -1, 3, -5, ...; participant p ends with part p. P is even: after ceil(log2 P) steps everybody
/// has reached everybody, some more than once where P is no power of two.
extern const Butterfly swing;

/// The same partners; participant p ends with part nu(p): with v = p for odd, -p for even p and b
/// the last k bits of v in base -2, nu(p) is (b xor b/2) with its bits reversed.
extern const Butterfly bine;

/// Invariant (all of the family): before step s a participant holds, of the parts of everybody whom
/// it will still reach, the fold of all whom it has reached; the others it has given away. A part
/// that both partners will still reach stays where it is, so that it is given away but once.
/// Partners at distance P/2, ..., 1. Steps k, and 2 more where m > 0; bytes sent n - part(r) (n if
/// surplus); time k a + (P-1)/P n (b + g), and 2a + n (b + g) + n/N b more where m > 0. Thakur,
/// Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
void reduce_scatter_recursive_halving(Channel& channel, const Parts& data, Op op);

/// The mirror image, at distance 1, 2, ..., P/2. Steps k, and 2 more where m > 0; bytes sent
/// (P-1)/P n, and n more for who takes part for two; time k a + (P-1)/P n b, and 2a + (n/N + n) b
/// more where m > 0. Same source.
void allgather_recursive_doubling(Channel& channel, const Parts& data);

/// Reduce_scatter and its mirror image, the allgather, over P parts by the same butterfly. Steps
/// 2k, and 2 more where m > 0; bytes sent 2(P-1)/P n (n if surplus, n more for who takes part for
/// two); time 2k a + 2(P-1)/P n b + (P-1)/P n g, and 2(a + n b) + n g more where m > 0.
/// Rabenseifner, "Optimization of collective reduction operations", ICCS 2004: vector halving with
/// distance doubling, then vector doubling with distance halving.
void allreduce_rabenseifner(Channel& channel, Block data, Op op);

/// Likewise with the partners of De Sensi et al., "Swing: short-cutting rings for higher bandwidth
/// allreduce", NSDI 2024: its bandwidth-optimal form on a one-dimensional torus, for even N; of an
/// odd N one rank is surplus. Steps 2 ceil(log2 P), and 2 more where m > 0. A step's runs of parts
/// are messages that travel at once.
void allreduce_swing(Channel& channel, Block data, Op op);

/// Likewise, De Sensi et al., "Bine trees: enhancing collective operations by optimizing
/// communication locality", SC 2025: the distance-doubling Bine butterfly with remapped parts
/// (bine_bdw_remap in the authors' library). The partners are Swing's; owning part nu(p) makes
/// every step one message.
void allreduce_bine(Channel& channel, Block data, Op op);

}  // namespace tutti
