#include "exec/tcp_transport.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "exec/clock.hpp"
#include "exec/tcp_channel.hpp"

namespace tutti {
namespace {

// No wait for news is longer, as some news rings no bell.
constexpr double piece_seconds = 0.05;
// How long a rank that lost a peer waits for the one who knows why.
constexpr double explanation_seconds = 0.05;
constexpr double handshake_seconds = 10.0;
constexpr double retry_seconds = 0.02;
constexpr std::size_t most_handshakes = 1024;
// More than one run ahead nobody can be.
constexpr std::uint64_t most_runs_ahead = 2;
constexpr int most_lanes = 1 << 16;

// Whose event it is: a peer's, the listener's, or a handshake's from first_handshake.
constexpr std::uint64_t listener_tag = std::uint64_t{1} << 32;
constexpr std::uint64_t first_handshake = listener_tag + 1;

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

TcpTransport::TcpTransport(TcpSetup setup)
    : JoinedTransport(setup.rank, static_cast<int>(setup.members.size())),
      setup_(std::move(setup)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      controls_(setup_.members.size()),
      next_handshake_(first_handshake) {
  if (!epoll_.is_open()) {
    throw Error(ErrorKind::system, fmt::format("cannot watch sockets: {}", std::strerror(errno)));
  }
  watch(setup_.listener.value(), listener_tag);
  for (auto& [peer, socket] : setup_.controls) adopt_control(peer, std::move(socket));
  setup_.controls.clear();
  connect_to_all();
}

TcpTransport::~TcpTransport() {
  part();
}

// Says goodbye on all connections. What was sent must arrive also where this host is gone with its
// last process, so it waits for the others to say goodbye too, for a while.
void TcpTransport::part() {
  const std::lock_guard lock(mutex_);
  const double end_seconds = monotonic_seconds() + setup_.linger_seconds;
  for (int peer = 0; peer < size(); ++peer) {
    if (!control_of(peer).socket.is_open()) continue;
    flush(peer);
    shutdown(control_of(peer).socket.value(), SHUT_WR);
  }
  for (;;) {
    progress_locked();
    const bool is_alone =
        std::none_of(controls_.begin(), controls_.end(),
                     [](const Control& control) { return control.socket.is_open(); });
    const double left_seconds = end_seconds - monotonic_seconds();
    if (is_alone || left_seconds <= 0.0) return;
    wait_for_events(std::min(left_seconds, piece_seconds));
  }
}

void TcpTransport::watch(int descriptor, std::uint64_t tag, bool wants_room) {
  epoll_event event{};
  event.events = wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = tag;
  if (epoll_ctl(epoll_.value(), EPOLL_CTL_ADD, descriptor, &event) < 0) {
    throw Error(ErrorKind::system, fmt::format("cannot watch a socket: {}", std::strerror(errno)));
  }
}

void TcpTransport::rewatch(int peer, bool wants_room) {
  Control& control = control_of(peer);
  if (control.wants_room == wants_room) return;
  control.wants_room = wants_room;
  epoll_event event{};
  event.events = wants_room ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(peer);
  epoll_ctl(epoll_.value(), EPOLL_CTL_MOD, control.socket.value(), &event);
}

void TcpTransport::adopt_control(int peer, Descriptor socket) {
  watch(socket.value(), static_cast<std::uint64_t>(peer));
  control_of(peer).socket = std::move(socket);
}

// To lower ranks it connects, from higher ones it is connected to.
void TcpTransport::connect_to_all() {
  const double end_seconds = monotonic_seconds() + setup_.timeout_seconds;
  std::map<int, Descriptor> connecting;
  std::string last_error;
  for (;;) {
    for (int peer = 0; peer < rank(); ++peer) {
      if (control_of(peer).socket.is_open() || connecting.contains(peer)) continue;
      connecting[peer] = connect(peer);
    }
    for (auto entry = connecting.begin(); entry != connecting.end();) {
      auto& [peer, socket] = *entry;
      pollfd event{socket.value(), POLLOUT, 0};
      if (poll(&event, 1, 0) == 0) {
        ++entry;
        continue;
      }
      const int error = connect_error(socket);
      if (error == 0) {
        const std::string hello = encode(Hello{.purpose = Hello::Purpose::control,
                                               .world = setup_.session,
                                               .rank = rank(),
                                               .size = size()});
        send(socket.value(), hello.data(), hello.size(), MSG_NOSIGNAL);
        adopt_control(peer, std::move(socket));
      } else {
        last_error = fmt::format("; rank {} at {}: {}", peer,
                                 describe(setup_.members[static_cast<std::size_t>(peer)]),
                                 std::strerror(error));
      }
      entry = connecting.erase(entry);
    }
    progress();
    const std::string missing = missing_controls();
    if (missing.empty()) return;
    // One that is gone already may have done all it had to do in the first run.
    const auto failure = first_failure({.run = 1, .lane = 0}, size());
    if (failure) {
      throw Error(
          ErrorKind::peer_lost,
          fmt::format("rank {} was connecting to the others when {}", rank(), failure->text),
          lost_.empty() ? rank() : lost_.front());
    }
    if (monotonic_seconds() > end_seconds) {
      throw Error(ErrorKind::timeout,
                  fmt::format("rank {} waited {:.3f} s for a connection with {}{}", rank(),
                              setup_.timeout_seconds, missing, last_error),
                  rank());
    }
    wait_for_events(connecting.empty() && last_error.empty() ? piece_seconds : retry_seconds);
  }
}

// "rank 1 and rank 3", or "".
std::string TcpTransport::missing_controls() const {
  std::string missing;
  for (int peer = 0; peer < size(); ++peer) {
    const Control& control = controls_[static_cast<std::size_t>(peer)];
    if (peer == rank() || control.socket.is_open() || !control.loss.empty()) continue;
    missing += fmt::format("{}rank {}", missing.empty() ? "" : " and ", peer);
  }
  return missing;
}

void TcpTransport::wait_for_events(double seconds) const {
  pollfd event{epoll_.value(), POLLIN, 0};
  poll(&event, 1, static_cast<int>(seconds * 1e3) + 1);
}

Descriptor TcpTransport::connect(int peer) const {
  return start_connecting(setup_.members[static_cast<std::size_t>(peer)], setup_.source);
}

std::string TcpTransport::hello(const Place& place) const {
  return encode(Hello{.purpose = Hello::Purpose::data,
                      .world = setup_.session,
                      .rank = rank(),
                      .size = size(),
                      .run = place.run,
                      .lane = place.lane});
}

void TcpTransport::progress() {
  const std::lock_guard lock(mutex_);
  progress_locked();
}

void TcpTransport::progress_locked() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.value(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == listener_tag) {
      take_in();
    } else if (event.data.u64 >= first_handshake) {
      shake(event.data.u64);
    } else {
      const int peer = static_cast<int>(event.data.u64);
      if ((event.events & EPOLLOUT) != 0) flush(peer);
      if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read_control(peer);
    }
  }
}

// Accepts all who wait, and forgets those who say nothing.
void TcpTransport::take_in() {
  const double now_seconds = monotonic_seconds();
  std::erase_if(handshakes_,
                [&](const auto& entry) { return entry.second.end_seconds < now_seconds; });
  while (handshakes_.size() < most_handshakes) {
    Descriptor socket = accept_from(setup_.listener);
    if (!socket.is_open()) return;
    const std::uint64_t tag = next_handshake_++;
    watch(socket.value(), tag);
    handshakes_[tag] = {std::move(socket), "", now_seconds + handshake_seconds};
    shake(tag);
  }
}

// Reads what a new peer says about itself, and not more.
void TcpTransport::shake(std::uint64_t tag) {
  const auto found = handshakes_.find(tag);
  if (found == handshakes_.end()) return;
  Handshake& handshake = found->second;
  std::array<char, Hello::encoded_bytes> bytes;
  const ssize_t count = recv(handshake.socket.value(), bytes.data(),
                             Hello::encoded_bytes - handshake.bytes.size(), 0);
  if (count < 0 && would_block()) return;
  if (count > 0) handshake.bytes.append(bytes.data(), static_cast<std::size_t>(count));
  std::optional<Hello> hello;
  try {
    if (count > 0) hello = decode_hello(handshake.bytes);
  } catch (const Error& error) {
    refuse(handshake.socket, error.what());
    handshakes_.erase(found);
    return;
  }
  if (count > 0 && !hello) return;
  Descriptor socket = std::move(handshake.socket);
  handshakes_.erase(found);
  if (!hello) return;
  epoll_ctl(epoll_.value(), EPOLL_CTL_DEL, socket.value(), nullptr);
  admit(std::move(socket), *hello);
}

// Gives the connection the place that it asks for, if that is its.
void TcpTransport::admit(Descriptor socket, const Hello& hello) {
  if (hello.purpose == Hello::Purpose::join) {
    return refuse(socket, fmt::format("rank {} asks to join, but all {} ranks have joined",
                                      hello.rank, size()));
  }
  if (hello.world != setup_.session) return refuse(socket, "the peer is of another world");
  if (hello.size != size() || hello.rank <= rank() || hello.rank >= size()) {
    return refuse(socket,
                  fmt::format("the peer claims to be rank {} of {}", hello.rank, hello.size));
  }
  if (hello.purpose == Hello::Purpose::control) {
    const Control& control = control_of(hello.rank);
    if (control.socket.is_open() || !control.loss.empty()) {
      return refuse(socket, fmt::format("rank {} is connected already", hello.rank));
    }
    return adopt_control(hello.rank, std::move(socket));
  }
  if (hello.lane < 0 || hello.lane >= most_lanes) return refuse(socket, "no such lane");
  connections_[{hello.run, hello.lane, hello.rank}] = std::move(socket);
}

void TcpTransport::refuse(Descriptor& socket, const std::string& why) {
  const std::string frame = encode(Frame{Frame::Kind::refused, why});
  const std::string who = describe(remote_member(socket));
  send(socket.value(), frame.data(), frame.size(), MSG_NOSIGNAL);
  socket.reset();
  if (setup_.warn) setup_.warn(fmt::format("rank {} refused {}: {}", rank(), who, why));
}

Descriptor TcpTransport::take_connection(const Place& place, int peer) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find({place.run, place.lane, peer});
  if (found == connections_.end()) return Descriptor();
  Descriptor socket = std::move(found->second);
  connections_.erase(found);
  return socket;
}

