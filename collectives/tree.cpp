#include "collectives/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/cyclic.hpp"

namespace tutti {
namespace {

// A rank's place in the binomial tree over v = (rank - root) mod size.
class BinomialTree {
 public:
  BinomialTree(const Channel& channel, int root)
      : root_(root), size_(channel.size()), v_((channel.rank() - root + size_) % size_) {
    check(root >= 0 && root < size_, "binomial tree: root {} is not a rank of a world of {}", root,
          size_);
  }

  bool is_root() const { return v_ == 0; }

  /// The highest bit of v is the round in which the parent reaches it; -1 at the root.
  int arrival_round() const { return is_root() ? -1 : floor_log2(v_); }

  int parent() const { return rank_of(v_ - (1 << arrival_round())); }
  bool has_child(int round) const { return v_ + (1 << round) < size_; }
  int child(int round) const { return rank_of(v_ + (1 << round)); }

 private:
  int rank_of(int v) const { return (v + root_) % size_; }

  int root_;
  int size_;
  int v_;
};

// A rank's place in the binomial tree whose subtrees are ranges: v's parent is v less its lowest
// set bit, so that v's subtree is [v, v + that bit), cut off at the size.
class RangeTree {
 public:
  RangeTree(const Channel& channel, int root)
      : root_(root), size_(channel.size()), v_((channel.rank() - root + size_) % size_) {
    check(root >= 0 && root < size_, "range tree: root {} is not a rank of a world of {}", root,
          size_);
  }

  /// Rounds in which this rank has a child; the parent is at distance 2^height().
  int height() const {
    int height = 0;
    while ((1 << height) < size_ && (v_ >> height) % 2 == 0) ++height;
    return height;
  }

  bool is_root() const { return v_ == 0; }
  int rank() const { return rank_of(v_); }
  int parent() const { return rank_of(v_ - (1 << height())); }
  bool has_child(int round) const { return v_ + (1 << round) < size_; }
  int child(int round) const { return rank_of(v_ + (1 << round)); }

  /// Ranks in the own subtree, and in that of a child.
  int length() const { return std::min(1 << height(), size_ - v_); }
  int child_length(int round) const { return std::min(1 << round, size_ - v_ - (1 << round)); }

 private:
  int rank_of(int v) const { return (v + root_) % size_; }

  int root_;
  int size_;
  int v_;
};

}  // namespace

void broadcast_binomial(Channel& channel, Block data, int root) {
  const int rounds = ceil_log2(channel.size());
  const Operation operation(channel, "broadcast_binomial", data, Op::replace, rounds, root);
  const BinomialTree tree(channel, root);
  if (!tree.is_root()) channel.recv(tree.parent(), data);
  for (int round = tree.arrival_round() + 1; round < rounds; ++round) {
    if (tree.has_child(round)) channel.send(tree.child(round), data);
  }
}

int knomial_rounds(int ranks, int radix) {
  check(radix >= 2, "k-nomial tree: radix {}, expected at least 2", radix);
  int rounds = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= radix) ++rounds;
  return rounds;
}

void broadcast_knomial(Channel& channel, Block data, int root, int radix) {
  const int rank = channel.rank(), size = channel.size(), k = knomial_radix(radix);
  check(root >= 0 && root < size, "broadcast_knomial: root {} is not a rank of a world of {}", root,
        size);
  const Operation operation(channel, "broadcast_knomial", data, Op::replace,
                            knomial_rounds(size, k), root);
  const int v = (rank - root + size) % size;
  const auto rank_of = [&](std::int64_t other) { return static_cast<int>((other + root) % size); };
  // `distance` is k^s in round s: so many ranks hold the data.
  for (std::int64_t distance = 1; distance < size; distance *= k) {
    if (v >= distance && v / k < distance) channel.recv(rank_of(v % distance), data);
    if (v >= distance || v + distance >= size) continue;
    channel.next_step();
    std::vector<Request> sends;
    for (std::int64_t i = 1; i < k && v + i * distance < size; ++i) {
      sends.push_back(channel.isend(rank_of(v + i * distance), data));
    }
    for (const Request send : sends) channel.wait(send);
  }
}

void reduce_binomial(Channel& channel, Block data, Op op, int root) {
  const int rounds = ceil_log2(channel.size());
  const Operation operation(channel, "reduce_binomial", data, op, rounds, root);
  const BinomialTree tree(channel, root);
  for (int round = rounds - 1; round > tree.arrival_round(); --round) {
    if (tree.has_child(round)) channel.recv(tree.child(round), data, op);
  }
  if (!tree.is_root()) channel.send(tree.parent(), data);
}

void gather_binomial(Channel& channel, const Parts& data, int root) {
  const Operation operation(channel, "gather_binomial", data.whole(), Op::replace,
                            ceil_log2(channel.size()), root);
  const RangeTree tree(channel, root);
  for (int round = 0; round < tree.height(); ++round) {
    if (!tree.has_child(round)) continue;
    channel.next_step();
    const int child = tree.child(round);
    CyclicTransfer::receive(channel, child, data, child, tree.child_length(round)).wait(channel);
  }
  if (tree.is_root()) return;
  channel.next_step();
  CyclicTransfer::send(channel, tree.parent(), data, tree.rank(), tree.length()).wait(channel);
}

void scatter_binomial(Channel& channel, const Parts& data, int root) {
  const Operation operation(channel, "scatter_binomial", data.whole(), Op::replace,
                            ceil_log2(channel.size()), root);
  const RangeTree tree(channel, root);
  if (!tree.is_root()) {
    channel.next_step();
    CyclicTransfer::receive(channel, tree.parent(), data, tree.rank(), tree.length()).wait(channel);
  }
  for (int round = tree.height() - 1; round >= 0; --round) {
    if (!tree.has_child(round)) continue;
    channel.next_step();
    const int child = tree.child(round);
    CyclicTransfer::send(channel, child, data, child, tree.child_length(round)).wait(channel);
  }
}

void allreduce_tree(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_tree", data, op, 2 * ceil_log2(channel.size()));
  reduce_binomial(channel, data, op, 0);
  broadcast_binomial(channel, data, 0);
}

}  // namespace tutti
