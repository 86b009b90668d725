#include "collectives/recursive.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "collectives/closed_form.hpp"
#include "collectives/local.hpp"
#include "collectives/participants.hpp"

namespace tutti {
namespace {

// One round: `data` goes to all others of a group, theirs arrive in `others` and are folded. The
// next one is sent to first, so that no two send to the same one at once.
void fold_group(Channel& channel, const std::vector<int>& group, int self, Block data,
                const Parts& others, Op op) {
  channel.next_step();
  const int members = static_cast<int>(group.size());
  const auto rank_of = [&](int member) { return group[static_cast<std::size_t>(member)]; };
  std::vector<Request> sent, received(group.size() - 1);
  for (int i = 1; i < members; ++i) {
    const int to = (self + i) % members, from = (self - i + members) % members;
    const int place = from < self ? from : from - 1;
    sent.push_back(channel.isend(rank_of(to), data));
    received[static_cast<std::size_t>(place)] = channel.irecv(rank_of(from), others[place]);
  }
  for (const Request request : sent) channel.wait(request);
  fold_in_order(channel, data, self, others, received, op);
}

}  // namespace

void allreduce_recursive_doubling(Channel& channel, Block data, Op op) {
  const int rank = channel.rank(), rounds = floor_log2(channel.size());
  const Participants all(channel.size(), 1 << rounds);
  const Operation operation(channel, "allreduce_recursive_doubling", data, op,
                            rounds + (all.surplus > 0 ? 2 : 0));
  if (all.is_surplus(rank)) {
    channel.send(rank + 1, data);
    channel.recv(rank + 1, data);
    return;
  }
  if (all.is_paired(rank)) channel.recv(rank - 1, data, op);
  // Data is being sent while the partner's arrives, so that needs a place of its own.
  const Scratch received(channel, data);
  for (int distance = 1; distance < all.count; distance *= 2) {
    const int partner = all.rank_of(all.participant_of(rank) ^ distance);
    channel.sendrecv(partner, data, partner, received.block());
    reduce_block(channel, data, received.block(), op);
  }
  if (all.is_paired(rank)) channel.send(rank - 1, data);
}

std::vector<int> exchange_radices(int ranks, int radix) {
  const int wanted = radix == 0 ? default_exchange_radix : radix;
  check(wanted >= 2, "exchange_radices: a radix of {}, expected at least 2", wanted);
  std::vector<int> radices;
  for (; ranks >= 2; ranks /= wanted) radices.push_back(std::min(ranks, wanted));
  return radices;
}

void allreduce_recursive_multiplying(Channel& channel, Block data, Op op, int radix) {
  const int rank = channel.rank();
  const std::vector<int> radices = exchange_radices(channel.size(), radix);
  const Participants all(channel.size(),
                         std::accumulate(radices.begin(), radices.end(), 1, std::multiplies<>()));
  const Operation operation(channel, "allreduce_recursive_multiplying", data, op,
                            static_cast<int>(radices.size()) + (all.surplus > 0 ? 2 : 0));
  if (all.is_surplus(rank)) {
    channel.send(rank + 1, data);
    channel.recv(rank + 1, data);
    return;
  }
  if (all.is_paired(rank)) channel.recv(rank - 1, data, op);
  int distance = 1;
  for (const int members : radices) {
    const int self = all.participant_of(rank), digit = self / distance % members;
    std::vector<int> group;
    for (int i = 0; i < members; ++i) group.push_back(all.rank_of(self + (i - digit) * distance));
    const Scratch received(
        channel, {data.data, static_cast<std::size_t>(members - 1) * data.count, data.dtype});
    const Parts others(received.block(), members - 1);
    fold_group(channel, group, digit, data, others, op);
    distance *= members;
  }
  if (all.is_paired(rank)) channel.send(rank - 1, data);
}

}  // namespace tutti
