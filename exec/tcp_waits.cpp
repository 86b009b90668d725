// The waits of a TcpChannel: for messages, for ranks that have not made a call yet; how they sleep
// and how they fail.
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "exec/tcp_channel.hpp"

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
// More looks at once gain nothing: the rank that is waited for may wait for this processor.
constexpr int most_looks = 10;

}  // namespace

// The call before may have had nothing to wait for.
void TcpChannel::on_call() {
  if (death_) return;
  settle();
  set_agreed(false);
  rounds_.begin(progress());
  try {
    look_for_entries();
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

void TcpChannel::await_agreement() {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  settle();
  set_agreed(true);
}

void TcpChannel::settle() {
  if (death_ || !rounds_.is_pending()) return;
  try {
    wait_for_entries();
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

void TcpChannel::look_for_entries() {
  for (TcpTransport::Entry& entry : transport_.take_entries(place_)) {
    rounds_.take(entry.from, std::move(entry.notice));
  }
  if (rounds_.look()) set_agreed(true);
}

void TcpChannel::wait_for_entries() {
  advance();
  while (rounds_.is_pending()) wait_for({.peer = rounds_.missing(), .is_entry = true});
}

// Throws where what is held is of another call: then some ranks may never tell of this one.
void TcpChannel::check_held() {
  for (const int peer : active_) {
    Link& link = link_of(peer);
    if (!is_held(link) || !link.socket.is_open() || !link.can_receive) continue;
    if (link.begin == link.end) read_some(link);
    const auto decoded =
        decode_data_header({link.buffer.data() + link.begin, link.end - link.begin});
    if (!decoded || decoded->header.envelope.signature == progress().signature) continue;
    take_header(peer, link, link.receives.front());
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
  const bool is_pending = rounds_.is_pending();
  if (is_pending) {
    if (!bell_.is_open()) bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!transport_.ring_for(place_, bell_.value())) return;
    events.push_back({bell_.value(), POLLIN, 0});
  }
  for (const int peer : active_) {
    const Link& link = link_of(peer);
    if (!link.socket.is_open()) continue;
    int wanted = 0;
    if (link.can_send && link.wants_to_send()) wanted |= POLLOUT;
    if (link.can_receive && !link.receives.empty() && !is_held(link)) wanted |= POLLIN;
    if (wanted != 0) events.push_back({link.socket.value(), static_cast<short>(wanted), 0});
  }
  const auto whole_seconds = static_cast<time_t>(seconds);
  const timespec longest{whole_seconds,
                         static_cast<long>((seconds - static_cast<double>(whole_seconds)) * 1e9)};
  ppoll(events.data(), events.size(), &longest, nullptr);
  if (is_pending) {
    transport_.forget(place_);
    eventfd_t rings = 0;
    eventfd_read(bell_.value(), &rings);
  }
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
  const auto failure = transport_.first_failure(place_, size());
  if (failure) {
    // Where all ranks' calls are what is wrong, it is an error of all.
    const bool is_mismatch = failure->kind == ErrorKind::mismatch;
    throw situation(awaited, "when " + failure->text,
                    is_mismatch ? ErrorKind::mismatch : ErrorKind::peer_lost);
  }
  if (awaited.is_entry && waited_seconds > long_wait_seconds) check_held();
  const LaneState state = transport_.state_of(place_, awaited.peer);
  const Link& link = link_of(awaited.peer);
  // What was sent before is still received.
  if (state.has_left && (awaited.is_send || state.sent <= link.receives_done)) {
    if (awaited.is_entry) look_for_entries();
    if (!is_done(awaited)) throw left_alone(awaited, state);
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
Error TcpChannel::situation(const Awaited& awaited, const std::string& event,
                            ErrorKind kind) const {
  if (awaited.is_entry && wanted_.ordinal > 0 && !is_done(wanted_)) {
    const std::string blocker = fmt::format("and for rank {} to make the same call ", awaited.peer);
    return situation(wanted_, blocker + event, kind);
  }
  const Amount amount = amount_of(awaited);
  std::string wish;
  if (awaited.is_entry) {
    wish = fmt::format("for rank {} to make the same call", awaited.peer);
  } else {
    wish = fmt::format("{} {} bytes {} rank {}", awaited.is_send ? "to send" : "for",
                       amount.total_bytes, awaited.is_send ? "to" : "from", awaited.peer);
  }
  return {kind,
          fmt::format("{}: rank {} was waiting {} at {}{} ({} {}) {}",
                      progress().depth > 0 ? progress().call.algorithm : "channel", rank(), wish,
                      progress().where(),
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
  const Error error = awaited.is_entry ? rounds_.timeout(waited_seconds)
                      : awaited.is_send
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
