#include "collectives/butterfly.hpp"

#include <algorithm>
#include <string_view>
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
int swing_peer(int participant, int step, int participants) {
  int rho = 0;
  for (int i = 0, power = 1; i <= step; ++i, power *= -2) rho += power;
  const int peer = (participant + (participant % 2 == 0 ? rho : -rho)) % participants;
  return peer < 0 ? peer + participants : peer;
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

// Whom `participant` will still reach after `step`.
std::vector<int> reached_after(const Butterfly& butterfly, int participants, int step,
                               int participant) {
  std::vector<int> reached = {participant};
  for (int later = step + 1; later < ceil_log2(participants); ++later) {
    for (std::size_t i = 0, end = reached.size(); i < end; ++i) {
      reached.push_back(butterfly.peer(reached[i], later, participants));
    }
  }
  return reached;
}

// Of `places` but `others`.
std::vector<Run> runs_of(const std::vector<int>& places, const std::vector<int>& others,
                         int participants) {
  std::vector<bool> kept(static_cast<std::size_t>(participants) + 1);
  for (const int place : places) kept[static_cast<std::size_t>(place)] = true;
  for (const int place : others) kept[static_cast<std::size_t>(place)] = false;
  std::vector<Run> runs;
  for (int i = 0, first = 0; i <= participants; ++i) {
    if (kept[static_cast<std::size_t>(i)]) continue;
    if (first < i) runs.push_back({first, i - first});
    first = i + 1;
  }
  return runs;
}

// One rank's walk through a butterfly, over one part a participant.
class Walk {
 public:
  Walk(Channel& channel, const Butterfly& butterfly, const Participants& all, const Parts& parts)
      : channel_(channel),
        butterfly_(butterfly),
        all_(all),
        parts_(parts),
        rounds_(ceil_log2(all.count)),
        self_(all.participant_of(channel.rank())) {}

  void reduce_scatter(Op op) {
    for (int step = 0; step < rounds_; ++step) {
      const int peer = peer_of(self_, step);
      exchange(peer, kept_after(step, peer, self_), kept_after(step, self_, peer), op);
    }
  }

  void allgather() {
    for (int step = rounds_ - 1; step >= 0; --step) {
      const int peer = peer_of(self_, step);
      exchange(peer, kept_after(step, self_, peer), kept_after(step, peer, self_), Op::replace);
    }
  }

 private:
  int peer_of(int participant, int step) const {
    return butterfly_.peer(participant, step, all_.count);
  }

  // The parts of everybody whom `participant` will still reach after `step`, but its partner not.
  std::vector<Run> kept_after(int step, int participant, int partner) const {
    if (butterfly_.place == nullptr) {
      return runs_of(reached_after(butterfly_, all_.count, step, participant),
                     reached_after(butterfly_, all_.count, step, partner), all_.count);
    }
    const int length = all_.count >> (step + 1);
    return {{butterfly_.place(participant, rounds_) & -length, length}};
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

Participants participants_of(const Channel& channel, const Butterfly& butterfly) {
  return {channel.size(), butterfly.participants(channel.size())};
}

int steps_of(const Participants& all, int passes) {
  return passes * ceil_log2(all.count) + (all.surplus > 0 ? 2 : 0);
}

void allreduce(Channel& channel, std::string_view name, Block data, Op op,
               const Butterfly& butterfly) {
  const int rank = channel.rank();
  const Participants all = participants_of(channel, butterfly);
  const Operation operation(channel, name, data, op, steps_of(all, 2));
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

int Butterfly::participants(int size) const {
  return any_even ? std::max(1, size / 2 * 2) : 1 << floor_log2(size);
}

// All have the runs of participant 0, shifted or mirrored, so that one of them may wrap around.
int Butterfly::messages(int participants) const {
  const int rounds = ceil_log2(participants);
  if (place != nullptr) return rounds;
  int messages = 0;
  for (int step = 0; step < rounds; ++step) {
    const std::vector<Run> runs = runs_of(
        reached_after(*this, participants, step, 0),
        reached_after(*this, participants, step, peer(0, step, participants)), participants);
    const bool has_long =
        std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.length > 1; });
    messages += static_cast<int>(runs.size()) + (has_long ? 1 : 0);
  }
  return messages;
}

const Butterfly recursive_halving = {
    .peer = [](int participant, int step,
               int participants) { return participant ^ (participants >> (step + 1)); },
    .place = [](int participant, int) { return participant; },
};

const Butterfly distance_doubling = {
    .peer = [](int participant, int step, int) { return participant ^ (1 << step); },
    .place = bits_reversed,
};

const Butterfly swing = {.peer = swing_peer, .any_even = true};

const Butterfly bine = {.peer = swing_peer, .place = bine_place};

void reduce_scatter_recursive_halving(Channel& channel, const Parts& data, Op op) {
  const int rank = channel.rank();
  const Participants all = participants_of(channel, recursive_halving);
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
  const Participants all = participants_of(channel, recursive_halving);
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
  allreduce(channel, "allreduce_rabenseifner", data, op, distance_doubling);
}

void allreduce_swing(Channel& channel, Block data, Op op) {
  allreduce(channel, "allreduce_swing", data, op, swing);
}

void allreduce_bine(Channel& channel, Block data, Op op) {
  allreduce(channel, "allreduce_bine", data, op, bine);
}

}  // namespace tutti
