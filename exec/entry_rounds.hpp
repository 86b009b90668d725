// EntryRounds: whether all who take part in a call are in it, told by messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "exec/call_record.hpp"

namespace tutti {

/// That a rank has made a call, and what it knows of others.
struct EntryNotice {
  std::uint64_t group = 0;   ///< The hash of those who take part; 0: the whole world.
  std::uint64_t number = 0;  ///< Of the call within the group, from 1.
  std::int32_t round = 0;    ///< From 0.
  CallRecord call;           ///< The sender's.
  /// Those that the notice speaks for and that are in other calls than the sender.
  std::map<int, CallRecord> deviants = {};
};

/// A dissemination among the participants of each call, without a root. In round r a participant
/// tells up to three others, at distances of 1, 2 and 3 times 4^r, that it and the 4^r - 1 before
/// it are in the call, or what else they are in; after ceil(log4 n) rounds each knows of all. So a
/// call of 2 to 4 ranks takes one round, of up to 16 two, of at most three notices each. A round
/// begins when the one before is complete, whatever the notices say: where calls differ, all ranks
/// come to know the same.
///
/// It knows no wire: notices are sent by `send` and come by take(), in any order.
class EntryRounds {
 public:
  using Send = std::function<void(int to, const EntryNotice& notice)>;

  EntryRounds(int rank, int size, Send send);

  /// A call has begun; the one before is complete. Sends the notices of the first round.
  void begin(const Progress& progress);

  /// A notice has come, perhaps of a call that this rank has not made yet.
  void take(int from, EntryNotice notice) { early_.push_back({from, std::move(notice)}); }

  /// True once all are known to be in the call, or outside any. Sends what is due. Throws
  /// Error(mismatch), which names who is in what, once that is known of all.
  bool look();

  bool is_pending() const { return is_pending_; }
  /// Whose notice look() missed last.
  int missing() const { return missing_; }
  /// The error for a wait for missing() that was too long.
  Error timeout(double waited_seconds) const;

 private:
  struct Membership {
    std::uint64_t group = 0;
    std::vector<int> ranks = {};
    int index = 0;  // Of the own rank.
    std::uint64_t calls = 0;
  };
  struct Arrived {
    int from = 0;
    EntryNotice notice;
  };

  std::size_t index_of(const RankGroup* group);
  int rank_at(int distance) const;
  void send_round();
  bool take_from(int peer);
  void merge(int distance, const EntryNotice& notice);
  Error mismatch() const;

  const int rank_;
  const int size_;
  const Send send_;
  std::vector<Membership> groups_;
  std::vector<Arrived> early_;
  std::size_t current_ = 0;
  EntryNotice notice_;  // What this rank knows.
  int distance_ = 1;    // Of the round.
  int received_ = 0;    // Notices of the round.
  bool is_pending_ = false;
  int missing_ = -1;
};

}  // namespace tutti
