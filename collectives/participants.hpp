// Participants: who takes part where an algorithm wants another number of ranks than there are.
#pragma once

#include <vector>

#include "collectives/error.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Of `size` ranks `count` take part, at least half of them. The ranks below 2 * surplus act in
/// pairs, in which the odd one takes part for both: the even one gives it its data first and gets
/// the result in the end.
struct Participants {
  Participants(int size, int participants) : count(participants), surplus(size - participants) {
    check(surplus >= 0 && surplus <= count, "participants: {} ranks cannot stand for {}", count,
          size);
  }

  bool is_paired(int rank) const { return rank < 2 * surplus; }

  /// True for the even rank of a pair.
  bool is_surplus(int rank) const { return is_paired(rank) && rank % 2 == 0; }

  int rank_of(int participant) const {
    return participant < surplus ? 2 * participant + 1 : participant + surplus;
  }
  int participant_of(int rank) const { return is_paired(rank) ? rank / 2 : rank - surplus; }

  /// One part a rank as one part a participant, who has that of its surplus rank as well.
  Parts pieces(const Parts& data) const {
    if (surplus == 0) return data;
    std::vector<std::size_t> counts;
    for (int i = 0; i < count; ++i) {
      counts.push_back(i < surplus ? data.range(2 * i, 2).count : data[i + surplus].count);
    }
    return Parts(data.range(0, data.size()), counts);
  }

  int count;
  int surplus;
};

}  // namespace tutti
