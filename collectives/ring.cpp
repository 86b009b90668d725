#include "collectives/ring.hpp"

namespace tutti {
namespace {

struct Ring {
  Ring(const Channel& channel, int direction)
      : next((channel.rank() + direction + channel.size()) % channel.size()),
        prev((channel.rank() - direction + channel.size()) % channel.size()) {}

  int next;
  int prev;
};

}  // namespace

void reduce_scatter_ring(Channel& channel, const Parts& data, Op op, int direction) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "reduce_scatter_ring", data.whole(), op, size - 1);
  const Ring ring(channel, direction);
  for (int step = 1; step < size; ++step) {
    const Block out = data[rank - direction * step], in = data[rank - direction * (step + 1)];
    channel.sendrecv(ring.next, out, ring.prev, in, op);
  }
}

void allgather_ring(Channel& channel, const Parts& data, int direction) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allgather_ring", data.whole(), Op::replace, size - 1);
  const Ring ring(channel, direction);
  for (int step = 1; step < size; ++step) {
    const Block out = data[rank - direction * (step - 1)], in = data[rank - direction * step];
    channel.sendrecv(ring.next, out, ring.prev, in);
  }
}

void allreduce_ring(Channel& channel, Block data, Op op, RingOrder order) {
  const Operation operation(channel, "allreduce_ring", data, op, 2 * (channel.size() - 1));
  const Parts parts(data, channel.size(), order.partition);
  reduce_scatter_ring(channel, parts, op, order.direction);
  allgather_ring(channel, parts, order.direction);
}

}  // namespace tutti
