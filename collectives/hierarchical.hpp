// The hierarchical family: ranks in groups of consecutive ones, a collective of its own within each
// group and one between the groups, so that slow links between groups carry the least.
#pragma once

#include <span>
#include <vector>

#include "collectives/catalogue.hpp"

namespace tutti {

/// The ranks of one group that hierarchical algorithms form where nothing else is wanted: the
/// largest divisor of `ranks` up to its square root.
int default_group(int ranks);

/// What the levels of allreduce_hierarchical run: algorithms of these collectives.
struct AllreduceLevels {
  const Algorithm& reduce_scatter;  ///< Inner.
  const Algorithm& allreduce;       ///< Outer.
  const Algorithm& allgather;       ///< Inner.
};

/// For all of these: N = g K ranks in K groups of `group` = g consecutive ones (programmer error
/// unless g divides N). Rank r is number i = r mod g of group r / g; the ranks of the same number
/// are the K of an outer collective. Any algorithm that supports g ranks serves as the inner level,
/// any that supports K as the outer one; they run with their default tuning. Steps, bytes and time
/// are the sums of those of the levels.

/// Reduce_scatter in g parts within the groups; allreduce of part i between the groups; allgather
/// within the groups. With rings: steps 2(g-1) + 2(K-1); bytes sent 2(N-1)/N n, of which 2(K-1)/K
/// n/g between groups; time 2(g-1) (a + n/g b) + 2(K-1) (a + n/N b) + (N-1)/N n g.
/// Mikami et al., "Massively distributed SGD", 2018; NCCL; Open MPI's HAN.
void allreduce_hierarchical(Channel& channel, Block data, Op op, int group,
                            const AllreduceLevels& levels);

/// From the root to the ranks of its number, and from each of them to its group. With binomial
/// trees: steps L(K) + L(g), L = ceil(log2); bytes sent n for each child; time (L(K) + L(g)) (a + n
/// b).
void broadcast_hierarchical(Channel& channel, Block data, int root, int group,
                            const Algorithm& inner, const Algorithm& outer);

/// Between the groups, parts i, i + g, i + 2g, ...; then within the groups, one group's parts after
/// the other. With rings: steps K-1 + K(g-1) = N-1; bytes sent (N-1)/N n, of which (K-1)/N n
/// between groups; time (N-1) (a + n/N b). An outer algorithm that needs adjacent parts
/// works in memory of its own: K n/N bytes are copied besides.
void allgather_hierarchical(Channel& channel, const Parts& data, int group, const Algorithm& inner,
                            const Algorithm& outer);

/// The mirror image: within the groups, one group's parts after the other; then between the groups,
/// parts i, i + g, ... With rings: steps N-1; bytes sent (N-1)/N n; time (N-1) (a + n/N (b + g)).
/// With an outer algorithm that needs adjacent parts, (K+1) n/N bytes are copied besides.
void reduce_scatter_hierarchical(Channel& channel, const Parts& data, Op op, int group,
                                 const Algorithm& inner, const Algorithm& outer);

/// The dimensions of allreduce_ring_multi: `group` first, unless it is 0, then the prime factors of
/// the rest in ascending order. Programmer error unless `group` divides `ranks`.
std::vector<int> ring_dimensions(int ranks, int group);

/// Ranks as the points of a grid, the first coordinate changing fastest; `dimensions` multiply to
/// N. A ring reduce_scatter along the first dimension, then along the second on the part that it
/// left,
/// ...; back with ring allgathers. Invariant: after dimension i a rank's part of n / (d_1 ... d_i)
/// is folded over all ranks that differ from it in the first i coordinates only. Steps 2 sum (d_i -
/// 1); bytes sent 2(N-1)/N n; time 2 sum (d_i - 1) a + 2(N-1)/N n b + (N-1)/N n g. Cho et al.,
/// "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy",
/// MLSys 2019.
void allreduce_ring_multi(Channel& channel, Block data, Op op, std::span<const int> dimensions);

}  // namespace tutti
