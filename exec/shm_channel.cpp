#include "exec/shm_channel.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collectives/kernels.hpp"
#include "exec/cores.hpp"
#include "exec/process_memory.hpp"

namespace tutti {
namespace {

// What a rank that may be read has in its memory.
constexpr std::uint64_t probe_word = 0x7475747469303031;

// Stays in a core's own cache.
constexpr std::size_t chunk_bytes = 131072;

// Slots with such payloads are released together.
constexpr std::size_t small_bytes = 1024;

// Of the looks that a wait begins with.
constexpr int polls_without_clock = 30;
constexpr int looks_without_pause = 10;

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
      agreement_(rank, lane, board),
      links_(static_cast<std::size_t>(board.size())),
      probe_word_(probe_word) {
  own_.probe.store(reinterpret_cast<const std::byte*>(&probe_word_));
  own_.pid.store(getpid());
}

Request ShmChannel::encode(const Awaited& awaited) {
  return Request{awaited.ordinal << 24 | static_cast<std::uint64_t>(awaited.peer) << 1 |
                 (awaited.is_send() ? 1U : 0U)};
}

ShmChannel::Awaited ShmChannel::decode(Request request) {
  return {static_cast<int>(request.id >> 1 & 0x7fffff),
          (request.id & 1) != 0 ? WaitKind::send : WaitKind::receive, request.id >> 24};
}

// What every post does first.
ShmChannel::Link& ShmChannel::begin(int peer) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  Link& link = links_[static_cast<std::size_t>(peer)];
  if (!link.producer) {
    link.producer.emplace(board_.queue(rank(), peer, lane_));
    link.consumer.emplace(board_.queue(peer, rank(), lane_));
  }
  ++open_requests_;
  return link;
}

void ShmChannel::activate(int peer, Link& link) {
  if (!link.is_active) active_.push_back(peer);
  link.is_active = true;
}

Request ShmChannel::post_send(int to, Block block) {
  Link& link = begin(to);
  if (link.sends.empty() && publish_small(link, block)) {
    if (link.producer->queue().consumer_sleeps.load()) board_.lane(to, lane_).bell.ring();
    ++link.sends_done;
    return encode({to, WaitKind::send, ++link.sends_posted});
  }
  activate(to, link);
  Outgoing out{.block = block, .envelope = envelope_of(progress(), block)};
  if (!block.is_ghost() && block.bytes() > Slot::capacity_bytes) choose_way(link, out);
  link.sends.push_back(out);
  advance_sends(to, link);
  return encode({to, WaitKind::send, ++link.sends_posted});
}

Request ShmChannel::post_recv(int from, Block block, Op op) {
  Link& link = begin(from);
  activate(from, link);
  if (!link.is_probed && !block.is_ghost() && block.bytes() >= least_read_bytes) {
    probe_memory(from, link);
  }
  link.receives.push_back({.block = block, .op = op, .is_in_call = progress().depth > 0});
  return encode({from, WaitKind::receive, ++link.receives_posted});
}

bool ShmChannel::is_done(const Awaited& awaited) {
  if (awaited.kind == WaitKind::entry) {
    return agreement_.missing() != awaited.peer || agreement_.has_come();
  }
  const Link& link = links_[static_cast<std::size_t>(awaited.peer)];
  return awaited.ordinal <= (awaited.is_send() ? link.sends_done : link.receives_done);
}

ShmChannel::Amount ShmChannel::amount_of(const Awaited& awaited) const {
  if (awaited.kind == WaitKind::entry) return {};
  const Link& link = links_[static_cast<std::size_t>(awaited.peer)];
  if (awaited.is_send()) {
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

// Most messages are done with at once. False where the block is large or the queue full.
bool ShmChannel::publish_small(Link& link, Block block) {
  const std::size_t bytes = block.is_ghost() ? 0 : block.bytes();
  if (bytes > Slot::capacity_bytes) return false;
  Slot* const slot = link.producer->free_slot();
  if (slot == nullptr) return false;
  slot->envelope = envelope_of(progress(), block);
  slot->address = nullptr;
  slot->payload_bytes = bytes;
  if (bytes > 0) std::memcpy(slot->payload(bytes), block.data, bytes);
  link.producer->publish();
  return true;
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
        std::memcpy(slot->payload(slot->payload_bytes), out.block.data + out.taken_bytes,
                    slot->payload_bytes);
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
    if (!progress().is_agreed && !may_write(in, slot->envelope)) break;
    if (in.received_bytes == 0) check_first_segment(peer, in, slot->envelope);
    const std::size_t total_bytes = in.block.is_ghost() ? 0 : in.block.bytes();
    if (slot->address != nullptr && !arena_.contains(slot->address, slot->payload_bytes)) {
      if (!take_memory(peer, in, *slot)) break;
    } else if (total_bytes > 0) {
      const std::byte* const source =
          slot->address != nullptr ? slot->address : slot->payload(slot->payload_bytes);
      reduce_elements(in.op, in.block.dtype, in.block.data + in.received_bytes, source,
                      slot->payload_bytes / bytes_of(in.block.dtype));
      in.received_bytes += slot->payload_bytes;
    }
    if (slot->address == nullptr && slot->payload_bytes <= small_bytes) {
      link.consumer->pop_later();
    } else {
      link.consumer->pop();
    }
    has_popped = true;
    if (in.received_bytes < total_bytes) continue;
    link.receives.pop_front();
    ++link.receives_done;
  }
  if (has_popped && link.consumer->queue().producer_sleeps.load()) {
    link.consumer->release();
    board_.lane(peer, lane_).bell.ring();
  }
}

// A rank that sleeps, or is done, keeps no sender waiting for room.
void ShmChannel::return_room() {
  for (int peer = 0; peer < size(); ++peer) {
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (!link.consumer || !link.consumer->release()) continue;
    if (link.consumer->queue().producer_sleeps.load()) board_.lane(peer, lane_).bell.ring();
  }
}

// The way of a large message.
void ShmChannel::choose_way(const Link& link, Outgoing& out) {
  const std::size_t bytes = out.block.bytes();
  const bool is_in_arena = arena_.contains(out.block.data, bytes);
  out.in_place =
      is_in_arena || (bytes >= least_read_bytes && link.producer->queue().reads_memory.load());
  auto& counter = own_.large_bytes[is_in_arena ? 0 : out.in_place ? 1 : 2];
  counter.store(counter.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

// Finds out whether the memory of `peer`, if that is there already, can be read, and tells it.
void ShmChannel::probe_memory(int peer, Link& link) {
  const LaneRecord& record = board_.lane(peer, lane_);
  const pid_t pid = record.pid.load();
  if (pid == 0) return;
  link.is_probed = true;
  if (!settings_.reads_memory) return;
  std::uint64_t word = 0;
  const MemoryRead read =
      read_memory(pid, record.probe.load(), reinterpret_cast<std::byte*>(&word), sizeof(word));
  // In another namespace the number may be that of another process.
  link.consumer->queue().reads_memory.store(read == MemoryRead::done && word == probe_word);
}

// Takes a whole message out of the memory of `peer`; false if that has gone, before or meanwhile.
bool ShmChannel::take_memory(int peer, Incoming& in, const Slot& slot) {
  const pid_t pid = board_.lane(peer, lane_).pid.load();
  const bool replaces = in.op == Op::replace;
  if (!replaces) chunk_.resize(chunk_bytes);
  while (in.received_bytes < slot.payload_bytes) {
    const std::size_t left_bytes = slot.payload_bytes - in.received_bytes;
    const std::size_t bytes = replaces ? left_bytes : std::min(left_bytes, chunk_bytes);
    std::byte* const target = in.block.data + in.received_bytes;
    std::byte* const copy = replaces ? target : chunk_.data();
    const MemoryRead read = read_memory(pid, slot.address + in.received_bytes, copy, bytes);
    if (read == MemoryRead::gone) return false;
    if (read == MemoryRead::refused) {
      throw Error(ErrorKind::system,
                  fmt::format("rank {} cannot read {} bytes in the memory of rank {} any more: {}",
                              rank(), bytes, peer, std::strerror(errno)),
                  rank());
    }
    if (!replaces) {
      reduce_elements(in.op, in.block.dtype, target, copy, bytes / bytes_of(in.block.dtype));
    }
    in.received_bytes += bytes;
  }
  return true;
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
    const bool has_message = !link.receives.empty() && link.consumer->front() != nullptr;
    if (has_message && !is_held(link)) return true;
    if (link.published < link.sends.size() && link.producer->free_slot() != nullptr) return true;
    return link.published > 0 && link.producer->is_consumed(link.sends.front().slot);
  });
}

void ShmChannel::complete(Request request) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  const Awaited awaited = decode(request);
  --open_requests_;
  if (is_done(awaited)) return;
  try {
    if (!look_without_clock(awaited)) wait_for(awaited);
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
}

// The first looks: one at the clock takes as long as a small message.
bool ShmChannel::look_without_clock(const Awaited& awaited) {
  const int most = std::min(settings_.patience.polls, polls_without_clock);
  for (int looks = 0; looks <= most; ++looks) {
    if (looks > looks_without_pause) pause_briefly();
    advance();
    if (is_done(awaited)) return true;
  }
  return false;
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

}  // namespace tutti
