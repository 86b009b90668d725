#include "collectives/exchange.hpp"

#include "collectives/local.hpp"

namespace tutti {

void allgather_neighbor_exchange(Channel& channel, const Parts& data) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allgather_neighbor_exchange", data.whole(), Op::replace,
                            size / 2);
  if (size == 1) return;
  check(size % 2 == 0, "allgather_neighbor_exchange: {} ranks, expected an even number", size);
  const int side = rank % 2 == 0 ? 1 : -1;  // Where the partner in the own pair is.
  const int inside = rank + side, outside = (rank - side + size) % size;
  channel.sendrecv(inside, data[rank], inside, data[inside]);

  int held = rank / 2 * 2;  // The first part of the pair that arrived last.
  for (int step = 2; step <= size / 2; ++step) {
    const int partner = step % 2 == 0 ? outside : inside;
    // Even and odd ranks' holdings grow in opposite directions, by a pair a step.
    const int wanted = step % 2 == 0 ? held - side * 2 * (step - 1) : held + side * 2 * (step - 1);
    const int next = (wanted + size) % size;
    channel.sendrecv(partner, data.range(held, 2), partner, data.range(next, 2));
    held = next;
  }
}

void alltoall_pairwise(Channel& channel, const Parts& data, const Parts& source) {
  const int rank = channel.rank(), size = channel.size();
  // Ranks may hold different counts, so that they can agree on none.
  const Operation operation(channel, Call{"alltoall_pairwise", 0, data.whole().dtype}, size - 1);
  copy_block(channel, data[rank], source[rank]);
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank - step + size) % size;
    channel.sendrecv(to, source[to], from, data[from]);
  }
}

}  // namespace tutti
