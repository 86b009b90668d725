#include "collectives/ring.hpp"

namespace tutti {
namespace {

struct Ring {
  Ring(const Channel& channel, RingOrder order)
      : next((channel.rank() + order.direction + channel.size()) % channel.size()),
        prev((channel.rank() - order.direction + channel.size()) % channel.size()) {}

  int next;
  int prev;
};

}  // namespace

void reduce_scatter_ring(Channel& channel, Block data, Op op, RingOrder order) {
  const int rank = channel.rank(), size = channel.size(), up = order.direction;
  const Operation operation(channel, {"reduce_scatter_ring", data.count, data.dtype, op}, size - 1);
  const Ring ring(channel, order);
  for (int step = 1; step < size; ++step) {
    const Block out = data.part(rank - up * step, size, order.partition);
    const Block in = data.part(rank - up * (step + 1), size, order.partition);
    channel.sendrecv(ring.next, out, ring.prev, in, op);
  }
}

void allgather_ring(Channel& channel, Block data, RingOrder order) {
  const int rank = channel.rank(), size = channel.size(), up = order.direction;
  const Operation operation(channel, {"allgather_ring", data.count, data.dtype}, size - 1);
  const Ring ring(channel, order);
  for (int step = 1; step < size; ++step) {
    const Block out = data.part(rank - up * (step - 1), size, order.partition);
    const Block in = data.part(rank - up * step, size, order.partition);
    channel.sendrecv(ring.next, out, ring.prev, in);
  }
}

void allreduce_ring(Channel& channel, Block data, Op op, RingOrder order) {
  const Operation operation(channel, {"allreduce_ring", data.count, data.dtype, op},
                            2 * (channel.size() - 1));
  reduce_scatter_ring(channel, data, op, order);
  allgather_ring(channel, data, order);
}

}  // namespace tutti
