// The pipeline family: a block in segments that travel through trees, one level a step. One walker
// serves chains, binary trees, split and double ones.
#pragma once

#include <vector>

#include "collectives/channel.hpp"

namespace tutti {

/// A rank's place in a tree over all or some ranks. Outside the tree it has no parent and no
/// children.
struct TreePlace {
  int parent = -1;  ///< -1 at the root.
  std::vector<int> children = {};
  int depth = 0;   ///< Hops from the root.
  int height = 0;  ///< The largest depth of any rank.
};

/// The chain root, root + 1, ..., root - 1. Height N - 1.
TreePlace chain_place(int rank, int size, int root);

/// The binary tree in which v = (r - root) mod N has the children 2v + 1 and 2v + 2. Height
/// floor(log2 N).
TreePlace binary_place(int rank, int size, int root);

/// The tree through which half `half` (0 or 1) of the data travels in broadcast_split_binary: below
/// the root a binary tree as above over v = 1, ..., ceil((N-1)/2) for the first half, over the rest
/// for the second.
TreePlace split_binary_place(int rank, int size, int root, int half);

/// Tree `which` (0 or 1) of the two of allreduce_double_tree: NCCL's (src/graph/trees.cc). In the
/// first, rank 0 is the root with one child, and r > 0 with lowest set bit b has the children r -
/// b/2 and r + b/2 (or the nearest below N on that side), so that odd ranks are leaves. The second
/// is its mirror image (r as N-1-r) for even N, and the first shifted (r as r - 1) for odd N. Over
/// both a rank has at most two children: it is an inner node in at most one of them, but for rank 0
/// of an odd N, which may have one child in each. Height ceil(log2 N).
TreePlace double_tree_place(int rank, int size, int which);

/// The number of segments: `segments`, or where that is 0 twice the levels that a segment passes,
/// so that filling and draining the pipeline costs about half of the time for large blocks; at
/// least 1.
int segments_of(int segments, int levels);

/// In all that follows, with D the tree's height and m segments the largest of which has s bytes:
/// in step t (from 0) a rank at depth d passes segment t - d to its children while segment
/// t - d + 1 arrives (up: t - (D - d) to its parent while t - (D - d) + 1 of its children arrive
/// and are folded into its own). Invariant: before step t the ranks at depth d hold the segments
/// below t - d + 1 (up: have those below t - (D - d) + 1 folded over their subtree).

/// Down a chain. Steps N - 2 + m; bytes sent n, by the last 0; time (N-2) (a + s b) + m a + n b.
void broadcast_chain(Channel& channel, Block data, int root, int segments = 0);

/// Down binary_place's tree, both children at once. Steps m + D - 1; bytes sent n a child; time at
/// most (m + D - 1) (a + 2s b).
void broadcast_binary(Channel& channel, Block data, int root, int segments = 0);

/// Each half down a tree of its own, then exchanged between v and v + ceil((N-1)/2); for even N one
/// rank has no partner and gets its second half from the root. Steps m + D; bytes sent at most
/// 3/2 n; time at most (m + D - 1) (a + 2s b) + a + n/2 b, s of a half. Open MPI,
/// coll_base_bcast.c.
void broadcast_split_binary(Channel& channel, Block data, int root, int segments = 0);

/// Up a chain, folding x[root-1] first and x[root] last. Steps N - 2 + m; bytes sent n, the root's
/// 0; time (N-2) (a + s (b + g)) + m a + n (b + g). Other ranks' data is unspecified at the end.
void reduce_chain(Channel& channel, Block data, Op op, int root, int segments = 0);

/// reduce_chain to rank 0, then broadcast_chain from it. Steps and time are the sums.
void allreduce_chain(Channel& channel, Block data, Op op, int segments = 0);

/// Each half up and down a tree of its own, both at once; a segment goes down as soon as it has
/// reached the root. Steps m + 2D - 1; bytes sent at most 2n; time at most
/// (m + 2D - 1) (a + 4s b + 2s g), s of a half, which tends to 2n b + n g for many segments. A
/// node folds its first child into its own, then the second. Sanders, Speck and Traeff,
/// "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 2009.
void allreduce_double_tree(Channel& channel, Block data, Op op, int segments = 0);

}  // namespace tutti
