#include "collectives/butterfly.hpp"

#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/participants.hpp"

namespace tutti {
namespace {

int bits_reversed(int value, int bits) {
  int reversed = 0;
  for (int bit = 0; bit < bits; ++bit) reversed = 2 * reversed + ((value >> bit) & 1);
  return reversed;
}

// Swing's distances 1, -1, 3, -5, ..., which are 1, 11, 111, ... in base -2.
int swing_peer(int participant, int step, int rounds) {
  int rho = 0;
  for (int i = 0, power = 1; i <= step; ++i, power *= -2) rho += power;
  return (participant + (participant % 2 == 0 ? rho : -rho)) & ((1 << rounds) - 1);
}

int bine_place(int participant, int rounds) {
  constexpr unsigned odd_bits = 0xAAAAAAAA;
  const auto value = static_cast<unsigned>(participant % 2 == 1 ? participant : -participant);
  const unsigned negabinary = ((value + odd_bits) ^ odd_bits) & ((1U << rounds) - 1);
  return bits_reversed(static_cast<int>(negabinary ^ (negabinary >> 1)), rounds);
}

// Parts that follow one another.
struct Run {
  int first;
  int length;
};

// One rank's walk through a butterfly, over one part a participant.
class Walk {
 public:
  Walk(Channel& channel, const Butterfly& butterfly, const Participants& all, const Parts& parts)
      : channel_(channel),
        butterfly_(butterfly),
        all_(all),
        parts_(parts),
        rounds_(floor_log2(all.count)),
        self_(all.participant_of(channel.rank())) {}

  void reduce_scatter(Op op) {
    for (int step = 0; step < rounds_; ++step) {
      const int peer = butterfly_.peer(self_, step, rounds_);
      exchange(peer, kept_after(step, peer), kept_after(step, self_), op);
    }
  }

  void allgather() {
    for (int step = rounds_ - 1; step >= 0; --step) {
      const int peer = butterfly_.peer(self_, step, rounds_);
      exchange(peer, kept_after(step, self_), kept_after(step, peer), Op::replace);
    }
  }

 private:
  // The parts of everybody whom the participant will still reach after `step`.
  std::vector<Run> kept_after(int step, int participant) const {
    const int length = all_.count >> (step + 1);
    if (butterfly_.place != nullptr) {
      return {{butterfly_.place(participant, rounds_) & -length, length}};
    }
    std::vector<int> reached = {participant};
    for (int later = step + 1; later < rounds_; ++later) {
      for (std::size_t i = 0, end = reached.size(); i < end; ++i) {
        reached.push_back(butterfly_.peer(reached[i], later, rounds_));
      }
    }
    return runs_of(reached);
  }

  std::vector<Run> runs_of(const std::vector<int>& places) const {
    std::vector<bool> kept(static_cast<std::size_t>(all_.count) + 1);
    for (const int place : places) kept[static_cast<std::size_t>(place)] = true;
    std::vector<Run> runs;
    for (int i = 0, first = 0; i <= all_.count; ++i) {
      if (kept[static_cast<std::size_t>(i)]) continue;
      if (first < i) runs.push_back({first, i - first});
      first = i + 1;
    }
    return runs;
  }

  void exchange(int peer, const std::vector<Run>& out, const std::vector<Run>& in, Op op) {
    const int partner = all_.rank_of(peer);
    channel_.next_step();
    std::vector<Request> sent, received;
    for (const Run& run : out) {
      sent.push_back(channel_.isend(partner, parts_.range(run.first, run.length)));
    }
    for (const Run& run : in) {
      received.push_back(channel_.irecv(partner, parts_.range(run.first, run.length), op));
    }
    for (const Request request : received) channel_.wait(request);
    for (const Request request : sent) channel_.wait(request);
  }

  Channel& channel_;
  const Butterfly& butterfly_;
  const Participants& all_;
  const Parts parts_;
  const int rounds_;
  const int self_;
};

Participants power_of_two(const Channel& channel) {
  return {channel.size(), 1 << floor_log2(channel.size())};
}

int steps_of(const Participants& all, int passes) {
  return passes * floor_log2(all.count) + (all.surplus > 0 ? 2 : 0);
}

void allreduce(Channel& channel, Block data, Op op, const Butterfly& butterfly) {
  const int rank = channel.rank();
  const Participants all = power_of_two(channel);
  if (all.is_surplus(rank)) {
    channel.send(rank + 1, data);
    channel.recv(rank + 1, data);
    return;
  }
  if (all.is_paired(rank)) channel.recv(rank - 1, data, op);
  Walk walk(channel, butterfly, all, Parts(data, all.count));
  walk.reduce_scatter(op);
  walk.allgather();
  if (all.is_paired(rank)) channel.send(rank - 1, data);
}

}  // namespace

const Butterfly recursive_halving = {
    .peer = [](int participant, int step,
               int rounds) { return participant ^ (1 << (rounds - 1 - step)); },
    .place = [](int participant, int) { return participant; },
};

const Butterfly distance_doubling = {
    .peer = [](int participant, int step, int) { return participant ^ (1 << step); },
    .place = bits_reversed,
};

const Butterfly swing = {.peer = swing_peer};

const Butterfly bine = {.peer = swing_peer, .place = bine_place};

void reduce_scatter_recursive_halving(Channel& channel, const Parts& data, Op op) {
  const int rank = channel.rank();
  const Participants all = power_of_two(channel);
  const Operation operation(channel, "reduce_scatter_recursive_halving", data.whole(), op,
                            steps_of(all, 1));
  const Block whole = data.range(0, data.size());
  if (all.is_surplus(rank)) {
    channel.send(rank + 1, whole);
    channel.recv(rank + 1, data[rank]);
    return;
  }
  if (all.is_paired(rank)) channel.recv(rank - 1, whole, op);
  Walk(channel, recursive_halving, all, all.pieces(data)).reduce_scatter(op);
  if (all.is_paired(rank)) channel.send(rank - 1, data[rank - 1]);
}

void allgather_recursive_doubling(Channel& channel, const Parts& data) {
  const int rank = channel.rank();
  const Participants all = power_of_two(channel);
  const Operation operation(channel, "allgather_recursive_doubling", data.whole(), Op::replace,
                            steps_of(all, 1));
  const Block whole = data.range(0, data.size());
  if (all.is_surplus(rank)) {
    channel.send(rank + 1, data[rank]);
    channel.recv(rank + 1, whole);
    return;
  }
  if (all.is_paired(rank)) channel.recv(rank - 1, data[rank - 1]);
  Walk(channel, recursive_halving, all, all.pieces(data)).allgather();
  if (all.is_paired(rank)) channel.send(rank - 1, whole);
}

void allreduce_rabenseifner(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_rabenseifner", data, op,
                            steps_of(power_of_two(channel), 2));
  allreduce(channel, data, op, distance_doubling);
}

void allreduce_swing(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_swing", data, op,
                            steps_of(power_of_two(channel), 2));
  allreduce(channel, data, op, swing);
}

void allreduce_bine(Channel& channel, Block data, Op op) {
  const Operation operation(channel, "allreduce_bine", data, op,
                            steps_of(power_of_two(channel), 2));
  allreduce(channel, data, op, bine);
}

}  // namespace tutti
