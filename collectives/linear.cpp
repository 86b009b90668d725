#include "collectives/linear.hpp"

#include <string_view>
#include <vector>

#include "collectives/local.hpp"

namespace tutti {
namespace {

void check_root(const Channel& channel, std::string_view algorithm, int root) {
  check(root >= 0 && root < channel.size(), "{}: root {} is not a rank of a world of {}", algorithm,
        root, channel.size());
}

void wait_all(Channel& channel, const std::vector<Request>& requests) {
  for (const Request request : requests) channel.wait(request);
}

}  // namespace

void broadcast_linear(Channel& channel, Block data, int root) {
  const int rank = channel.rank(), size = channel.size();
  check_root(channel, "broadcast_linear", root);
  const Operation operation(channel, "broadcast_linear", data, Op::replace, size - 1, root);
  if (rank != root) return channel.recv(root, data);
  for (int i = 1; i < size; ++i) channel.send((root + i) % size, data);
}

void reduce_linear(Channel& channel, Block data, Op op, int root) {
  const int rank = channel.rank(), size = channel.size();
  check_root(channel, "reduce_linear", root);
  const Operation operation(channel, "reduce_linear", data, op, size - 1, root);
  if (rank != root) return channel.send(root, data);
  for (int i = 1; i < size; ++i) channel.recv((root + i) % size, data, op);
}

void gather_linear(Channel& channel, const Parts& data, int root) {
  const int rank = channel.rank(), size = channel.size();
  check_root(channel, "gather_linear", root);
  const Operation operation(channel, "gather_linear", data.whole(), Op::replace, 1, root);
  if (rank != root) return channel.send(root, data[rank]);
  std::vector<Request> requests;
  channel.next_step();
  for (int i = 1; i < size; ++i) {
    requests.push_back(channel.irecv((root + i) % size, data[root + i]));
  }
  wait_all(channel, requests);
}

void scatter_linear(Channel& channel, const Parts& data, int root) {
  const int rank = channel.rank(), size = channel.size();
  check_root(channel, "scatter_linear", root);
  const Operation operation(channel, "scatter_linear", data.whole(), Op::replace, 1, root);
  if (rank != root) return channel.recv(root, data[rank]);
  std::vector<Request> requests;
  channel.next_step();
  for (int i = 1; i < size; ++i) {
    requests.push_back(channel.isend((root + i) % size, data[root + i]));
  }
  wait_all(channel, requests);
}

void alltoall_linear(Channel& channel, const Parts& data, const Parts& source) {
  const int rank = channel.rank(), size = channel.size();
  // Ranks may hold different counts, so that they can agree on none.
  const Operation operation(channel, Call{"alltoall_linear", 0, data.whole().dtype}, 1);
  std::vector<Request> requests;
  channel.next_step();
  for (int i = 1; i < size; ++i) {
    requests.push_back(channel.irecv((rank + size - i) % size, data[rank - i]));
  }
  for (int i = 1; i < size; ++i) {
    requests.push_back(channel.isend((rank + i) % size, source[rank + i]));
  }
  copy_block(channel, data[rank], source[rank]);
  wait_all(channel, requests);
}

void allreduce_naive(Channel& channel, Block data, Op op) {
  const int rank = channel.rank(), size = channel.size();
  const Operation operation(channel, "allreduce_naive", data, op, 2 * (size - 1));
  if (rank != 0) channel.send(0, data);
  for (int from = 1; rank == 0 && from < size; ++from) channel.recv(from, data, op);
  broadcast_linear(channel, data, 0);
}

}  // namespace tutti
