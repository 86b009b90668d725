#include "exec/tcp_frame.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace tutti {
namespace {

constexpr std::string_view magic = "tutti\r\n\x1a";
constexpr std::byte data_mark{0xd5};
constexpr std::uint8_t flag_ghost = 1, flag_call = 2;
constexpr std::uint8_t frame_mark = 0xc7;
constexpr std::uint64_t most_count = std::uint64_t{1} << 60;
constexpr auto dtype_count = static_cast<std::uint8_t>(DType::int64) + 1;
constexpr auto op_count = static_cast<std::uint8_t>(Op::average) + 1;
constexpr auto error_kinds = static_cast<std::uint8_t>(ErrorKind::system) + 1;
constexpr auto frame_kinds = static_cast<std::uint8_t>(Frame::Kind::entry) + 1;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorKind::mismatch, text);
}

class Writer {
 public:
  template <std::integral T>
  Writer& put(T value) {
    using Unsigned = std::make_unsigned_t<T>;
    auto rest = static_cast<std::uint64_t>(static_cast<Unsigned>(value));
    for (std::size_t i = 0; i < sizeof(T); ++i, rest >>= 8) {
      bytes_.push_back(static_cast<char>(rest & 0xff));
    }
    return *this;
  }
  Writer& put(std::string_view text) {
    bytes_.append(text);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  template <typename T>
  T get() {
    const std::string_view raw = text(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(raw[i]);
    }
    return static_cast<T>(value);
  }
  std::string_view text(std::size_t count) {
    if (count > bytes_.size()) refuse(fmt::format("a {} ends too early", what_));
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view rest() { return text(bytes_.size()); }
  void end() const {
    if (!bytes_.empty()) refuse(fmt::format("a {} has {} bytes too many", what_, bytes_.size()));
  }

 private:
  std::string_view bytes_;
  std::string_view what_;
};

template <typename Enum>
Enum checked(std::uint8_t value, int count, std::string_view what) {
  if (value >= count) refuse(fmt::format("{} {} does not exist", what, value));
  return static_cast<Enum>(value);
}

void put_call(Writer& writer, const CallRecord& call) {
  writer.put(call.sequence).put(call.signature).put(call.count).put(call.root);
  writer.put(static_cast<std::uint8_t>(call.dtype)).put(static_cast<std::uint8_t>(call.op));
  writer.put(std::string_view(call.algorithm.data()));
}

// Its name is all that is left.
CallRecord get_call(Reader& reader) {
  CallRecord call;
  call.sequence = reader.get<std::uint64_t>();
  call.signature = reader.get<std::uint64_t>();
  call.count = reader.get<std::uint64_t>();
  call.root = reader.get<std::int32_t>();
  call.dtype = checked<DType>(reader.get<std::uint8_t>(), dtype_count, "dtype");
  call.op = checked<Op>(reader.get<std::uint8_t>(), op_count, "operation");
  std::string_view name = reader.rest();
  name = name.substr(0, name.find_last_not_of('\0') + 1);
  if (name.size() >= call.algorithm.size() || name.find('\0') != std::string_view::npos) {
    refuse("an algorithm's name makes no sense");
  }
  std::copy(name.begin(), name.end(), call.algorithm.begin());
  return call;
}

// One that others follow.
void put_sized_call(Writer& writer, const CallRecord& call) {
  Writer call_writer;
  put_call(call_writer, call);
  const std::string text = call_writer.take();
  writer.put(static_cast<std::uint8_t>(text.size())).put(std::string_view(text));
}

CallRecord get_sized_call(Reader& reader) {
  const auto bytes = reader.get<std::uint8_t>();
  Reader call(reader.text(bytes), "call");
  return get_call(call);
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string encode(const Hello& hello) {
  Writer writer;
  writer.put(magic).put(tcp_version).put(static_cast<std::uint8_t>(hello.purpose));
  writer.put(hello.world).put(hello.rank).put(hello.size).put(hello.run).put(hello.lane);
  writer.put(hello.port);
  const std::string_view address =
      std::string_view(hello.address).substr(0, Hello::most_address_bytes);
  writer.put(static_cast<std::uint8_t>(address.size())).put(address);
  std::string bytes = writer.take();
  bytes.resize(Hello::encoded_bytes);
  return bytes;
}

std::optional<Hello> decode_hello(std::string_view bytes) {
  const std::size_t seen = std::min(bytes.size(), magic.size());
  if (bytes.substr(0, seen) != magic.substr(0, seen)) {
    refuse("the peer does not speak tutti's protocol: its first bytes are wrong");
  }
  constexpr std::size_t versioned_bytes = magic.size() + sizeof(tcp_version);
  if (bytes.size() < versioned_bytes) return {};
  Reader reader(bytes.substr(0, std::min(bytes.size(), Hello::encoded_bytes)), "handshake");
  reader.text(magic.size());
  const auto version = reader.get<std::uint32_t>();
  if (version != tcp_version) {
    refuse(fmt::format("the peer speaks version {} of the protocol, expected {}", version,
                       tcp_version));
  }
  if (bytes.size() < Hello::encoded_bytes) return {};
  Hello hello;
  hello.purpose = checked<Hello::Purpose>(reader.get<std::uint8_t>(), 3, "purpose");
  hello.world = reader.get<std::uint64_t>();
  hello.rank = reader.get<std::int32_t>();
  hello.size = reader.get<std::int32_t>();
  hello.run = reader.get<std::uint64_t>();
  hello.lane = reader.get<std::int32_t>();
  hello.port = reader.get<std::uint16_t>();
  const auto length = reader.get<std::uint8_t>();
  if (length > Hello::most_address_bytes) refuse("the peer's address is too long");
  hello.address = reader.text(length);
  return hello;
}

EncodedHeader encode(const DataHeader& header) {
  Writer writer;
  writer.put(std::to_integer<std::uint8_t>(data_mark));
  writer.put(static_cast<std::uint8_t>(header.envelope.dtype));
  const int flags = (header.envelope.ghost ? flag_ghost : 0) | (header.call ? flag_call : 0);
  std::string call;
  if (header.call) {
    Writer call_writer;
    put_call(call_writer, *header.call);
    call = call_writer.take();
    call.resize((call.size() + 7) / 8 * 8);
  }
  writer.put(static_cast<std::uint8_t>(flags)).put(static_cast<std::uint8_t>(call.size()));
  writer.put(std::uint32_t{0});
  writer.put(header.envelope.signature).put(header.envelope.count).put(call);
  const std::string bytes = writer.take();
  EncodedHeader encoded;
  encoded.bytes = bytes.size();
  std::memcpy(encoded.data.data(), bytes.data(), bytes.size());
  return encoded;
}

std::optional<DecodedHeader> decode_data_header(std::span<const std::byte> bytes) {
  if (!bytes.empty() && bytes[0] != data_mark) refuse("a message does not begin as one");
  if (bytes.size() < DataHeader::fixed_bytes) return {};
  Reader reader(as_text(bytes), "message");
  reader.get<std::uint8_t>();
  DecodedHeader decoded;
  Envelope& envelope = decoded.header.envelope;
  envelope.dtype = checked<DType>(reader.get<std::uint8_t>(), dtype_count, "dtype");
  const auto flags = reader.get<std::uint8_t>();
  const auto call_bytes = reader.get<std::uint8_t>();
  const bool has_call = (flags & flag_call) != 0;
  if (flags > (flag_ghost | flag_call) || has_call != (call_bytes > 0) ||
      DataHeader::fixed_bytes + call_bytes > DataHeader::most_bytes || call_bytes % 8 != 0 ||
      reader.get<std::uint32_t>() != 0) {
    refuse("the header of a message makes no sense");
  }
  envelope.ghost = (flags & flag_ghost) != 0;
  envelope.signature = reader.get<std::uint64_t>();
  envelope.count = reader.get<std::uint64_t>();
  if (envelope.count == 0 || envelope.count > most_count) {
    refuse(fmt::format("a message cannot have {} elements", envelope.count));
  }
  decoded.bytes = DataHeader::fixed_bytes + call_bytes;
  if (bytes.size() < decoded.bytes) return {};
  if (has_call) {
    Reader call(reader.text(call_bytes), "call");
    decoded.header.call = get_call(call);
  }
  return decoded;
}

std::string encode_frame_header(Frame::Kind kind, std::size_t body_bytes) {
  Writer writer;
  writer.put(frame_mark).put(static_cast<std::uint8_t>(kind)).put(std::uint16_t{0});
  writer.put(std::uint32_t{0}).put(static_cast<std::uint64_t>(body_bytes));
  return writer.take();
}

std::string encode(const Frame& frame) {
  return encode_frame_header(frame.kind, frame.body.size()) + frame.body;
}

std::optional<Frame> FrameReader::next() {
  if (!buffer_.empty() && static_cast<std::uint8_t>(buffer_[0]) != frame_mark) {
    refuse("a notice does not begin as one");
  }
  if (buffer_.size() < Frame::header_bytes) return {};
  Reader reader(buffer_, "notice");
  reader.get<std::uint8_t>();
  Frame frame;
  frame.kind = checked<Frame::Kind>(reader.get<std::uint8_t>(), frame_kinds, "kind of notice");
  reader.text(6);
  const auto bytes = reader.get<std::uint64_t>();
  const bool is_exchange = frame.kind == Frame::Kind::exchange;
  if (bytes > (is_exchange ? Frame::most_exchange_bytes : Frame::most_body_bytes)) {
    refuse(fmt::format("a notice of {} bytes is too long", bytes));
  }
  if (buffer_.size() < Frame::header_bytes + bytes) return {};
  if (buffer_.size() == Frame::header_bytes + bytes) {
    // The usual case, also of the largest.
    frame.body = std::move(buffer_.erase(0, Frame::header_bytes));
    buffer_.clear();
    return frame;
  }
  frame.body = reader.text(static_cast<std::size_t>(bytes));
  buffer_.erase(0, Frame::header_bytes + static_cast<std::size_t>(bytes));
  return frame;
}

std::string encode(const LaneState& state) {
  Writer writer;
  writer.put(state.run).put(state.lane).put(static_cast<std::uint8_t>(state.has_left));
  writer.put(state.sent).put(state.received).put(state.needed);
  writer.put(static_cast<std::uint8_t>(state.waits_to_send));
  put_call(writer, state.call);
  return writer.take();
}

LaneState decode_lane_state(std::string_view body) {
  Reader reader(body, "state");
  LaneState state;
  state.run = reader.get<std::uint64_t>();
  state.lane = reader.get<std::int32_t>();
  state.has_left = reader.get<std::uint8_t>() != 0;
  state.sent = reader.get<std::uint64_t>();
  state.received = reader.get<std::uint64_t>();
  state.needed = reader.get<std::int32_t>();
  state.waits_to_send = reader.get<std::uint8_t>() != 0;
  state.call = get_call(reader);
  return state;
}

std::string encode(const LaneEntry& entry) {
  const EntryNotice& notice = entry.notice;
  Writer writer;
  writer.put(entry.run).put(entry.lane).put(notice.group).put(notice.number).put(notice.round);
  put_sized_call(writer, notice.call);
  writer.put(static_cast<std::uint32_t>(notice.deviants.size()));
  for (const auto& [rank, call] : notice.deviants) {
    writer.put(std::int32_t{rank});
    put_sized_call(writer, call);
  }
  return writer.take();
}

LaneEntry decode_lane_entry(std::string_view body) {
  Reader reader(body, "call's notice");
  LaneEntry entry;
  EntryNotice& notice = entry.notice;
  entry.run = reader.get<std::uint64_t>();
  entry.lane = reader.get<std::int32_t>();
  notice.group = reader.get<std::uint64_t>();
  notice.number = reader.get<std::uint64_t>();
  notice.round = reader.get<std::int32_t>();
  notice.call = get_sized_call(reader);
  for (auto left = reader.get<std::uint32_t>(); left > 0; --left) {
    const auto rank = reader.get<std::int32_t>();
    notice.deviants[rank] = get_sized_call(reader);
  }
  reader.end();
  return entry;
}

std::string encode(const FailureNotice& notice) {
  constexpr std::size_t most_text_bytes = 4000;
  Writer writer;
  writer.put(notice.run).put(static_cast<std::uint8_t>(notice.kind));
  writer.put(std::string_view(notice.text).substr(0, most_text_bytes));
  return writer.take();
}

FailureNotice decode_failure(std::string_view body) {
  Reader reader(body, "failure");
  FailureNotice notice;
  notice.run = reader.get<std::uint64_t>();
  notice.kind = checked<ErrorKind>(reader.get<std::uint8_t>(), error_kinds, "kind of error");
  notice.text = reader.rest();
  return notice;
}

Endpoint parse_endpoint(std::string_view text) {
  const auto fail = [&] {
    return Error(ErrorKind::usage,
                 fmt::format("'{}' is no host and port, expected such as node0:29500, "
                             "10.0.0.1:29500 or [fd00::1]:29500",
                             text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) throw fail();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool is_bracketed = host.starts_with('[');
  if (is_bracketed) {
    if (!host.ends_with(']')) throw fail();
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty() || (!is_bracketed && host.find(':') != std::string_view::npos)) throw fail();
  Endpoint endpoint{std::string(host), 0};
  const auto result = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (result.ec != std::errc() || result.ptr != port.data() + port.size() || endpoint.port == 0) {
    throw fail();
  }
  return endpoint;
}

std::string encode(const Welcome& welcome) {
  Writer writer;
  writer.put(welcome.session).put(static_cast<std::uint32_t>(welcome.members.size()));
  for (const Member& member : welcome.members) {
    writer.put(member.port).put(static_cast<std::uint8_t>(member.address.size()));
    writer.put(member.address);
  }
  return writer.take();
}

Welcome decode_welcome(std::string_view body, int size) {
  Reader reader(body, "welcome");
  Welcome welcome;
  welcome.session = reader.get<std::uint64_t>();
  const auto count = reader.get<std::uint32_t>();
  if (count != static_cast<std::uint32_t>(size)) {
    refuse(fmt::format("a welcome to {} ranks, expected {}", count, size));
  }
  for (int rank = 0; rank < size; ++rank) {
    Member member;
    member.port = reader.get<std::uint16_t>();
    member.address = reader.text(reader.get<std::uint8_t>());
    welcome.members.push_back(std::move(member));
  }
  reader.end();
  return welcome;
}

}  // namespace tutti