void TcpTransport::read_control(int peer) {
  Control& control = control_of(peer);
  std::array<char, 65536> bytes;
  while (control.socket.is_open()) {
    const ssize_t count = recv(control.socket.value(), bytes.data(), bytes.size(), 0);
    if (count < 0 && would_block()) return;
    if (count <= 0) {
      // One that ends with unread notices resets it.
      const bool is_closed = count == 0 || errno == ECONNRESET;
      const int error = errno;
      const std::string who = describe(setup_.members[static_cast<std::size_t>(peer)]);
      return lose(peer, is_closed ? fmt::format("rank {} ({}) closed its connection", peer, who)
                                  : fmt::format("the connection to rank {} ({}) broke: {}", peer,
                                                who, std::strerror(error)));
    }
    try {
      control.reader.append({bytes.data(), static_cast<std::size_t>(count)});
      while (auto frame = control.reader.next()) take_frame(peer, std::move(*frame));
    } catch (const Error& error) {
      return lose(peer, fmt::format("rank {} sent what makes no sense: {}", peer, error.what()));
    }
  }
}

void TcpTransport::take_frame(int peer, Frame frame) {
  switch (frame.kind) {
    case Frame::Kind::welcome:
      throw Error(ErrorKind::mismatch, "a welcome to one who is there");
    case Frame::Kind::refused:
      throw Error(ErrorKind::mismatch, fmt::format("it refuses this rank: {}", frame.body));
    case Frame::Kind::failed: {
      const FailureNotice notice = decode_failure(frame.body);
      failures_.try_emplace(notice.run, KnownFailure{notice.kind, fmt::format("rank {} failed: {}",
                                                                              peer, notice.text)});
      return;
    }
    case Frame::Kind::state: {
      const LaneState state = decode_lane_state(frame.body);
      states_[{state.run, state.lane, peer}] = state;
      return;
    }
    case Frame::Kind::entry: {
      LaneEntry entry = decode_lane_entry(frame.body);
      Inbox& inbox = inboxes_[{entry.run, entry.lane}];
      inbox.entries.push_back({peer, std::move(entry.notice)});
      if (inbox.bell >= 0) eventfd_write(inbox.bell, 1);
      return;
    }
    case Frame::Kind::finish:
      control_of(peer).end = std::move(frame.body);
      return;
    case Frame::Kind::exchange:
      control_of(peer).exchanges.push_back(std::move(frame.body));
      return;
  }
}

