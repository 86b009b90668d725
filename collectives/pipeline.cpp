#include "collectives/pipeline.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "collectives/closed_form.hpp"
#include "collectives/local.hpp"

namespace tutti {
namespace {

enum class Travel : std::uint8_t { up, down, up_and_down };

// One rank's share in moving a block through one tree.
class Flow {
 public:
  Flow(Channel& channel, TreePlace place, Block data, int segments, Travel travel,
       Op op = Op::replace)
      : place_(std::move(place)), data_(data), segments_(segments), op_(op) {
    rises_ = travel != Travel::down;
    falls_ = travel != Travel::up;
    check(!rises_ || place_.children.size() <= 2, "pipeline: a node has more than two children");
    if (rises_ && place_.children.size() == 2) second_.emplace(channel, segment(0));
  }

  int steps() const {
    const int levels = place_.height * (rises_ && falls_ ? 2 : 1);
    return levels == 0 ? 0 : segments_ + levels - 1;
  }

  /// Starts everything of this step: from the children, to the parent, from it, to them. Between
  /// any two ranks that is at most one message each way.
  void post(Channel& channel, int step, std::vector<Request>& requests) const {
    const Block arriving = rising(step + 1);
    for (std::size_t i = 0; rises_ && i < place_.children.size(); ++i) {
      requests.push_back(i == 0 ? channel.irecv(place_.children[i], arriving, op_)
                                : channel.irecv(place_.children[i], second_part(arriving)));
    }
    if (place_.parent >= 0) {
      if (rises_) requests.push_back(channel.isend(place_.parent, rising(step)));
      if (falls_) requests.push_back(channel.irecv(place_.parent, falling(step + 1)));
    }
    for (std::size_t i = 0; falls_ && i < place_.children.size(); ++i) {
      requests.push_back(channel.isend(place_.children[i], falling(step)));
    }
  }

  /// When everything has arrived.
  void fold(Channel& channel, int step) const {
    if (!second_) return;
    const Block arrived = rising(step + 1);
    reduce_block(channel, arrived, second_part(arrived), op_);
  }

 private:
  // What this rank sends up, or down, in a step; it gets the same one step earlier.
  Block rising(int step) const { return segment(step - (place_.height - place_.depth)); }
  Block falling(int step) const {
    return segment(step - place_.depth - (rises_ ? place_.height : 0));
  }

  Block segment(int index) const {
    const bool exists = index >= 0 && index < segments_;
    return exists ? data_.part(index, segments_) : data_.slice(0, 0);
  }

  // Where the second child's message waits, since the first one's may be in the segment already.
  Block second_part(Block arriving) const { return second_->block().slice(0, arriving.count); }

  TreePlace place_;
  Block data_;
  int segments_;
  Op op_;
  bool rises_;
  bool falls_;
  std::optional<Scratch> second_;
};

void walk(Channel& channel, const std::vector<Flow>& flows) {
  int steps = 0;
  for (const Flow& flow : flows) steps = std::max(steps, flow.steps());
  std::vector<Request> requests;
  for (int step = 0; step < steps; ++step) {
    channel.next_step();
    requests.clear();
    for (const Flow& flow : flows) flow.post(channel, step, requests);
    for (const Request request : requests) channel.wait(request);
    for (const Flow& flow : flows) flow.fold(channel, step);
  }
}

// The whole of an algorithm that moves one block through one tree in one direction.
void walk_tree(Channel& channel, const Call& call, TreePlace place, Block data, int segments,
               Travel travel) {
  const int count = segments_of(segments, place.height);
  const Operation operation(channel, call, count + place.height - 1);
  std::vector<Flow> flows;
  flows.emplace_back(channel, std::move(place), data, count, travel, call.op);
  walk(channel, flows);
}

// Ranks as seen from a root: v = (r - root) mod N.
struct Virtual {
  Virtual(int rank, int ranks, int the_root)
      : size(ranks), root(the_root), v((rank - the_root + ranks) % ranks) {
    check(the_root >= 0 && the_root < ranks, "pipeline: root {} is not a rank of a world of {}",
          the_root, ranks);
  }

  int rank_of(int other) const { return (other + root) % size; }

