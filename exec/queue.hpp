// Queue: a bounded single-producer single-consumer queue of slots in shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "collectives/envelope.hpp"

namespace tutti {

/// Processors fetch cache lines in pairs; what different ranks write lies this far apart.
inline constexpr std::size_t line_bytes = 128;

/// Fetches the cache line of `memory`, which another processor has read, ahead of a write.
inline void prefetch_for_writing(const void* memory) {
#if defined(__x86_64__)
  // The builtin would only fetch it for reading, unless compiled for newer processors.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(memory)));
#else
  __builtin_prefetch(memory, 1);
#endif
}

/// One message or one segment of one. Only the first segment's envelope counts.
struct Slot {
  static constexpr std::size_t capacity_bytes = 8192;
  static constexpr std::size_t inline_bytes = 16;

  /// The number of the message here, from 1. Written last, so that whoever waits for it finds the
  /// rest, and a small message, on the same cache line.
  std::uint64_t number;
  Envelope envelope;
  /// Where the whole block lies in the producer's memory, or null: in the slot.
  const std::byte* address = nullptr;
  std::uint64_t payload_bytes = 0;
  std::array<std::byte, inline_bytes> small;
  alignas(64) std::array<std::byte, capacity_bytes> large;

  /// Where a payload of `bytes` lies in the slot.
  std::byte* payload(std::size_t bytes) {
    return bytes <= inline_bytes ? small.data() : large.data();
  }
  const std::byte* payload(std::size_t bytes) const {
    return bytes <= inline_bytes ? small.data() : large.data();
  }
};

/// The shared part, in zeroed memory. The indices count slots since the beginning and only ever
/// grow; one end writes each. The stores that the other end waits for are sequentially consistent
/// where a release would do for the data: see Doorbell.
class Queue {
 public:
  static constexpr std::size_t capacity = 8;

  alignas(line_bytes) std::atomic<std::uint64_t> head{0};  ///< Consumed.
  /// Published, or about to be: the consumer looks at the slots' numbers.
  alignas(line_bytes) std::atomic<std::uint64_t> tail{0};

  /// Set while an end sleeps and wants to be woken by the other. On a line of their own, which
  /// stays shared in all caches as long as nobody sleeps.
  alignas(line_bytes) std::atomic<bool> consumer_sleeps{false};
  std::atomic<bool> producer_sleeps{false};
  /// Set once, when the consumer has found out whether it may read the producer's memory.
  std::atomic<bool> reads_memory{false};

  /// Where slot `number`, counted since the beginning, lies.
  Slot& slot(std::uint64_t number) {
    std::byte* const memory = slots_.data() + number % capacity * sizeof(Slot);
    return *std::launder(reinterpret_cast<Slot*>(memory));
  }

  /// Both ends' access to Slot::number.
  static std::atomic_ref<std::uint64_t> number_in(Slot& slot) {
    return std::atomic_ref(slot.number);
  }

  /// Empties the queue. Nobody may use it meanwhile.
  void reset() {
    const std::uint64_t used = std::min<std::uint64_t>(tail, capacity);
    for (std::uint64_t i = 0; i < used; ++i) number_in(slot(i)).store(0);
    head = tail = 0;
    consumer_sleeps = producer_sleeps = reads_memory = false;
  }

 private:
  // A slot is a line longer than a power of two, so that slots fall into different cache sets.
  // Bytes, in which the slots, being aggregates, come to life by themselves: a new queue writes
  // its first lines only, whatever the size of its slots.
  alignas(line_bytes) std::array<std::byte, capacity * sizeof(Slot)> slots_;
};

/// The sending end. Lives in one thread; remembers how far it has seen the other end go.
class Producer {
 public:
  explicit Producer(Queue& queue) : queue_(&queue), tail_(queue.tail), head_seen_(queue.head) {}

  /// The slot to fill next, or null while the queue is full.
  Slot* free_slot() {
    if (tail_ - head_seen_ == Queue::capacity) head_seen_ = queue_->head.load();
    if (tail_ - head_seen_ == Queue::capacity) return nullptr;
    return &queue_->slot(tail_);
  }

  /// Hands over the slot of free_slot(), whose number is published() before the call.
  void publish() {
    Slot& slot = queue_->slot(tail_);
    queue_->tail.store(++tail_, std::memory_order_release);
    Queue::number_in(slot).store(tail_);
    prefetch_for_writing(&queue_->slot(tail_));
  }

  std::uint64_t published() const { return tail_; }

  /// True when the consumer has released slot `number`.
  bool is_consumed(std::uint64_t number) {
    if (head_seen_ <= number) head_seen_ = queue_->head.load();
    return head_seen_ > number;
  }

  Queue& queue() const { return *queue_; }

 private:
  Queue* queue_;
  std::uint64_t tail_;
  std::uint64_t head_seen_;
};

/// The receiving end. Lives in one thread.
class Consumer {
 public:
  explicit Consumer(Queue& queue) : queue_(&queue), head_(queue.head) {}

  /// The oldest slot not yet released, or null while there is none.
  const Slot* front() const {
    Slot& slot = queue_->slot(head_);
    return Queue::number_in(slot).load() == head_ + 1 ? &slot : nullptr;
  }

  /// Releases front() to the producer; at once, or together with the next ones: each time a
  /// producer that runs ahead fetches a cache line. A slot that the producer waits for is released
  /// at once.
  void pop() {
    ++head_;
    release();
  }
  void pop_later() {
    if (++head_ - released_ >= Queue::capacity / 2) release();
  }

  /// Releases all that were popped; returns whether there were any.
  bool release() {
    if (released_ == head_) return false;
    queue_->head.store(released_ = head_);
    return true;
  }

  Queue& queue() const { return *queue_; }

 private:
  Queue* queue_;
  std::uint64_t head_;
  std::uint64_t released_ = head_;
};

}  // namespace tutti
