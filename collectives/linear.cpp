#include "collectives/linear.hpp"

namespace tutti {

void broadcast_linear(Channel& channel, Block data, int root) {
  const int rank = channel.rank(), size = channel.size();
  check(root >= 0 && root < size, "broadcast_linear: root {} is not a rank of a world of {}", root,
        size);
  const Operation operation(channel, "broadcast_linear", data, Op::replace, size - 1, root);
  if (rank != root) return channel.recv(root, data);
  for (int i = 1; i < size; ++i) channel.send((root + i) % size, data);
}

void allreduce_naive(Channel& channel, Block data, Op op) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allreduce_naive", data, op, 2 * (size - 1));
  if (rank != 0) channel.send(0, data);
  for (int from = 1; rank == 0 && from < size; ++from) channel.recv(from, data, op);
  broadcast_linear(channel, data, 0);
}

}  // namespace tutti
