#include "collectives/direct.hpp"

#include <vector>

#include "collectives/local.hpp"

namespace tutti {

void reduce_scatter_direct(Channel& channel, const Parts& data, Op op) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "reduce_scatter_direct", data.whole(), op, 1);
  if (size == 1) return;
  const Block own = data[rank];
  const Scratch scratch(channel,
                        {own.data, static_cast<std::size_t>(size - 1) * own.count, own.dtype});
  const Parts others(scratch.block(), size - 1);
  channel.next_step();
  std::vector<Request> sent, received(static_cast<std::size_t>(size - 1));
  for (int i = 1; i < size; ++i) {
    const int to = (rank + i) % size, from = (rank - i + size) % size;
    const int place = from < rank ? from : from - 1;
    received[static_cast<std::size_t>(place)] = channel.irecv(from, others[place]);
    sent.push_back(channel.isend(to, data[to]));
  }
  fold_in_order(channel, own, rank, others, received, op);
  for (const Request request : sent) channel.wait(request);
}

void allgather_direct(Channel& channel, const Parts& data) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allgather_direct", data.whole(), Op::replace, 1);
  channel.next_step();
  std::vector<Request> requests;
  for (int i = 1; i < size; ++i) {
    const int to = (rank + i) % size, from = (rank - i + size) % size;
    requests.push_back(channel.irecv(from, data[from]));
    requests.push_back(channel.isend(to, data[rank]));
  }
  for (const Request request : requests) channel.wait(request);
}

void allreduce_direct(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_direct", data, op, 2);
  const Parts parts(data, channel.size());
  reduce_scatter_direct(channel, parts, op);
  allgather_direct(channel, parts);
}

void reduce_scatter_pairwise(Channel& channel, const Parts& data, Op op) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "reduce_scatter_pairwise", data.whole(), op, size - 1);
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank - step + size) % size;
    channel.sendrecv(to, data[to], from, data[rank], op);
  }
}

}  // namespace tutti
