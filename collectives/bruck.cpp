#include "collectives/bruck.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/cyclic.hpp"
#include "collectives/local.hpp"

namespace tutti {
namespace {

int ahead(const Channel& channel, int distance) {
  return (channel.rank() + distance) % channel.size();
}

int behind(const Channel& channel, int distance) {
  return (channel.rank() - distance + channel.size()) % channel.size();
}

// Many blocks as one message. A single block is its own message; more are copied into, or out of,
// memory of their own.
class Package {
 public:
  /// `whole` is at least as large as all blocks together, and a ghost where they are.
  Package(Channel& channel, Block whole, std::vector<Block> blocks) : blocks_(std::move(blocks)) {
    if (blocks_.size() == 1) {
      message_ = blocks_.front();
      return;
    }
    std::size_t count = 0;
    for (const Block block : blocks_) count += block.count;
    message_ = scratch_.emplace(channel, whole.slice(0, count)).block();
  }

  Block message() const { return message_; }

  void pack(Channel& channel) const {
    for_each_piece([&](Block block, Block piece) { copy_block(channel, piece, block); });
  }

  /// After message() has been received by replace, or with `op` if it is a single block.
  void unpack(Channel& channel, Op op) const {
    for_each_piece([&](Block block, Block piece) {
      if (op == Op::replace) {
        copy_block(channel, block, piece);
      } else {
        reduce_block(channel, block, piece, op);
      }
    });
  }

  bool is_packed() const { return scratch_.has_value(); }

 private:
  template <typename Visit>
  void for_each_piece(const Visit& visit) const {
    std::size_t first = 0;
    for (const Block block : blocks_) {
      if (is_packed()) visit(block, message_.slice(first, block.count));
      first += block.count;
    }
  }

  std::vector<Block> blocks_;
  std::optional<Scratch> scratch_;
  Block message_;
};

// One step: everything in `out` to `to`, everything in `in` from `from`, a message each way.
void exchange_packed(Channel& channel, int to, const Package& out, int from, const Package& in,
                     Op op = Op::replace) {
  out.pack(channel);
  channel.sendrecv(to, out.message(), from, in.message(), in.is_packed() ? Op::replace : op);
  in.unpack(channel, op);
}

void check_equal_parts(const Parts& parts) {
  for (int i = 1; i < parts.size(); ++i) {
    check(parts[i].count == parts[0].count,
          "alltoall_bruck: part {} has {} elements and part 0 {}, expected equal parts", i,
          parts[i].count, parts[0].count);
  }
}

}  // namespace

void allgather_bruck(Channel& channel, const Parts& data) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allgather_bruck", data.whole(), Op::replace, ceil_log2(size));
  for (int distance = 1; distance < size; distance *= 2) {
    const int from = ahead(channel, distance), to = behind(channel, distance);
    const int length = std::min(distance, size - distance);
    channel.next_step();
    const auto out = CyclicTransfer::send(channel, to, data, rank, length);
    const auto in = CyclicTransfer::receive(channel, from, data, from, length);
    in.wait(channel);
    out.wait(channel);
  }
}

void alltoall_bruck(Channel& channel, const Parts& data, const Parts& source) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "alltoall_bruck", data.whole(), Op::replace, ceil_log2(size));
  check_equal_parts(data);
  check_equal_parts(source);
  copy_block(channel, data[rank], source[rank]);
  for (int distance = 1; distance < size; distance *= 2) {
    std::vector<Block> out, in;
    for (int d = distance; d < size; ++d) {
      if ((d & distance) == 0) continue;
      const bool has_moved = (d & (distance - 1)) != 0;
      out.push_back(has_moved ? data[rank - d] : source[rank + d]);
      in.push_back(data[rank - d]);
    }
    exchange_packed(channel, ahead(channel, distance), {channel, data.whole(), out},
                    behind(channel, distance), {channel, data.whole(), in});
  }
}

void allgather_pat(Channel& channel, const Parts& data) {
  const int rank = channel.rank(), size = channel.size(), rounds = ceil_log2(size);
  const Operation operation(channel, "allgather_pat", data.whole(), Op::replace, rounds);
  for (int round = rounds - 1; round >= 0; --round) {
    const int distance = 1 << round;
    std::vector<Block> out, in;
    for (int d = 0; d + distance < size; d += 2 * distance) {
      out.push_back(data[rank - d]);
      in.push_back(data[rank - d - distance]);
    }
    exchange_packed(channel, ahead(channel, distance), {channel, data.whole(), out},
                    behind(channel, distance), {channel, data.whole(), in});
  }
}

void reduce_scatter_pat(Channel& channel, const Parts& data, Op op) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "reduce_scatter_pat", data.whole(), op, ceil_log2(size));
  for (int distance = 1; distance < size; distance *= 2) {
    std::vector<Block> out, in;
    for (int d = 0; d + distance < size; d += 2 * distance) {
      out.push_back(data[rank - d - distance]);
      in.push_back(data[rank - d]);
    }
    exchange_packed(channel, behind(channel, distance), {channel, data.whole(), out},
                    ahead(channel, distance), {channel, data.whole(), in}, op);
  }
}

void barrier_dissemination(Channel& channel) {
  const Block token{nullptr, 1, DType::uint8};
  const Operation operation(channel, Call{"barrier_dissemination", 0, token.dtype},
                            ceil_log2(channel.size()));
  for (int distance = 1; distance < channel.size(); distance *= 2) {
    channel.sendrecv(ahead(channel, distance), token, behind(channel, distance), token);
  }
}

}  // namespace tutti
