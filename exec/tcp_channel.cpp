#include "exec/tcp_channel.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "collectives/kernels.hpp"

namespace tutti {
namespace {

// A wait longer than this is cut into such pieces: some news rings no bell, and the time in which
// the process was stopped, as by Ctrl-Z, can be told from that in which it waited.
constexpr double piece_seconds = 0.05;
// Waits longer than this are told to the others, to whom they may explain theirs.
constexpr double long_wait_seconds = 0.1;
// A timeout sooner than this cannot know what the others wait for.
constexpr double knowing_seconds = 0.4;
// How long a broken connection may stay without an explanation.
constexpr double unexplained_seconds = 1.0;

constexpr std::size_t buffer_bytes = std::size_t{128} << 10;
constexpr std::size_t peek_bytes = 1024;  // Read with a header whose payload goes elsewhere.
constexpr std::size_t straight_bytes = 4096;
constexpr std::size_t most_gathered = 8;  // Messages in one call of the system.
// More looks at once gain nothing: the rank that is waited for may wait for this processor.
constexpr int most_looks = 10;

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
  link.receives.push_back({.block = block, .op = op});
  return encode({from, false, ++link.receives_posted});
}

bool TcpChannel::is_done(const Awaited& awaited) const {
  const Link& link = link_of(awaited.peer);
  return awaited.ordinal <= (awaited.is_send ? link.sends_done : link.receives_done);
}

TcpChannel::Amount TcpChannel::amount_of(const Awaited& awaited) const {
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
    if (!is_done(awaited)) wait_for(awaited);
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

// Looks for a while; a yield hands the processor to a rank that is waited for at a fraction of what
// a sleep costs.
bool TcpChannel::poll(const Awaited& awaited) {
  for (int looks = 0; looks < most_looks; ++looks) {
    advance();
    if (is_done(awaited)) return true;
  }
  if (settings_.yields == 0 || !yield_budget_.may_yield()) return false;
  double last_seconds = now();
  for (int yields = 0; yields < settings_.yields; ++yields) {
    sched_yield();
    const double now_seconds = now();
    const bool may_go_on = yield_budget_.may_go_on(now_seconds - last_seconds);
    last_seconds = now_seconds;
    advance();
    if (is_done(awaited)) break;
    if (!may_go_on) return false;
  }
  yield_budget_.recover();
  return is_done(awaited);
}

void TcpChannel::wait_for(const Awaited& awaited) {
  double last_seconds = now(), waited_seconds = 0.0;
  bool has_told = false;
  while (!poll(awaited)) {
    check_peers(awaited, waited_seconds);
    const double now_seconds = now();
    waited_seconds += std::min(now_seconds - last_seconds, 2 * piece_seconds);
    last_seconds = now_seconds;
    const double left_seconds =
        std::min(settings_.timeout_seconds - waited_seconds, deadline_seconds_ - now_seconds);
    if (left_seconds <= 0.0) throw timed_out(awaited, waited_seconds);
    if (waited_seconds > long_wait_seconds && !has_told) {
      tell_all(awaited.peer, awaited.is_send);
      has_told = true;
    }
    sleep(std::min(left_seconds, piece_seconds));
  }
  if (has_told) tell_all(-1, false);
}

// Until something can be moved, or there is news.
void TcpChannel::sleep(double seconds) {
  std::vector<pollfd> events{{transport_.events(), POLLIN, 0}};
  for (const int peer : active_) {
    const Link& link = link_of(peer);
    if (!link.socket.is_open()) continue;
    int wanted = 0;
    if (link.can_send && link.wants_to_send()) wanted |= POLLOUT;
    if (link.can_receive && !link.receives.empty()) wanted |= POLLIN;
    if (wanted != 0) events.push_back({link.socket.value(), static_cast<short>(wanted), 0});
  }
  const auto whole_seconds = static_cast<time_t>(seconds);
  const timespec longest{whole_seconds,
                         static_cast<long>((seconds - static_cast<double>(whole_seconds)) * 1e9)};
  ppoll(events.data(), events.size(), &longest, nullptr);
  if (events.front().revents != 0) transport_.progress();
}

LaneState TcpChannel::own_state(int peer) const {
  const Link& link = link_of(peer);
  LaneState state;
  state.run = place_.run;
  state.lane = place_.lane;
  state.sent = link.sends_done;
  state.received = link.receives_done;
  state.call = record_of(progress());
  return state;
}

void TcpChannel::tell_all(int needed, bool waits_to_send) {
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    LaneState state = own_state(peer);
    state.needed = needed;
    state.waits_to_send = waits_to_send;
    transport_.tell(peer, state);
  }
}

// Throws where the wait is in vain.
void TcpChannel::check_peers(const Awaited& awaited, double waited_seconds) {
  const std::string failure = transport_.first_failure(place_, size());
  if (!failure.empty()) throw situation(awaited, "when " + failure);
  const LaneState state = transport_.state_of(place_, awaited.peer);
  const Link& link = link_of(awaited.peer);
  // What was sent before is still received.
  if (state.has_left && (awaited.is_send || state.sent <= link.receives_done)) {
    throw left_alone(awaited, state);
  }
  const bool is_elsewhere =
      state.call.sequence == progress().sequence && state.call.signature != progress().signature;
  if (is_elsewhere && waits_in_vain(awaited.peer, state)) {
    throw call_mismatch(progress(), rank(), awaited.peer, state.call.describe());
  }
  const bool is_broken = awaited.is_send ? !link.can_send : !link.can_receive;
  if (is_broken && waited_seconds > unexplained_seconds) {
    throw situation(awaited, fmt::format("but the connection to rank {} broke", awaited.peer));
  }
}

// True where `peer` waits for this rank, which waits for it.
bool TcpChannel::waits_in_vain(int peer, const LaneState& state) const {
  if (state.needed != rank()) return false;
  const Link& link = link_of(peer);
  if (state.waits_to_send) return link.receives.empty();
  return link.sends.empty() && state.received == link.sends_done;
}

// "allreduce_ring: rank 3 was waiting for 65536 bytes from rank 2 at step 4 of 7 of call #1
// (received 0) when rank 2 failed"
Error TcpChannel::situation(const Awaited& awaited, const std::string& event) const {
  const Amount amount = amount_of(awaited);
  return {ErrorKind::peer_lost,
          fmt::format("{}: rank {} was waiting {} {} bytes {} rank {} at {}{} ({} {}) {}",
                      progress().depth > 0 ? progress().call.algorithm : "channel", rank(),
                      awaited.is_send ? "to send" : "for", amount.total_bytes,
                      awaited.is_send ? "to" : "from", awaited.peer, progress().where(),
                      progress().depth > 0 ? fmt::format(" of call #{}", progress().sequence) : "",
                      awaited.is_send ? "taken" : "received", amount.bytes, event),
          rank()};
}

Error TcpChannel::left_alone(const Awaited& awaited, const LaneState& state) const {
  if (state.call.sequence == progress().sequence && state.call.signature != progress().signature) {
    return call_mismatch(progress(), rank(), awaited.peer, state.call.describe());
  }
  return situation(
      awaited, fmt::format("but rank {} left after call #{}", awaited.peer, state.call.sequence));
}

// Follows who waits for whom to the one that does not wait.
Error TcpChannel::timed_out(const Awaited& awaited, double waited_seconds) {
  transport_.progress();
  const LaneState state = transport_.state_of(place_, awaited.peer);
  if (state.call.sequence == progress().sequence && state.call.signature != progress().signature &&
      state.call.sequence > 0) {
    return call_mismatch(progress(), rank(), awaited.peer, state.call.describe());
  }
  const Amount amount = amount_of(awaited);
  const Error error = awaited.is_send
                          ? send_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                         amount.total_bytes, amount.bytes)
                          : receive_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                            amount.total_bytes, amount.bytes);
  if (waited_seconds < knowing_seconds) return error;
  std::string text = error.what();
  int culprit = awaited.peer;
  for (int hops = 0; hops < size() && culprit != rank(); ++hops) {
    const int needed = transport_.state_of(place_, culprit).needed;
    if (needed < 0) {
      text += fmt::format("; rank {} does not wait: it is busy or stopped", culprit);
      break;
    }
    text += fmt::format("; rank {} waits for rank {}", culprit, needed);
    culprit = needed;
  }
  return {ErrorKind::timeout, text, rank()};
}

}  // namespace tutti
