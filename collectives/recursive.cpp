#include "collectives/recursive.hpp"

#include "collectives/closed_form.hpp"
#include "collectives/local.hpp"

namespace tutti {
namespace {

// Which ranks take part when N is no power of two: those below 2 * surplus act in pairs, the odd
// one for both.
struct Participants {
  explicit Participants(int size)
      : rounds(floor_log2(size)), power(1 << rounds), surplus(size - power) {}

  int rank_of(int participant) const {
    return participant < surplus ? 2 * participant + 1 : participant + surplus;
  }
  int participant_of(int rank) const { return rank < 2 * surplus ? rank / 2 : rank - surplus; }

  int rounds;
  int power;
  int surplus;
};

}  // namespace

void allreduce_recursive_doubling(Channel& channel, Block data, Op op) {
  const int rank = channel.rank();
  const Participants all(channel.size());
  const Operation operation(channel, "allreduce_recursive_doubling", data, op,
                            all.rounds + (all.surplus > 0 ? 2 : 0));
  const bool paired = rank < 2 * all.surplus;
  if (paired && rank % 2 == 0) {
    channel.send(rank + 1, data);
    channel.recv(rank + 1, data);
    return;
  }
  if (paired) channel.recv(rank - 1, data, op);
  // Data is being sent while the partner's arrives, so that needs a place of its own.
  const Scratch received(channel, data);
  for (int distance = 1; distance < all.power; distance *= 2) {
    const int partner = all.rank_of(all.participant_of(rank) ^ distance);
    channel.sendrecv(partner, data, partner, received.block());
    reduce_block(channel, data, received.block(), op);
  }
  if (paired) channel.send(rank - 1, data);
}

}  // namespace tutti