void TcpTransport::lose(int peer, const std::string& why) {
  Control& control = control_of(peer);
  control.loss = why;
  control.socket.reset();
  control.outbox.clear();
  lost_.push_back(peer);
}

void TcpTransport::post(int peer, Frame::Kind kind, const std::string& body) {
  Control& control = control_of(peer);
  if (!control.socket.is_open()) return;
  control.outbox.push_back(encode_frame_header(kind, body.size()) + body);
  flush(peer);
}

void TcpTransport::flush(int peer) {
  Control& control = control_of(peer);
  while (control.socket.is_open() && !control.outbox.empty()) {
    const std::string& front = control.outbox.front();
    const ssize_t count = send(control.socket.value(), front.data() + control.sent_bytes,
                               front.size() - control.sent_bytes, MSG_NOSIGNAL);
    if (count < 0 && would_block()) return rewatch(peer, true);
    // That the peer is gone is found when what it sent before has been read.
    if (count < 0) control.outbox.clear();
    if (count < 0) break;
    control.sent_bytes += static_cast<std::size_t>(count);
    if (control.sent_bytes < front.size()) continue;
    control.outbox.pop_front();
    control.sent_bytes = 0;
  }
  if (control.socket.is_open()) rewatch(peer, false);
}

LaneState TcpTransport::state_of(const Place& place, int peer) {
  const std::lock_guard lock(mutex_);
  const auto found = states_.find({place.run, place.lane, peer});
  return found == states_.end() ? LaneState{} : found->second;
}

