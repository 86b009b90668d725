#include "exec/shm_channel.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "collectives/kernels.hpp"
#include "exec/cores.hpp"

namespace tutti {
namespace {

// A wait longer than this is cut into such pieces, so that the time in which the process was
// stopped, as by Ctrl-Z, can be told from that in which it waited.
constexpr double piece_seconds = 0.1;

// Tells the processor that this is a waiting loop.
void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// Yields hand the processor to the rank that is waited for at a fraction of what a sleep and a
// wake-up cost. More polls than these gain nothing on an idle machine and lose whole time slices on
// a busy one.
Patience patience_for(int ranks) {
  if (ranks <= available_cores()) return {.polls = 300, .yields = 80};
  return {.polls = 10, .yields = 80};
}

ShmChannel::ShmChannel(int rank, int lane, const Board& board, const SharedArena& arena,
                       Settings settings)
    : RealChannel(rank, board.size()),
      lane_(lane),
      board_(board),
      arena_(arena),
      settings_(settings),
      own_(board.lane(rank, lane)),
      links_(static_cast<std::size_t>(board.size())) {}

Request ShmChannel::encode(const Awaited& awaited) {
  return Request{awaited.ordinal << 24 | static_cast<std::uint64_t>(awaited.peer) << 1 |
                 (awaited.is_send ? 1U : 0U)};
}

ShmChannel::Awaited ShmChannel::decode(Request request) {
  return {static_cast<int>(request.id >> 1 & 0x7fffff), (request.id & 1) != 0, request.id >> 24};
}

// What every post does first.
ShmChannel::Link& ShmChannel::begin(int peer) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  if (published_call_ != progress().sequence) publish_call();
  ++posted_;
  Link& link = links_[static_cast<std::size_t>(peer)];
  if (!link.producer) {
    link.producer.emplace(board_.queue(rank(), peer, lane_));
    link.consumer.emplace(board_.queue(peer, rank(), lane_));
  }
  if (!link.is_active) active_.push_back(peer);
  link.is_active = true;
  ++open_requests_;
  return link;
}

void ShmChannel::publish_call() {
  const Call& call = progress().call;
  CallRecord record{
      progress().sequence, progress().signature, call.count, call.root, call.dtype, call.op, {}};
  const std::size_t length = std::min(call.algorithm.size(), record.algorithm.size() - 1);
  std::memcpy(record.algorithm.data(), call.algorithm.data(), length);
  own_.call.store(record);
  published_call_ = progress().sequence;
}

Request ShmChannel::post_send(int to, Block block) {
  Link& link = begin(to);
  const bool in_place = !block.is_ghost() && block.bytes() > Slot::capacity_bytes &&
                        arena_.contains(block.data, block.bytes());
  link.sends.push_back(
      {.block = block, .envelope = envelope_of(progress(), block), .in_place = in_place});
  advance_sends(to, link);
  return encode({to, true, ++link.sends_posted});
}

Request ShmChannel::post_recv(int from, Block block, Op op) {
  Link& link = begin(from);
  link.receives.push_back({.block = block, .op = op});
  return encode({from, false, ++link.receives_posted});
}

bool ShmChannel::is_done(const Awaited& awaited) const {
  const Link& link = links_[static_cast<std::size_t>(awaited.peer)];
  return awaited.ordinal <= (awaited.is_send ? link.sends_done : link.receives_done);
}

ShmChannel::Amount ShmChannel::amount_of(const Awaited& awaited) const {
  const Link& link = links_[static_cast<std::size_t>(awaited.peer)];
  if (awaited.is_send) {
    const Outgoing& out = link.sends[awaited.ordinal - link.sends_done - 1];
    return {out.in_place ? 0 : out.taken_bytes, out.block.bytes()};
  }
  const Incoming& in = link.receives[awaited.ordinal - link.receives_done - 1];
  return {in.received_bytes, in.block.bytes()};
}

// Moves whatever can be moved on any link, without waiting.
void ShmChannel::advance() {
  for (std::size_t i = 0; i < active_.size();) {
    const int peer = active_[i];
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (!link.sends.empty()) advance_sends(peer, link);
    if (!link.receives.empty()) advance_receives(peer, link);
    link.is_active = !link.sends.empty() || !link.receives.empty();
    if (link.is_active) {
      ++i;
    } else {
      active_[i] = active_.back();
      active_.pop_back();
    }
  }
}

void ShmChannel::advance_sends(int peer, Link& link) {
  const std::uint64_t before = link.producer->published();
  while (link.published < link.sends.size() && publish(link, link.sends[link.published])) {
    ++link.published;
  }
  if (link.producer->published() != before && link.producer->queue().consumer_sleeps.load()) {
    board_.lane(peer, lane_).bell.ring();
  }
  while (link.published > 0) {
    const Outgoing& front = link.sends.front();
    if (front.in_place && !link.producer->is_consumed(front.slot)) break;
    link.sends.pop_front();
    --link.published;
    ++link.sends_done;
  }
}

// True when all of the message is in the queue.
bool ShmChannel::publish(Link& link, Outgoing& out) {
  const std::size_t bytes = out.block.is_ghost() ? 0 : out.block.bytes();
  do {
    Slot* const slot = link.producer->free_slot();
    if (slot == nullptr) return false;
    slot->envelope = out.envelope;
    if (out.in_place) {
      slot->address = out.block.data;
      slot->payload_bytes = bytes;
      out.slot = link.producer->published();
    } else {
      slot->address = nullptr;
      slot->payload_bytes = std::min(Slot::capacity_bytes, bytes - out.taken_bytes);
      if (bytes > 0) {
        std::memcpy(slot->payload.data(), out.block.data + out.taken_bytes, slot->payload_bytes);
      }
    }
    out.taken_bytes += slot->payload_bytes;
    link.producer->publish();
  } while (out.taken_bytes < bytes);
  return true;
}

void ShmChannel::advance_receives(int peer, Link& link) {
  bool has_popped = false;
  while (!link.receives.empty()) {
    const Slot* const slot = link.consumer->front();
    if (slot == nullptr) break;
    Incoming& in = link.receives.front();
    if (in.received_bytes == 0) check_first_segment(peer, in, slot->envelope);
    const std::size_t total_bytes = in.block.is_ghost() ? 0 : in.block.bytes();
    if (total_bytes > 0) {
      const std::byte* const source =
          slot->address != nullptr ? slot->address : slot->payload.data();
      reduce_elements(in.op, in.block.dtype, in.block.data + in.received_bytes, source,
                      slot->payload_bytes / bytes_of(in.block.dtype));
      in.received_bytes += slot->payload_bytes;
    }
    link.consumer->pop();
    has_popped = true;
    if (in.received_bytes < total_bytes) continue;
    link.receives.pop_front();
    ++link.receives_done;
  }
  if (has_popped && link.consumer->queue().producer_sleeps.load()) {
    board_.lane(peer, lane_).bell.ring();
  }
}

void ShmChannel::check_first_segment(int peer, const Incoming& in, const Envelope& envelope) const {
  const Envelope own = envelope_of(progress(), in.block);
  if (own.signature == envelope.signature && own.count == envelope.count &&
      own.dtype == envelope.dtype && own.ghost == envelope.ghost) {
    return;
  }
  const CallRecord sender = board_.lane(peer, lane_).call.load();
  const bool is_current = sender.signature == envelope.signature && sender.sequence > 0;
  check_envelope(progress(), rank(), peer, in.block, envelope,
                 is_current ? sender.describe() : std::string());
}

// Whether advance() would move anything; moves nothing itself.
bool ShmChannel::can_advance() {
  return std::any_of(active_.begin(), active_.end(), [&](int peer) {
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (!link.receives.empty() && link.consumer->front() != nullptr) return true;
    if (link.published < link.sends.size() && link.producer->free_slot() != nullptr) return true;
    return link.published > 0 && link.producer->is_consumed(link.sends.front().slot);
  });
}

void ShmChannel::complete(Request request) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  const Awaited awaited = decode(request);
  --open_requests_;
  advance();
  if (is_done(awaited)) return;
  try {
    wait_for(awaited);
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

bool ShmChannel::poll(const Awaited& awaited) {
  for (int looks = 0;; ++looks) {
    advance();
    if (is_done(awaited)) return true;
    if (looks >= settings_.patience.polls) break;
    pause_briefly();
  }
  return settings_.patience.yields > 0 && yield_budget_.may_yield() && yield(awaited);
}

bool ShmChannel::yield(const Awaited& awaited) {
  double last_seconds = now();
  for (int yields = 0; yields < settings_.patience.yields; ++yields) {
    sched_yield();
    const double now_seconds = now();
    const bool may_go_on = yield_budget_.may_go_on(now_seconds - last_seconds);
    last_seconds = now_seconds;
    advance();
    if (!may_go_on) return is_done(awaited);
    if (is_done(awaited)) break;
  }
  yield_budget_.recover();
  return is_done(awaited);
}

void ShmChannel::wait_for(const Awaited& awaited) {
  double last_seconds = now(), waited_seconds = 0.0;
  for (;;) {
    // What the peer sent before it left is in the queue by now, and poll() takes it.
    const bool has_left = board_.rank(awaited.peer).left.load();
    if (poll(awaited)) break;
    own_.needed.store(awaited.peer, std::memory_order_relaxed);
    if (board_.first_failed() >= 0) throw interrupted(awaited);
    if (has_left) throw left_alone(awaited);
    const double now_seconds = now();
    waited_seconds += std::min(now_seconds - last_seconds, 2 * piece_seconds);
    last_seconds = now_seconds;
    const double left_seconds =
        std::min(settings_.timeout_seconds - waited_seconds, deadline_seconds_ - now_seconds);
    if (left_seconds <= 0.0) throw timed_out(awaited, waited_seconds);
    sleep(awaited, now_seconds + std::min(left_seconds, piece_seconds));
  }
  if (waited_seconds > 0.0) own_.needed.store(-1, std::memory_order_relaxed);
}

void ShmChannel::sleep(const Awaited& awaited, double until_seconds) {
  own_.bell.arm();
  mark_asleep(awaited, true);
  own_.waiting.store(Waiting{++episode_, awaited.peer, awaited.is_send}.pack());
  const bool must_act =
      can_advance() || board_.first_failed() >= 0 || board_.rank(awaited.peer).left.load();
  // A disagreement seen now is thrown; one that arises later is seen by the peer.
  if (!must_act) {
    check_same_call(awaited);
    own_.bell.sleep(until_seconds);
  }
  own_.waiting.store(Waiting{episode_}.pack());
  mark_asleep(awaited, false);
  own_.bell.disarm();
}

// Says on which queues the other end has to ring. Taking a message out of a queue matters to its
// sender only if that wants room in it, or waits for that very message.
void ShmChannel::mark_asleep(const Awaited& awaited, bool asleep) {
  for (const int peer : active_) {
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (!link.receives.empty()) link.consumer->queue().consumer_sleeps.store(asleep);
    const bool wants_room = link.published < link.sends.size();
    if (wants_room || (awaited.is_send && awaited.peer == peer)) {
      link.producer->queue().producer_sleeps.store(asleep);
    }
  }
}

// Two ranks that wait for each other in different calls will do so for ever.
void ShmChannel::check_same_call(const Awaited& awaited) const {
  const LaneRecord& peer = board_.lane(awaited.peer, lane_);
  const CallRecord call = peer.call.load();
  if (call.sequence != progress().sequence || call.signature == progress().signature) return;
  const Waiting waiting = Waiting::unpack(peer.waiting.load());
  if (waiting.peer != rank() || !waits_in_vain(awaited.peer, waiting)) return;
  // The same sleep before and after: in between the peer did not touch the queues.
  if (Waiting::unpack(peer.waiting.load()) != waiting) return;
  throw call_mismatch(progress(), rank(), awaited.peer, call.describe());
}

// True where `peer`, asleep until this rank sends or takes a message, will get neither.
bool ShmChannel::waits_in_vain(int peer, const Waiting& waiting) const {
  if (!waiting.is_send) {
    const Queue& queue = board_.queue(rank(), peer, lane_);
    return queue.head.load() == queue.tail.load();
  }
  const Queue& queue = board_.queue(peer, rank(), lane_);
  return queue.head.load() != queue.tail.load() &&
         links_[static_cast<std::size_t>(peer)].receives.empty();
}

// "allreduce_ring: rank 3 was waiting for 65536 bytes from rank 2 at step 4 of 7 of call #1
// (received 0)"
std::string ShmChannel::situation(const Awaited& awaited) const {
  const Amount amount = amount_of(awaited);
  return fmt::format("{}: rank {} was waiting {} {} bytes {} rank {} at {}{} ({} {})",
                     progress().depth > 0 ? progress().call.algorithm : "channel", rank(),
                     awaited.is_send ? "to send" : "for", amount.total_bytes,
                     awaited.is_send ? "to" : "from", awaited.peer, progress().where(),
                     progress().depth > 0 ? fmt::format(" of call #{}", progress().sequence) : "",
                     awaited.is_send ? "taken" : "received", amount.bytes);
}

Error ShmChannel::interrupted(const Awaited& awaited) const {
  return {ErrorKind::peer_lost,
          fmt::format("{} when {}", situation(awaited), board_.describe_first_failure()), rank()};
}

Error ShmChannel::left_alone(const Awaited& awaited) const {
  const CallRecord last = board_.lane(awaited.peer, lane_).call.load();
  if (last.sequence == progress().sequence && last.signature != progress().signature) {
    return call_mismatch(progress(), rank(), awaited.peer, last.describe());
  }
  return {ErrorKind::peer_lost,
          fmt::format("{} but rank {} left after call #{}", situation(awaited), awaited.peer,
                      last.sequence),
          rank()};
}

// Follows who waits for whom to the one that does not wait.
Error ShmChannel::timed_out(const Awaited& awaited, double waited_seconds) const {
  const CallRecord call = board_.lane(awaited.peer, lane_).call.load();
  if (call.sequence == progress().sequence && call.signature != progress().signature) {
    return call_mismatch(progress(), rank(), awaited.peer, call.describe());
  }
  const Amount amount = amount_of(awaited);
  const Error error = awaited.is_send
                          ? send_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                         amount.total_bytes, amount.bytes)
                          : receive_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                            amount.total_bytes, amount.bytes);
  std::string text = error.what();
  int culprit = awaited.peer;
  for (int hops = 0; hops < size(); ++hops) {
    const int needed = board_.lane(culprit, lane_).needed.load(std::memory_order_relaxed);
    if (needed < 0) {
      text += fmt::format("; rank {} does not wait: it is busy or stopped", culprit);
      break;
    }
    text += fmt::format("; rank {} waits for rank {}", culprit, needed);
    culprit = needed;
    if (culprit == rank()) break;
  }
  return {ErrorKind::timeout, text, rank()};
}

}  // namespace tutti
