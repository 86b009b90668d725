#include "sim/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace tutti {
namespace {

constexpr auto is_later = [](const auto& a, const auto& b) { return a.seconds > b.seconds; };
constexpr std::size_t first_slots = 64;

}  // namespace

EventQueue::EventQueue() : slots_(first_slots, Entry{0.0, none}) {}

void EventQueue::push(double seconds, Event event) {
  if (seconds != last_seconds_ || last_bucket_ == none) {
    last_bucket_ = bucket_at(seconds);
    last_seconds_ = seconds;
  }
  buckets_[last_bucket_].push_back(event);
}

double EventQueue::pop(std::vector<Event>& events) {
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const Entry earliest = heap_.back();
  heap_.pop_back();
  events.clear();
  events.swap(buckets_[earliest.bucket]);
  free_buckets_.push_back(earliest.bucket);
  forget(earliest.seconds);
  if (last_bucket_ == earliest.bucket) last_bucket_ = none;
  return earliest.seconds;
}

std::uint32_t EventQueue::bucket_at(double seconds) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = home_of(seconds); slots_[slot].bucket != none; slot = (slot + 1) & mask) {
    if (slots_[slot].seconds == seconds) return slots_[slot].bucket;
  }
  if (free_buckets_.empty()) {
    free_buckets_.push_back(static_cast<std::uint32_t>(buckets_.size()));
    buckets_.emplace_back();
  }
  const Entry entry{seconds, free_buckets_.back()};
  free_buckets_.pop_back();
  if (2 * heap_.size() >= slots_.size()) grow();
  insert(entry);
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), is_later);
  return entry.bucket;
}

std::size_t EventQueue::home_of(double seconds) const {
  // Fibonacci hashing; the slots are a power of two.
  const std::uint64_t hash = std::bit_cast<std::uint64_t>(seconds) * 0x9e3779b97f4a7c15;
  return (hash >> 32) & (slots_.size() - 1);
}

void EventQueue::insert(Entry entry) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = home_of(entry.seconds);
  while (slots_[slot].bucket != none) slot = (slot + 1) & mask;
  slots_[slot] = entry;
}

void EventQueue::grow() {
  slots_.assign(2 * slots_.size(), Entry{0.0, none});
  for (const Entry& entry : heap_) insert(entry);
}

void EventQueue::forget(double seconds) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = home_of(seconds);
  while (slots_[hole].seconds != seconds || slots_[hole].bucket == none) hole = (hole + 1) & mask;
  // Entries behind the hole move into it unless that would be before their home.
  for (std::size_t slot = (hole + 1) & mask; slots_[slot].bucket != none;
       slot = (slot + 1) & mask) {
    const std::size_t home = home_of(slots_[slot].seconds);
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole].bucket = none;
}

}  // namespace tutti
