// Messages of a replay, the streams that they travel in, and the routes of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "collectives/channel.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// No message, stream, task or the like.
inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// One end of a message.
struct ReplayEnd {
  Block block;
  int rank = 0;                 ///< Who has posted it,
  int lane = 0;                 ///< and on which lane.
  std::uint32_t waiter = none;  ///< The task that waits for it.
  bool posted = false;
  bool closed = false;  ///< Waited for, or never to be waited for.
};

/// A message from when its first end is posted until both are closed. What every message needs is
/// in its first two cache lines.
struct alignas(64) ReplayMessage {
  /// Why a message that was begun never ends.
  enum class Failure : std::uint8_t { no, given_up, peer_ended };

  ReplayEnd out;
  ReplayEnd in;
  double end_seconds = no_deadline;  ///< Infinite until it is known.
  std::uint64_t signature = 0;       ///< Of the sender's call.
  std::uint32_t stream = none;
  std::uint32_t next = none;    ///< Behind it in its stream, while only one end is posted.
  std::uint32_t serial = 0;     ///< Of the slot's use: tells requests for earlier messages apart.
  std::uint32_t record = none;  ///< Its number among the observed ones.
  bool begun = false;
  bool is_copied = false;
  Op op = Op::replace;
  Failure failure = Failure::no;
  std::vector<std::byte> copy;  ///< The sender's block if is_copied: the sender may change it.
};

/// Messages by number. A number is used again after close_slot().
class ReplayMessages {
 public:
  std::uint32_t open_slot();
  void close_slot(std::uint32_t message);

  ReplayMessage& operator[](std::uint32_t message) {
    return chunks_[message / chunk_slots][message % chunk_slots];
  }

  /// How many are queued from this one on.
  std::size_t queued(std::uint32_t message) const;

  /// One more than the largest number used so far.
  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint32_t chunk_slots = 1024;

  std::vector<std::unique_ptr<ReplayMessage[]>> chunks_;  ///< So that none ever moves.
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> free_;
};

/// The messages from one rank to another on one lane, in order, and what their route costs.
struct ReplayStream {
  int from = 0;
  int to = 0;
  int lane = 0;
  bool has_route = false;
  bool holds_sends = false;    ///< What is queued: sends without receives, or the other way round.
  std::uint32_t first = none;  ///< Of the queued messages.
  std::uint32_t last = none;
  std::span<const int> links = {};  ///< Of its route.
  double latency_seconds = 0.0;     ///< Without the links' overhead,
  std::size_t overhead_bytes = 0;   ///< by which messages are longer.
  double bandwidth_bytes_per_second = 0.0;
};

/// All streams of a run, each made at its first use.
class ReplayStreams {
 public:
  /// The shape outlives it.
  ReplayStreams(const Shape& shape, int size, int lanes);

  /// The number of a stream, with its route known.
  std::uint32_t find(int lane, int from, int to) {
    const std::uint32_t pair = pair_of(lane, from, to);
    const std::uint32_t stream = 2 * pair + (from > to ? 1 : 0);
    if (!streams_[stream].has_route) find_route(streams_[stream]);
    return stream;
  }

  ReplayStream& operator[](std::uint32_t stream) { return streams_[stream]; }
  const std::vector<ReplayStream>& all() const { return streams_; }

  /// Appends a message of which one end is posted.
  void enqueue(ReplayMessages& messages, std::uint32_t stream, std::uint32_t message);

  /// Takes the first message out of a stream that has one.
  std::uint32_t dequeue(ReplayMessages& messages, std::uint32_t stream);

  /// Takes a queued message out.
  void remove(ReplayMessages& messages, std::uint32_t message);

 private:
  /// The other rank of a pair, and the pair's number; none where a slot is free.
  struct Peer {
    int rank = 0;
    std::uint32_t pair = none;
  };

  /// The peers that a rank has had on a lane, hashed by rank.
  struct Peers {
    std::vector<Peer> slots;
    std::uint32_t count = 0;
  };

  std::uint32_t pair_of(int lane, int own, int peer);
  static Peer* find_slot(Peers& peers, int rank);
  static void insert(Peers& peers, Peer peer);
  void find_route(ReplayStream& stream);

  const Shape& shape_;
  const int size_;
  std::vector<Peers> peers_;  ///< By lane and rank.
  std::vector<ReplayStream> streams_;
  std::vector<std::vector<int>> links_;  ///< Of all routes, in pieces that never move.
};

}  // namespace tutti
