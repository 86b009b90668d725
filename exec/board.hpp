// Board: all that the ranks of one run share besides their data: queues, bells, who is where, who
// has failed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "collectives/channel.hpp"
#include "exec/call_record.hpp"
#include "exec/doorbell.hpp"
#include "exec/queue.hpp"
#include "exec/seqlock.hpp"
#include "process/shared_memory.hpp"

namespace tutti {

enum class WaitKind : std::uint8_t {
  receive,  ///< Until the peer sends.
  send,     ///< Until the peer takes a message.
  entry,    ///< Until the peer makes a call.
};

/// What a channel waits for that sleeps, having done all it can until then. `episode` tells apart
/// two sleeps for the same thing.
struct Waiting {
  std::uint64_t episode = 0;
  std::int32_t peer = -1;  ///< -1: not asleep.
  WaitKind kind = WaitKind::receive;
  bool is_bounded = false;  ///< The channel has a deadline of its own.

  std::uint64_t pack() const {
    return episode << 26 | static_cast<std::uint64_t>(peer + 1) << 3 |
           (is_bounded ? std::uint64_t{4} : 0) | static_cast<std::uint64_t>(kind);
  }
  static Waiting unpack(std::uint64_t packed) {
    return {packed >> 26, static_cast<std::int32_t>(packed >> 3 & 0x7fffff) - 1,
            static_cast<WaitKind>(packed & 3), (packed & 4) != 0};
  }
  bool operator==(const Waiting&) const = default;
};

/// The last calls that one rank has made in one group of ranks, for the others to compare.
struct alignas(line_bytes) GroupCalls {
  static constexpr std::uint64_t kept = 15;  ///< With the group line_bytes.

  std::atomic<std::uint64_t> group{0};  ///< Its hash; 0: free, or the world.
  /// By the number of the call within the group; see Agreement.
  std::array<std::atomic<std::uint64_t>, kept> tokens{};
};

/// Bytes sent in messages of more than a slot's payload, by the way that they took.
struct LargeTraffic {
  std::uint64_t arena_bytes = 0;   ///< Read in memory that all ranks share.
  std::uint64_t memory_bytes = 0;  ///< Read in the sender's own memory; see read_memory().
  std::uint64_t queue_bytes = 0;   ///< Copied into a queue and out of it.

  LargeTraffic& operator+=(const LargeTraffic& other);

  /// "arena", "process_vm_readv" or "queue", with the shares where there are several; "" where
  /// nothing was sent.
  std::string describe() const;
};

/// One lane of one rank; written by it, but for the bell and `is_awaited`.
struct LaneRecord {
  static constexpr std::size_t groups = 31;

  Seqlock<CallRecord> call;
  GroupCalls world_calls;
  std::array<GroupCalls, groups> group_calls;
  alignas(line_bytes) std::atomic<std::uint64_t> waiting{0};  ///< A packed Waiting.
  /// The peer that the current wait needs, if it is a long one; a failed one needs it for ever.
  std::atomic<std::int32_t> needed{-1};
  std::atomic<bool> is_awaited{false};  ///< Some rank sleeps until this one makes a call.
  /// Once `pid` is not 0, the process, and where the probe_word that others may try to read is in
  /// its memory.
  std::atomic<pid_t> pid{0};
  std::atomic<const std::byte*> probe{nullptr};
  std::array<std::atomic<std::uint64_t>, 3> large_bytes{};  ///< As LargeTraffic.
  alignas(line_bytes) Doorbell bell;

  /// Where the calls in the group of hash `group` (0: the world) are, if they are already.
  struct Place {
    const GroupCalls* calls = nullptr;
    bool is_full = false;  ///< They are not, and never will be.
  };
  Place find(std::uint64_t group) const;

  /// A place for them, by the rank itself, once a group; null where there is no room.
  GroupCalls* claim(std::uint64_t group);
};

/// Why a rank ended before its program did.
struct FailureRecord {
  enum class Cause : std::uint8_t { none, error, contract, death };

  Cause cause = Cause::none;
  ErrorKind kind = ErrorKind::system;
  std::array<char, 2000> message{};

  void set(Cause new_cause, ErrorKind new_kind, const std::string& text);
  std::string text() const { return message.data(); }
};

struct RankRecord {
  std::atomic<bool> left{false};  ///< Its program has returned.
  /// Complete before the rank is reaped or published as first to fail.
  FailureRecord failure;
};

/// Made before the fork, used by all ranks and the launcher, for one run.
class Board {
 public:
  Board(int size, int lanes);

  int size() const { return size_; }
  int lanes() const { return lanes_; }

  RankRecord& rank(int rank) const { return ranks_[rank]; }
  LaneRecord& lane(int rank, int lane) const { return lane_records_[rank * lanes_ + lane]; }
  Queue& queue(int from, int to, int lane) const {
    return queues_[(static_cast<std::size_t>(lane) * static_cast<std::size_t>(size_) +
                    static_cast<std::size_t>(from)) *
                       static_cast<std::size_t>(size_) +
                   static_cast<std::size_t>(to)];
  }

  /// The rank that failed first, whose record is complete, or -1.
  int first_failed() const { return header_->first_failed.load(); }

  /// Of all ranks and lanes so far.
  LargeTraffic large_traffic() const;

  /// For example "rank 2 was killed by signal 9 (Killed)". Only after first_failed() >= 0.
  std::string describe_first_failure() const;

  /// Publishes the failure of `rank`, whose record the caller has completed, and wakes all.
  void fail(int rank) const;

  /// Publishes that the program of `rank` has returned, and wakes all.
  void leave(int rank) const;

 private:
  struct Header {
    std::atomic<int> first_failed{-1};
  };

  void ring_all() const;

  int size_;
  int lanes_;
  SharedMapping memory_;
  Header* header_;
  RankRecord* ranks_;
  LaneRecord* lane_records_;
  Queue* queues_;
};

}  // namespace tutti
