#include "exec/tcp_channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "collectives/kernels.hpp"

namespace tutti {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;
constexpr std::size_t peek_bytes = 1024;  // Read with a header whose payload goes elsewhere.
constexpr std::size_t straight_bytes = 4096;
constexpr std::size_t most_gathered = 8;  // Messages in one call of the system.

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

TcpChannel::TcpChannel(TcpTransport& transport, int size, TcpTransport::Place place,
                       Settings settings)
    : RealChannel(transport.rank(), size),
      transport_(transport),
      place_(place),
      settings_(settings),
      rounds_(
          transport.rank(), size,
          [this](int to, const EntryNotice& notice) { transport_.send_entry(place_, to, notice); }),
      links_(static_cast<std::size_t>(size)) {}

TcpChannel::~TcpChannel() {
  if (death_) return;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    LaneState state = own_state(peer);
    state.has_left = true;
    transport_.tell(peer, state);
  }
}

// Whether what comes next must not be taken yet.
bool TcpChannel::is_held(const Link& link) const {
  return rounds_.is_pending() && !link.receives.empty() && link.receives.front().is_in_call;
}

PeerTraffic TcpChannel::traffic(int peer) const {
  const Link& link = link_of(peer);
  return {link.sends_done, link.receives_done, link.last_sent};
}

bool TcpChannel::Incoming::goes_straight() const {
  return op == Op::replace && missing_bytes() >= straight_bytes;
}

Request TcpChannel::encode(const Awaited& awaited) {
  return Request{awaited.ordinal << 24 | static_cast<std::uint64_t>(awaited.peer) << 1 |
                 (awaited.is_send ? 1U : 0U)};
}

TcpChannel::Awaited TcpChannel::decode(Request request) {
  return {static_cast<int>(request.id >> 1 & 0x7fffff), (request.id & 1) != 0, request.id >> 24};
}

// What every post does first.
TcpChannel::Link& TcpChannel::begin(int peer) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  if (settings_.call != nullptr && published_call_ != progress().sequence) {
    settings_.call->store(record_of(progress()));
    published_call_ = progress().sequence;
  }
  Link& link = link_of(peer);
  if (!link.socket.is_open()) connect(peer, link);
  if (!link.is_active) active_.push_back(peer);
  link.is_active = true;
  ++open_requests_;
  return link;
}

// The higher rank connects. What goes wrong is explained by the control connection.
void TcpChannel::connect(int peer, Link& link) {
  if (!link.can_send) return;
  if (peer > rank()) {
    link.socket = transport_.take_connection(place_, peer);
    return;
  }
  try {
    link.socket = transport_.connect(peer);
    link.preamble = transport_.hello(place_);
  } catch (const Error&) {
    link.can_send = link.can_receive = false;
  }
}

Request TcpChannel::post_send(int to, Block block) {
  Link& link = begin(to);
  DataHeader header{.envelope = envelope_of(progress(), block), .call = {}};
  if (progress().depth > 0 && link.told_call != progress().sequence) {
    header.call = record_of(progress());
    link.told_call = progress().sequence;
  }
  link.last_sent = header.envelope;
  link.sends.push_back({.block = block, .header = tutti::encode(header)});
  ++link.sends_posted;
  advance_sends(to, link);
  return encode({to, true, link.sends_posted});
}

Request TcpChannel::post_recv(int from, Block block, Op op) {
  Link& link = begin(from);
  link.receives.push_back({.block = block, .op = op, .is_in_call = progress().depth > 0});
  return encode({from, false, ++link.receives_posted});
}

bool TcpChannel::is_done(const Awaited& awaited) const {
  if (awaited.is_entry) return rounds_.missing() != awaited.peer;
  const Link& link = link_of(awaited.peer);
  return awaited.ordinal <= (awaited.is_send ? link.sends_done : link.receives_done);
}

TcpChannel::Amount TcpChannel::amount_of(const Awaited& awaited) const {
  if (awaited.is_entry) return {};
  const Link& link = link_of(awaited.peer);
  if (awaited.is_send) {
    const Outgoing& out = link.sends[awaited.ordinal - link.sends_done - 1];
    return {out.sent_bytes - std::min(out.sent_bytes, out.header.bytes), out.block.bytes()};
  }
  const Incoming& in = link.receives[awaited.ordinal - link.receives_done - 1];
  return {in.received_bytes, in.block.bytes()};
}

void TcpChannel::note_traffic(int peer) {
  if (settings_.ledger != nullptr) settings_.ledger[peer] = traffic(peer);
}

// Moves whatever can be moved on any link, without waiting.
void TcpChannel::advance() {
  if (rounds_.is_pending()) look_for_entries();
  for (std::size_t i = 0; i < active_.size();) {
    const int peer = active_[i];
    Link& link = link_of(peer);
    if (!link.socket.is_open() && peer > rank()) connect(peer, link);
    if (link.wants_to_send()) advance_sends(peer, link);
    if (!link.receives.empty()) advance_receives(peer, link);
    link.is_active = link.wants_to_send() || !link.receives.empty();
    if (link.is_active) {
      ++i;
    } else {
      active_[i] = active_.back();
      active_.pop_back();
    }
  }
}

void TcpChannel::advance_sends(int peer, Link& link) {
  const std::uint64_t before = link.sends_done;
  while (link.socket.is_open() && link.can_send && link.wants_to_send() && send_some(link)) {
  }
  if (link.sends_done != before) note_traffic(peer);
}