  int size;
  int root;
  int v;
};

// The first tree of double_tree_place.
TreePlace alternating_place(int rank, int size) {
  const auto parent_of = [size](int r) {
    const int bit = r & -r;
    const int up = (r ^ bit) | (bit << 1);
    return up < size ? up : r ^ bit;
  };
  TreePlace place{.height = ceil_log2(size)};
  if (rank == 0) {
    if (size > 1) place.children = {1 << (place.height - 1)};
    return place;
  }
  const int half = (rank & -rank) / 2;
  if (half > 0) place.children.push_back(rank - half);
  int right = half;
  while (right > 0 && rank + right >= size) right /= 2;
  if (right > 0) place.children.push_back(rank + right);
  place.parent = parent_of(rank);
  for (int r = rank; r != 0; r = parent_of(r)) ++place.depth;
  return place;
}

}  // namespace

TreePlace chain_place(int rank, int size, int root) {
  const Virtual self(rank, size, root);
  TreePlace place{.depth = self.v, .height = size - 1};
  if (self.v > 0) place.parent = self.rank_of(self.v - 1);
  if (self.v + 1 < size) place.children = {self.rank_of(self.v + 1)};
  return place;
}

TreePlace binary_place(int rank, int size, int root) {
  const Virtual self(rank, size, root);
  TreePlace place{.depth = floor_log2(self.v + 1), .height = floor_log2(size)};
  if (self.v > 0) place.parent = self.rank_of((self.v - 1) / 2);
  for (int child = 2 * self.v + 1; child <= 2 * self.v + 2 && child < size; ++child) {
    place.children.push_back(self.rank_of(child));
  }
  return place;
}

TreePlace split_binary_place(int rank, int size, int root, int half) {
  const Virtual self(rank, size, root);
  const int left = size / 2;
  const int first = half == 0 ? 1 : 1 + left;
  const int length = half == 0 ? left : size - 1 - left;
  if (length == 0) return {};
  const int height = 1 + floor_log2(length);
  if (self.v == 0) return {.children = {self.rank_of(first)}, .height = height};
  if (self.v < first || self.v >= first + length) return {.height = height};
  TreePlace place = binary_place(self.v - first, length, 0);
  place.parent = self.rank_of(place.parent < 0 ? 0 : first + place.parent);
  for (int& child : place.children) child = self.rank_of(first + child);
  ++place.depth;
  place.height = height;
  return place;
}

TreePlace double_tree_place(int rank, int size, int which) {
  if (which == 0) return alternating_place(rank, size);
  const bool mirrored = size % 2 == 0;
  const auto image = [&](int r, int shift) {
    return mirrored ? size - 1 - r : (r + shift + size) % size;
  };
  TreePlace place = alternating_place(image(rank, -1), size);
  if (place.parent >= 0) place.parent = image(place.parent, 1);
  for (int& child : place.children) child = image(child, 1);
  return place;
}

int segments_of(int segments, int levels) {
  return segments > 0 ? segments : std::max(1, 2 * levels);
}

void broadcast_chain(Channel& channel, Block data, int root, int segments) {
  walk_tree(channel, {"broadcast_chain", data.count, data.dtype, Op::replace, root},
            chain_place(channel.rank(), channel.size(), root), data, segments, Travel::down);
}

void broadcast_binary(Channel& channel, Block data, int root, int segments) {
  walk_tree(channel, {"broadcast_binary", data.count, data.dtype, Op::replace, root},
            binary_place(channel.rank(), channel.size(), root), data, segments, Travel::down);
}

void reduce_chain(Channel& channel, Block data, Op op, int root, int segments) {
  walk_tree(channel, {"reduce_chain", data.count, data.dtype, op, root},
            chain_place(channel.rank(), channel.size(), root), data, segments, Travel::up);
}

void broadcast_split_binary(Channel& channel, Block data, int root, int segments) {
  const Virtual self(channel.rank(), channel.size(), root);
  const int height = split_binary_place(channel.rank(), self.size, root, 0).height;
  const int count = segments_of(segments, height);
  const Operation operation(channel, "broadcast_split_binary", data, Op::replace, count + height,
                            root);
  std::vector<Flow> flows;
  for (const int half : {0, 1}) {
    flows.emplace_back(channel, split_binary_place(channel.rank(), self.size, root, half),
                       data.part(half, 2), count, Travel::down);
  }
  walk(channel, flows);

  const int left = self.size / 2;
  const int right = self.size - 1 - left;  // Equal to left, or one less.
  const Block first = data.part(0, 2), second = data.part(1, 2);
  if (self.v == 0) {
    if (right < left) channel.send(self.rank_of(left), second);
  } else if (self.v > right && self.v <= left) {
    channel.recv(root, second);
  } else if (self.v <= left) {
    const int partner = self.rank_of(self.v + left);
    channel.sendrecv(partner, first, partner, second);
  } else {
    const int partner = self.rank_of(self.v - left);
    channel.sendrecv(partner, second, partner, first);
  }
}

void allreduce_chain(Channel& channel, Block data, Op op, int segments) {
  const int levels = channel.size() - 1;
  const Operation operation(channel, "allreduce_chain", data, op,
                            2 * (segments_of(segments, levels) + levels - 1));
  reduce_chain(channel, data, op, 0, segments);
  broadcast_chain(channel, data, 0, segments);
}

void allreduce_double_tree(Channel& channel, Block data, Op op, int segments) {
  const int levels = 2 * ceil_log2(channel.size());
  const int count = segments_of(segments, levels);
  const Operation operation(channel, "allreduce_double_tree", data, op, count + levels - 1);
  std::vector<Flow> flows;
  for (const int which : {0, 1}) {
    flows.emplace_back(channel, double_tree_place(channel.rank(), channel.size(), which),
                       data.part(which, 2), count, Travel::up_and_down, op);
  }
  walk(channel, flows);
}

}  // namespace tutti
