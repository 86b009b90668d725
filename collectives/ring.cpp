#include "collectives/ring.hpp"

#include <algorithm>
#include <vector>

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

void allreduce_ring_segmented(Channel& channel, Block data, Op op, int segments) {
  const int rank = channel.rank(), size = channel.size(), steps = 2 * (size - 1);
  const Operation operation(channel, "allreduce_ring_segmented", data, op, steps);
  if (segments == 0) segments = default_ring_segments;
  check(segments > 0, "allreduce_ring_segmented: {} segments, expected at least 1", segments);
  const Ring ring(channel, 1);
  const Parts parts(data, size);
  const int messages = steps * segments, ahead = std::min(2, segments);
  std::vector<Request> sent, received;
  const auto send = [&](int message) {
    const Block part = parts[rank - 1 - message / segments];
    sent.push_back(channel.isend(ring.next, part.part(message % segments, segments)));
  };
  const auto receive = [&](int message) {
    if (message >= messages) return;
    const int step = message / segments;
    const Block piece = parts[rank - 2 - step].part(message % segments, segments);
    received.push_back(channel.irecv(ring.prev, piece, step < size - 1 ? op : Op::replace));
  };
  for (int message = 0; message < std::min(segments, messages); ++message) send(message);
  for (int message = 0; message < ahead; ++message) receive(message);
  for (int message = 0; message < messages; ++message) {
    if (message % segments == 0) channel.next_step();
    channel.wait(received[static_cast<std::size_t>(message)]);
    channel.wait(sent[static_cast<std::size_t>(message)]);
    if (message + segments < messages) send(message + segments);
    receive(message + ahead);
  }
}

}  // namespace tutti
