// Agreement: whether all who take part in a call are in it, before any of them writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/channel.hpp"
#include "exec/board.hpp"

namespace tutti {

/// What one rank knows about the calls of the others on one lane. Each rank publishes its calls in
/// its own GroupCalls, one for each group of ranks, and reads the others': a call costs one store
/// and, where it is looked at, a load for each other participant.
///
/// A rank that has nothing to write may run ahead of the others, by GroupCalls::kept - 1 calls.
class Agreement {
 public:
  /// `board` must outlive it.
  Agreement(int rank, int lane, const Board& board);

  /// The channel has begun the call of `progress`. It must not be published before look() is true:
  /// the others may still need what it will overwrite.
  void begin(const Progress& progress);

  /// Publishes the call; from here on look() is about this one.
  void publish(const Progress& progress);

  /// True once all participants are known to be in the call (or, before publish(), to need no older
  /// ones), or where that cannot be known: a rank keeps LaneRecord::groups groups. Does not wait.
  /// Throws Error(mismatch) that names who is in what.
  bool look(const Progress& progress);

  /// The participant that look() missed, or -1 after it was true; whether it has come since.
  int missing() const;
  bool has_come();

  /// True where the call has only one other participant: its message proves that it is in it.
  bool is_pair() const { return groups_[current_].others.size() == 1; }

  /// That message has come; look() need not look for the other any more.
  void confirm_pair();

 private:
  struct Other {
    int rank = 0;
    const GroupCalls* calls = nullptr;  // Null until it is found.
  };
  struct Membership {
    std::uint64_t group = 0;
    std::vector<Other> others = {};
    GroupCalls* own = nullptr;   // Null where there was no room.
    std::uint64_t sequence = 0;  // Calls begun.
    std::uint64_t agreed = 0;    // The last call that all participants are known to be in.
  };

  std::size_t index_of(const RankGroup* group);
  std::uint64_t last_agreed(const Membership& membership) const;
  std::int16_t age_of(Other& other);
  Error mismatch(const Progress& progress);

  const int rank_;
  const int lane_;
  const Board& board_;
  std::vector<Membership> groups_;  // The world first.
  std::size_t current_ = 0;
  std::uint64_t target_ = 0;  // The call of the group that is looked for.
  std::size_t seen_ = 0;      // How many of the others are known to be in it.
};

}  // namespace tutti