void TcpTransport::tell(int peer, const LaneState& state) {
  const std::lock_guard lock(mutex_);
  post(peer, Frame::Kind::state, encode(state));
}

void TcpTransport::send_entry(const Place& place, int peer, const EntryNotice& notice) {
  const std::lock_guard lock(mutex_);
  post(peer, Frame::Kind::entry, encode(LaneEntry{place.run, place.lane, notice}));
}

std::vector<TcpTransport::Entry> TcpTransport::take_entries(const Place& place) {
  const std::lock_guard lock(mutex_);
  progress_locked();
  const auto found = inboxes_.find({place.run, place.lane});
  if (found == inboxes_.end()) return {};
  return std::exchange(found->second.entries, {});
}

bool TcpTransport::ring_for(const Place& place, int bell) {
  const std::lock_guard lock(mutex_);
  Inbox& inbox = inboxes_[{place.run, place.lane}];
  if (inbox.entries.empty()) inbox.bell = bell;
  return inbox.entries.empty();
}

void TcpTransport::forget(const Place& place) {
  const std::lock_guard lock(mutex_);
  inboxes_[{place.run, place.lane}].bell = -1;
}

std::optional<KnownFailure> TcpTransport::first_failure(const Place& place, int size) {
  const double end_seconds = monotonic_seconds() + explanation_seconds;
  for (;;) {
    std::string loss;
    {
      const std::lock_guard lock(mutex_);
      const auto failure = failures_.find(place.run);
      if (failure != failures_.end()) return failure->second;
      std::vector<int> gone = lost_;
      for (int peer = 0; peer < size; ++peer) {
        if (control_of(peer).end) gone.push_back(peer);
      }
      for (const int peer : gone) {
        const auto state = states_.find({place.run, place.lane, peer});
        const bool has_left = state != states_.end() && state->second.has_left;
        if (peer < size && !has_left && loss.empty()) loss = control_of(peer).gone(peer);
      }
    }
    const auto elsewhere = setup_.failure_elsewhere ? setup_.failure_elsewhere() : std::nullopt;
    if (elsewhere) return elsewhere;
    const double left_seconds = end_seconds - monotonic_seconds();
    if (loss.empty()) return std::nullopt;
    if (!setup_.failure_elsewhere || left_seconds <= 0.0) return KnownFailure{.text = loss};
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::unique_ptr<RealChannel> TcpTransport::open_channel(std::uint64_t run, int size, int lane,
                                                        double timeout_seconds) {
  drop_before(run);
  return std::make_unique<TcpChannel>(
      *this, size, Place{run, lane},
      TcpChannel::Settings{.timeout_seconds = timeout_seconds, .yields = yields()});
}

// Forgets what is left of earlier runs.
void TcpTransport::drop_before(std::uint64_t run) {
  const std::lock_guard lock(mutex_);
  const auto is_old = [run](const auto& entry) { return std::get<0>(entry.first) < run; };
  std::erase_if(connections_, is_old);
  std::erase_if(states_, is_old);
  std::erase_if(failures_, [run](const auto& entry) { return entry.first < run; });
  std::erase_if(inboxes_, [run](const auto& entry) { return entry.first.first < run; });
}

bool TcpTransport::announce_failure(std::uint64_t run, const Error& error) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    progress_locked();
    const bool is_first =
        failures_.try_emplace(run, KnownFailure{error.kind(), error.what()}).second &&
        lost_.empty();
    for (int peer = 0; peer < size(); ++peer) {
      post(peer, Frame::Kind::failed, encode(FailureNotice{run, error.kind(), error.what()}));
    }
    return is_first;
  } catch (...) {
    return false;  // The others will notice that this rank is gone.
  }
}

}  // namespace tutti
