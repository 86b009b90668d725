// Queue: a bounded single-producer single-consumer queue of slots in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "collectives/envelope.hpp"

namespace tutti {

/// Processors fetch cache lines in pairs; what different ranks write lies this far apart.
inline constexpr std::size_t line_bytes = 128;

/// One message or one segment of one. Only the first segment's envelope counts.
struct Slot {
  static constexpr std::size_t capacity_bytes = 8192;

  Envelope envelope;
  /// Where the whole block lies in memory that both processes see, or null: in `payload`.
  const std::byte* address = nullptr;
  std::uint64_t payload_bytes = 0;
  /// Right behind the header, so that a small message is one cache line.
  std::array<std::byte, capacity_bytes> payload;
};

/// The shared part. The indices count slots since the beginning and only ever grow; one end writes
/// each, with sequentially consistent stores where a release would do for the data: see Doorbell.
class Queue {
 public:
  static constexpr std::size_t capacity = 8;

  alignas(line_bytes) std::atomic<std::uint64_t> head{0};  ///< Consumed.
  alignas(line_bytes) std::atomic<std::uint64_t> tail{0};  ///< Published.

  /// Set while an end sleeps and wants to be woken by the other. On a line of their own, which
  /// stays shared in all caches as long as nobody sleeps.
  alignas(line_bytes) std::atomic<bool> consumer_sleeps{false};
  std::atomic<bool> producer_sleeps{false};

  /// Where slot `number`, counted since the beginning, lies.
  Slot& slot(std::uint64_t number) {
    std::byte* const memory = slots_.data() + number % capacity * sizeof(PaddedSlot);
    return std::launder(reinterpret_cast<PaddedSlot*>(memory))->slot;
  }

  /// Empties the queue. Nobody may use it meanwhile.
  void reset() {
    head = tail = 0;
    consumer_sleeps = producer_sleeps = false;
  }

 private:
  // A slot is some bytes longer than a power of two, so that slots fall into different cache sets.
  struct alignas(64) PaddedSlot {
    Slot slot;
  };

  // Bytes, in which the slots, being aggregates, come to life by themselves: a new queue writes
  // its first lines only, whatever the size of its slots.
  alignas(line_bytes) std::array<std::byte, capacity * sizeof(PaddedSlot)> slots_;
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

  /// Hands over the slot of free_slot(). Its number is published() before the call.
  void publish() { queue_->tail.store(++tail_); }

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
  explicit Consumer(Queue& queue) : queue_(&queue), head_(queue.head), tail_seen_(queue.tail) {}

  /// The oldest slot not yet released, or null while there is none.
  const Slot* front() {
    if (head_ == tail_seen_) tail_seen_ = queue_->tail.load();
    if (head_ == tail_seen_) return nullptr;
    return &queue_->slot(head_);
  }

  /// Releases front() to the producer.
  void pop() { queue_->head.store(++head_); }

  Queue& queue() const { return *queue_; }

 private:
  Queue* queue_;
  std::uint64_t head_;
  std::uint64_t tail_seen_;
};

}  // namespace tutti
