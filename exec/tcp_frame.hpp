// What TCP ranks say to each other, as bytes: handshakes, messages and notices. No sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/envelope.hpp"
#include "exec/call_record.hpp"
#include "exec/entry_rounds.hpp"

namespace tutti {

/// Of what is said below; ranks of different versions do not talk.
inline constexpr std::uint32_t tcp_version = 2;

/// What every connection begins with, from the rank that connects. All integers are little-endian.
struct Hello {
  enum class Purpose : std::uint8_t {
    join,     ///< To rank 0: asks for the addresses of all.
    control,  ///< Notices between two ranks, for the whole life of both.
    data,     ///< Messages of one run and lane.
  };
  static constexpr std::size_t encoded_bytes = 112;
  static constexpr std::size_t most_address_bytes = 63;

  Purpose purpose = Purpose::join;
  std::uint64_t world = 0;  ///< A hash of the world's name for join, else its session.
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t run = 0;     ///< Of data.
  std::int32_t lane = 0;     ///< Of data.
  std::uint16_t port = 0;    ///< Of join: where the rank listens.
  std::string address = {};  ///< Of join: a numeric address at which others reach it.
};

std::string encode(const Hello& hello);

/// Nothing while bytes are missing. Throws Error(mismatch), that says what is wrong, as soon as
/// `bytes` cannot become a Hello of this version.
std::optional<Hello> decode_hello(std::string_view bytes);

/// What precedes the bytes of a message. A ghost has none.
struct DataHeader {
  /// Both are multiples of 8, so that elements lie as they must where headers do.
  static constexpr std::size_t fixed_bytes = 24;
  static constexpr std::size_t most_bytes = fixed_bytes + 80;

  Envelope envelope;
  std::optional<CallRecord> call;  ///< Of the sender, where the peer does not know it yet.

  std::size_t payload_bytes() const {
    return envelope.ghost ? 0 : envelope.count * bytes_of(envelope.dtype);
  }
};

struct EncodedHeader {
  std::array<std::byte, DataHeader::most_bytes> data;
  std::size_t bytes = 0;
};

EncodedHeader encode(const DataHeader& header);

struct DecodedHeader {
  DataHeader header;
  std::size_t bytes = 0;  ///< That it took.
};

/// Nothing while bytes are missing. Throws Error(mismatch) where it is none, or counts more than
/// any memory holds.
std::optional<DecodedHeader> decode_data_header(std::span<const std::byte> bytes);

/// One notice on a control connection.
struct Frame {
  enum class Kind : std::uint8_t {
    welcome,   ///< A Welcome: the answer to a join.
    refused,   ///< Why.
    failed,    ///< The sender failed in a run: its number, then why.
    state,     ///< A LaneState.
    finish,    ///< Of JoinedTransport::finish().
    exchange,  ///< Of JoinedTransport::exchange().
    entry,     ///< A LaneEntry.
  };
  static constexpr std::size_t header_bytes = 16;
  /// Of a body that is no exchange.
  static constexpr std::size_t most_body_bytes = std::size_t{1} << 20;
  static constexpr std::uint64_t most_exchange_bytes = std::uint64_t{1} << 40;

  Kind kind = Kind::exchange;
  std::string body;
};

/// The header and, unless it is large, the body of a frame.
std::string encode_frame_header(Frame::Kind kind, std::size_t body_bytes);
std::string encode(const Frame& frame);

/// Takes a stream apart. Holds no more than arrived, whatever lengths it claims.
class FrameReader {
 public:
  void append(std::string_view bytes) { buffer_.append(bytes); }

  /// The next whole frame, if there is one. Throws Error(mismatch) where the stream makes no sense.
  std::optional<Frame> next();

 private:
  std::string buffer_;
};

/// Where a rank is on a lane, as its peer may want to know.
struct LaneState {
  std::uint64_t run = 0;
  std::int32_t lane = 0;
  bool has_left = false;       ///< Nothing more will come.
  std::uint64_t sent = 0;      ///< Messages to the one who reads this.
  std::uint64_t received = 0;  ///< Messages from it.
  std::int32_t needed = -1;    ///< The rank that is waited for; -1: does not wait for long.
  bool waits_to_send = false;
  CallRecord call;
};

std::string encode(const LaneState& state);
/// Throws Error(mismatch).
LaneState decode_lane_state(std::string_view body);

/// That the sender has made a call on a lane.
struct LaneEntry {
  std::uint64_t run = 0;
  std::int32_t lane = 0;
  EntryNotice notice;
};

std::string encode(const LaneEntry& entry);
/// Throws Error(mismatch).
LaneEntry decode_lane_entry(std::string_view body);

struct FailureNotice {
  std::uint64_t run = 0;
  ErrorKind kind = ErrorKind::peer_lost;
  std::string text;
};

std::string encode(const FailureNotice& notice);
/// Throws Error(mismatch).
FailureNotice decode_failure(std::string_view body);

/// A host by name or number, and a port.
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

/// "host:80", "10.0.0.1:80", "[::1]:80". Throws Error(usage).
Endpoint parse_endpoint(std::string_view text);

/// Where a rank listens. `address` is numeric.
struct Member {
  std::string address;
  std::uint16_t port = 0;
};

/// The answer to a join: who is who. Rank 0's own member is empty: it has been found already.
struct Welcome {
  std::uint64_t session = 0;  ///< Chosen at random, so that no other world's rank is taken in.
  std::vector<Member> members;
};

std::string encode(const Welcome& welcome);
/// Throws Error(mismatch), also where it is not for `size` ranks.
Welcome decode_welcome(std::string_view body, int size);

}  // namespace tutti
