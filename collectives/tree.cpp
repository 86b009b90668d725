#include "collectives/tree.hpp"

#include "collectives/closed_form.hpp"

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

void reduce_binomial(Channel& channel, Block data, Op op, int root) {
  const int rounds = ceil_log2(channel.size());
  const Operation operation(channel, "reduce_binomial", data, op, rounds, root);
  const BinomialTree tree(channel, root);
  for (int round = rounds - 1; round > tree.arrival_round(); --round) {
    if (tree.has_child(round)) channel.recv(tree.child(round), data, op);
  }
  if (!tree.is_root()) channel.send(tree.parent(), data);
}

void allreduce_tree(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_tree", data, op, 2 * ceil_log2(channel.size()));
  reduce_binomial(channel, data, op, 0);
  broadcast_binomial(channel, data, 0);
}

}  // namespace tutti
