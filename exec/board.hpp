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
#include "exec/doorbell.hpp"
#include "exec/queue.hpp"
#include "exec/seqlock.hpp"
#include "process/shared_memory.hpp"

namespace tutti {

/// The call that a channel is in, as others see it. Longer names are cut.
struct CallRecord {
  std::uint64_t sequence = 0;  ///< 0: no call yet.
  std::uint64_t signature = 0;
  std::uint64_t count = 0;
  std::int32_t root = -1;
  DType dtype = DType::float32;
  Op op = Op::replace;
  std::array<char, 50> algorithm{};

  /// As Call::describe().
  std::string describe() const;
};

/// What a sleeping channel waits for. `episode` tells apart two sleeps for the same thing.
struct Waiting {
  std::uint64_t episode = 0;
  std::int32_t peer = -1;  ///< -1: not asleep.
  bool is_send = false;

  std::uint64_t pack() const {
    return episode << 24 | static_cast<std::uint64_t>(peer + 1) << 1 | (is_send ? 1U : 0U);
  }
  static Waiting unpack(std::uint64_t packed) {
    return {packed >> 24, static_cast<std::int32_t>(packed >> 1 & 0x7fffff) - 1, (packed & 1) != 0};
  }
  bool operator==(const Waiting&) const = default;
};

/// One lane of one rank; written by it, but for the bell.
struct LaneRecord {
  Seqlock<CallRecord> call;
  alignas(line_bytes) std::atomic<std::uint64_t> waiting{0};  ///< A packed Waiting.
  /// The peer that the current wait needs, if it is a long one; a failed one needs it for ever.
  std::atomic<std::int32_t> needed{-1};
  alignas(line_bytes) Doorbell bell;
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
