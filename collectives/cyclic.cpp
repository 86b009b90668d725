#include "collectives/cyclic.hpp"

#include <algorithm>

namespace tutti {
namespace {

// The range up to the last part, and what wraps around to the first ones.
std::array<Block, 2> blocks_of(const Parts& parts, int first, int length) {
  const int size = parts.size();
  const int begin = ((first % size) + size) % size;
  const int unwrapped = std::min(length, size - begin);
  return {parts.range(begin, unwrapped), parts.range(0, length - unwrapped)};
}

}  // namespace

CyclicTransfer CyclicTransfer::send(Channel& channel, int to, const Parts& parts, int first,
                                    int length) {
  const auto [head, tail] = blocks_of(parts, first, length);
  CyclicTransfer transfer;
  transfer.requests_ = {channel.isend(to, head), channel.isend(to, tail)};
  return transfer;
}

CyclicTransfer CyclicTransfer::receive(Channel& channel, int from, const Parts& parts, int first,
                                       int length) {
  const auto [head, tail] = blocks_of(parts, first, length);
  CyclicTransfer transfer;
  transfer.requests_ = {channel.irecv(from, head), channel.irecv(from, tail)};
  return transfer;
}

void CyclicTransfer::wait(Channel& channel) const {
  for (const Request request : requests_) channel.wait(request);
}

}  // namespace tutti
