// Observation: what a simulated run did beside taking time, for those who ask why it took it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// How much of a run is observed. Times are the same in any case.
enum class Observe : std::uint8_t {
  nothing,
  totals,    ///< Links and waits.
  messages,  ///< These and every message and block: some 100 bytes a message.
};

/// What has crossed a link.
struct LinkUse {
  double bytes = 0.0;
  double busy_seconds = 0.0;  ///< While at least one flow moved bytes through it.
  int most_flows = 0;         ///< At the same time.

  bool operator==(const LinkUse&) const = default;
};

/// How long a rank has been blocked by messages to or from another.
struct PeerWait {
  int peer = 0;
  double seconds = 0.0;

  bool operator==(const PeerWait&) const = default;
};

/// A message that has arrived. It begins when both ends have posted it (an eager one with its
/// sender), moves no bytes for its route's latency, and ends when the last byte is there: before
/// the receiver's overhead and reduction.
struct MessageRecord {
  int from = 0;
  int to = 0;
  int lane = 0;
  int send_step = 0;  ///< Of the sender's call when it posted, and of the receiver's.
  int receive_step = 0;
  std::size_t bytes = 0;
  double send_posted_seconds = 0.0;
  double receive_posted_seconds = 0.0;
  double begin_seconds = 0.0;
  double end_seconds = 0.0;

  bool operator==(const MessageRecord&) const = default;
};

/// A wait that took time. A rank does local work, or nothing, between its blocks: a critical path
/// is followed back from a block's end to its message's, from there to the message's begin, and on
/// to the rank that posted last.
struct BlockRecord {
  int rank = 0;
  int lane = 0;
  bool is_send = false;
  std::size_t message = 0;  ///< Index into Observation::messages.
  double begin_seconds = 0.0;
  double end_seconds = 0.0;

  bool operator==(const BlockRecord&) const = default;
};

struct Observation {
  std::vector<LinkUse> links;                ///< By index in Shape::links.
  std::vector<std::vector<PeerWait>> waits;  ///< By rank, of ascending peers.
  std::vector<MessageRecord> messages;       ///< In the order in which they were posted.
  std::vector<BlockRecord> blocks;           ///< In the order in which they ended.

  bool operator==(const Observation&) const = default;
};

/// What messages do to the links of a shape, where each rank r runs on host_of(r). Flows through a
/// link move bytes from `begin + latency of the route` to `end`. Cost: n log n.
std::vector<LinkUse> link_uses(const Shape& shape, const std::vector<MessageRecord>& messages);

/// How long each of `size` ranks was blocked by which other, by the blocks and their messages.
std::vector<std::vector<PeerWait>> peer_waits(int size, const Observation& observation);

}  // namespace tutti
