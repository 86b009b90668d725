// The waits of a ShmChannel: for messages, for ranks that have not made a call yet; how they sleep
// and how they fail.
#include <algorithm>
#include <cstddef>
#include <string>

#include "exec/shm_channel.hpp"
#include "exec/wait_cycle.hpp"

namespace tutti {
namespace {

// A wait longer than this is cut into such pieces, so that the time in which the process was
// stopped, as by Ctrl-Z, can be told from that in which it waited.
constexpr double piece_seconds = 0.1;

}  // namespace

void ShmChannel::on_call() {
  if (death_) return;
  record_call();
  if (!settings_.checks_calls) return;
  set_agreed(false);
  agreement_.begin(progress());
  wait_for_entries();
  agreement_.publish(progress());
  if (own_.is_awaited.load() && own_.is_awaited.exchange(false)) {
    for (int peer = 0; peer < size(); ++peer) board_.lane(peer, lane_).bell.ring();
  }
}

// Most programs make the same call again and again.
void ShmChannel::record_call() {
  static_assert(offsetof(CallRecord, sequence) == 0 && sizeof(CallRecord::sequence) == 8);
  if (progress().signature == recorded_signature_) {
    own_.call.store_front(progress().sequence);
    return;
  }
  own_.call.store(record_of(progress()));
  recorded_signature_ = progress().signature;
}

void ShmChannel::await_agreement() {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  wait_for_entries();
  set_agreed(true);
}

void ShmChannel::wait_for_entries() {
  try {
    while (!agreement_.look(progress())) wait_for({agreement_.missing(), WaitKind::entry});
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

bool ShmChannel::look_for_agreement() {
  if (!agreement_.look(progress())) return false;
  set_agreed(true);
  return true;
}

// Whether the message at the front may be taken. One of another call is refused anyway.
bool ShmChannel::may_write(const Incoming& in, const Envelope& envelope) {
  if (!in.is_in_call) return true;
  if (envelope.signature != progress().signature) return true;
  if (!agreement_.is_pair()) return look_for_agreement();
  agreement_.confirm_pair();
  set_agreed(true);
  return true;
}

// Whether a message is there whose receive is open, but must not be written yet.
bool ShmChannel::is_held(Link& link) {
  if (progress().is_agreed || link.receives.empty() || !link.receives.front().is_in_call) {
    return false;
  }
  const Slot* const slot = link.consumer->front();
  return slot != nullptr && slot->envelope.signature == progress().signature &&
         !agreement_.is_pair();
}

// What keeps `awaited` from coming about: a message that is there may have to wait for a rank that
// has not made the call yet.
ShmChannel::Awaited ShmChannel::blocker_of(const Awaited& awaited) {
  if (progress().is_agreed || awaited.kind == WaitKind::entry) return awaited;
  for (const int peer : active_) {
    if (!is_held(links_[static_cast<std::size_t>(peer)])) continue;
    if (look_for_agreement()) break;
    return {agreement_.missing(), WaitKind::entry};
  }
  return awaited;
}

void ShmChannel::wait_for(const Awaited& awaited) {
  double last_seconds = now(), waited_seconds = 0.0;
  for (;;) {
    const Awaited blocker = blocker_of(awaited);
    // What the peer sent before it left is in the queue by now, and poll() takes it.
    const bool has_left = board_.rank(blocker.peer).left.load();
    if (poll(awaited)) break;
    own_.needed.store(blocker.peer, std::memory_order_relaxed);
    if (board_.first_failed() >= 0) throw interrupted(awaited, blocker);
    const double now_seconds = now();
    waited_seconds += std::min(now_seconds - last_seconds, 2 * piece_seconds);
    last_seconds = now_seconds;
    const double left_seconds =
        std::min(settings_.timeout_seconds - waited_seconds, deadline_seconds_ - now_seconds);
    if (left_seconds <= 0.0) throw timed_out(awaited, blocker, waited_seconds);
    if (blocker_of(awaited) != blocker) continue;
    if (has_left) throw left_alone(awaited, blocker);
    sleep(blocker, now_seconds + std::min(left_seconds, piece_seconds));
  }
  if (waited_seconds > 0.0) own_.needed.store(-1, std::memory_order_relaxed);
}

void ShmChannel::sleep(const Awaited& blocker, double until_seconds) {
  return_room();
  own_.bell.arm();
  mark_asleep(blocker, true);
  if (!sees_reason_to_wake(blocker)) {
    const bool is_bounded = deadline_seconds_ != no_deadline;
    own_.waiting.store(Waiting{++episode_, blocker.peer, blocker.kind, is_bounded}.pack());
    check_cycle(blocker);
    own_.bell.sleep(until_seconds);
    own_.waiting.store(Waiting{episode_}.pack());
  }
  mark_asleep(blocker, false);
  own_.bell.disarm();
}

bool ShmChannel::sees_reason_to_wake(const Awaited& blocker) {
  if (blocker.kind == WaitKind::entry && agreement_.has_come()) return true;
  return can_advance() || board_.first_failed() >= 0 || board_.rank(blocker.peer).left.load();
}

// Says on which queues the other end has to ring. Taking a message out of a queue matters to its
// sender only if that wants room in it, or waits for that very message.
void ShmChannel::mark_asleep(const Awaited& awaited, bool asleep) {
  if (asleep && awaited.kind == WaitKind::entry) {
    board_.lane(awaited.peer, lane_).is_awaited.store(true);
  }
  for (const int peer : active_) {
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (!link.receives.empty()) link.consumer->queue().consumer_sleeps.store(asleep);
    const bool wants_room = link.published < link.sends.size();
    if (wants_room || (awaited.is_send() && awaited.peer == peer)) {
      link.producer->queue().producer_sleeps.store(asleep);
    }
  }
}

// Ranks that wait for each other will do so for ever.
void ShmChannel::check_cycle(const Awaited& blocker) const {
  const WaitCycle cycle = find_cycle(board_, lane_, rank());
  for (const int peer : cycle.ranks) {
    const CallRecord call = board_.lane(peer, lane_).call.load();
    if (call.sequence == 0 || call.signature == progress().signature) continue;
    throw call_mismatch(progress(), rank(), peer, call.describe());
  }
  if (cycle.ranks.empty() || cycle.is_bounded) return;
  std::string text = situation(blocker, blocker);
  for (std::size_t i = 1; i < cycle.ranks.size(); ++i) {
    text += fmt::format("; rank {} waits for rank {}", cycle.ranks[i],
                        cycle.ranks[(i + 1) % cycle.ranks.size()]);
  }
  throw Error(ErrorKind::deadlock, text + ": they will wait for each other for ever", rank());
}

// "allreduce_ring: rank 3 was waiting for 65536 bytes from rank 2 at step 4 of 7 of call #1
// (received 0)"
std::string ShmChannel::situation(const Awaited& awaited, const Awaited& blocker) const {
  const Amount amount = amount_of(awaited);
  std::string text =
      fmt::format("{}: rank {} was waiting ",
                  progress().depth > 0 ? progress().call.algorithm : "channel", rank());
  if (awaited.kind == WaitKind::entry) {
    text += fmt::format("for rank {} to make the same call", awaited.peer);
  } else {
    text += fmt::format("{} {} bytes {} rank {}", awaited.is_send() ? "to send" : "for",
                        amount.total_bytes, awaited.is_send() ? "to" : "from", awaited.peer);
  }
  text += fmt::format(" at {}{} ({} {})", progress().where(),
                      progress().depth > 0 ? fmt::format(" of call #{}", progress().sequence) : "",
                      awaited.is_send() ? "taken" : "received", amount.bytes);
  if (blocker != awaited) {
    text += fmt::format(" and for rank {} to make the same call", blocker.peer);
  }
  return text;
}

// Where all ranks' calls are what is wrong, it is an error of all.
Error ShmChannel::interrupted(const Awaited& awaited, const Awaited& blocker) const {
  const FailureRecord& first = board_.rank(board_.first_failed()).failure;
  const bool is_mismatch =
      first.cause == FailureRecord::Cause::error && first.kind == ErrorKind::mismatch;
  return {is_mismatch ? ErrorKind::mismatch : ErrorKind::peer_lost,
          fmt::format("{} when {}", situation(awaited, blocker), board_.describe_first_failure()),
          rank()};
}

Error ShmChannel::left_alone(const Awaited& awaited, const Awaited& blocker) const {
  const CallRecord last = board_.lane(blocker.peer, lane_).call.load();
  if (last.sequence == progress().sequence && last.signature != progress().signature) {
    return call_mismatch(progress(), rank(), blocker.peer, last.describe());
  }
  return {ErrorKind::peer_lost,
          fmt::format("{} but rank {} left after call #{}", situation(awaited, blocker),
                      blocker.peer, last.sequence),
          rank()};
}

Error ShmChannel::timed_out(const Awaited& awaited, const Awaited& blocker,
                            double waited_seconds) const {
  const CallRecord call = board_.lane(blocker.peer, lane_).call.load();
  if (call.sequence == progress().sequence && call.signature != progress().signature) {
    return call_mismatch(progress(), rank(), blocker.peer, call.describe());
  }
  const Amount amount = amount_of(awaited);
  std::string text;
  if (awaited.is_send()) {
    text = send_timeout(progress(), rank(), awaited.peer, waited_seconds, amount.total_bytes,
                        amount.bytes)
               .what();
  } else if (awaited.kind == WaitKind::receive) {
    text = receive_timeout(progress(), rank(), awaited.peer, waited_seconds, amount.total_bytes,
                           amount.bytes)
               .what();
  } else {
    text = fmt::format("{}: rank {} waited {:.3f} s for rank {} to make the same call, #{}",
                       progress().call.algorithm, rank(), waited_seconds, awaited.peer,
                       progress().sequence);
  }
  if (blocker != awaited) {
    text += fmt::format("; rank {} has not made call #{} yet", blocker.peer, progress().sequence);
  }
  return {ErrorKind::timeout, text + describe_waits(blocker.peer), rank()};
}

// Follows who waits for whom from `peer` to the one that does not wait.
std::string ShmChannel::describe_waits(int peer) const {
  std::string text;
  for (int hops = 0; hops < size(); ++hops) {
    const int needed = board_.lane(peer, lane_).needed.load(std::memory_order_relaxed);
    if (needed < 0)
      return text + fmt::format("; rank {} does not wait: it is busy or stopped", peer);
    text += fmt::format("; rank {} waits for rank {}", peer, needed);
    peer = needed;
    if (peer == rank()) break;
  }
  return text;
}

}  // namespace tutti