// Hands over as much as fits. False where there was not room for all of it.
bool TcpChannel::send_some(Link& link) {
  std::array<iovec, 1 + 2 * most_gathered> parts{};
  std::size_t count = 0, total_bytes = 0;
  const auto add = [&](const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    parts[count++] = {const_cast<void*>(data), bytes};
    total_bytes += bytes;
  };
  add(link.preamble.data(), link.preamble.size());
  const std::size_t messages = std::min(link.sends.size(), most_gathered);
  for (std::size_t i = 0; i < messages; ++i) {
    const Outgoing& out = link.sends[i];
    const std::size_t of_header = std::min(out.sent_bytes, out.header.bytes);
    add(out.header.data.data() + of_header, out.header.bytes - of_header);
    const std::size_t of_payload = out.sent_bytes - of_header;
    if (out.payload_bytes() > 0) {
      add(out.block.data + of_payload, out.payload_bytes() - of_payload);
    }
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(link.socket.value(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (!would_block()) link.can_send = false;
    return false;
  }
  count_sent(link, static_cast<std::size_t>(sent));
  return static_cast<std::size_t>(sent) == total_bytes;
}

void TcpChannel::count_sent(Link& link, std::size_t bytes) {
  const std::size_t of_preamble = std::min(bytes, link.preamble.size());
  link.preamble.erase(0, of_preamble);
  bytes -= of_preamble;
  while (bytes > 0) {
    Outgoing& out = link.sends.front();
    const std::size_t missing_bytes = out.header.bytes + out.payload_bytes() - out.sent_bytes;
    out.sent_bytes += std::min(bytes, missing_bytes);
    if (bytes < missing_bytes) return;
    bytes -= missing_bytes;
    link.sends.pop_front();
    ++link.sends_done;
  }
}

void TcpChannel::advance_receives(int peer, Link& link) {
  if (is_held(link)) return;
  const std::uint64_t before = link.receives_done;
  bool may_be_more = true;
  while (!link.receives.empty()) {
    if (take(peer, link, link.receives.front())) {
      link.receives.pop_front();
      ++link.receives_done;
      continue;
    }
    if (!may_be_more || !link.socket.is_open() || !link.can_receive) break;
    may_be_more = read_some(link);
  }
  if (link.receives_done != before) note_traffic(peer);
}

// Reads for the first receive, which needs more than there is. False where the socket is empty.
bool TcpChannel::read_some(Link& link) {
  Incoming& in = link.receives.front();
  if (link.buffer.empty()) link.buffer.resize(buffer_bytes);
  // What is left is less than a header or an element.
  if (link.begin > 0) {
    std::memmove(link.buffer.data(), link.buffer.data() + link.begin, link.end - link.begin);
    link.end -= link.begin;
    link.begin = 0;
  }
  std::array<iovec, 2> parts{};
  std::size_t count = 0, straight = 0;
  if (in.has_header && in.goes_straight()) {
    straight = in.missing_bytes();
    parts[count++] = {in.block.data + in.received_bytes, straight};
  }
  const bool is_short = in.goes_straight();
  const std::size_t room = link.buffer.size() - link.end;
  parts[count++] = {link.buffer.data() + link.end, is_short ? std::min(room, peek_bytes) : room};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t result = recvmsg(link.socket.value(), &message, MSG_DONTWAIT);
  if (result == 0) link.can_receive = false;
  if (result < 0 && !would_block()) link.can_receive = false;
  if (result <= 0) return false;
  const auto bytes = static_cast<std::size_t>(result);
  const std::size_t placed = std::min(bytes, straight);
  in.received_bytes += placed;
  link.end += bytes - placed;
  return bytes == straight + parts[count - 1].iov_len;
}

// Takes of the buffer what belongs to the receive; true when it is complete.
bool TcpChannel::take(int peer, Link& link, Incoming& in) {
  if (!in.has_header && !take_header(peer, link, in)) return false;
  take_payload(link, in);
  return in.missing_bytes() == 0;
}

bool TcpChannel::take_header(int peer, Link& link, Incoming& in) {
  if (link.begin == link.end) return false;
  const auto decoded = decode_data_header({link.buffer.data() + link.begin, link.end - link.begin});
  if (!decoded) return false;
  const DataHeader& header = decoded->header;
  if (header.call) link.peer_call = *header.call;
  const bool is_known =
      link.peer_call.signature == header.envelope.signature && link.peer_call.sequence > 0;
  check_envelope(progress(), rank(), peer, in.block, header.envelope,
                 is_known ? link.peer_call.describe() : std::string());
  link.begin += decoded->bytes;
  in.has_header = true;
  return true;
}

void TcpChannel::take_payload(Link& link, Incoming& in) {
  const std::size_t bytes = std::min(link.end - link.begin, in.missing_bytes());
  std::byte* const target = in.block.data + in.received_bytes;
  if (in.op == Op::replace) {
    // All of it, also a part of an element: what follows may not come through the buffer.
    if (bytes > 0) std::memcpy(target, link.buffer.data() + link.begin, bytes);
    in.received_bytes += bytes;
    link.begin += bytes;
    return;
  }
  const std::size_t element_bytes = bytes_of(in.block.dtype);
  const std::size_t count = bytes / element_bytes;
  if (count == 0) return;
  if (link.begin % element_bytes != 0) {
    std::memmove(link.buffer.data(), link.buffer.data() + link.begin, link.end - link.begin);
    link.end -= link.begin;
    link.begin = 0;
  }
  reduce_elements(in.op, in.block.dtype, target, link.buffer.data() + link.begin, count);
  in.received_bytes += count * element_bytes;
  link.begin += count * element_bytes;
}

void TcpChannel::complete(Request request) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  const Awaited awaited = decode(request);
  --open_requests_;
  try {
    advance();
    wanted_ = awaited;
    if (rounds_.is_pending() && progress().depth > 0) wait_for_entries();
    wanted_ = {};
    if (!is_done(awaited)) wait_for(awaited);
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

}  // namespace tutti
