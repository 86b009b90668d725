// EventQueue: what is to happen at which simulated time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti {

/// Something that is to happen unless `serial` is out of date by then; what `target` and `serial`
/// number is up to the kind.
struct Event {
  enum class Kind : std::uint8_t {
    wake,      ///< A task goes on.
    deadline,  ///< A task has waited long enough.
    compute,   ///< A host has done a piece of work.
    flow,      ///< A flow begins or ends to move bytes.
  };

  Kind kind = Kind::wake;
  std::uint32_t target = 0;
  std::uint32_t serial = 0;
};

/// Events by time; those of the same time, which are many where ranks march in step, are kept
/// together in the order of push(). Cost: a hash look-up an event, and log n for each time.
class EventQueue {
 public:
  EventQueue();

  bool empty() const { return heap_.empty(); }

  void push(double seconds, Event event);

  /// Replaces `events` by those of the earliest time, and returns it.
  double pop(std::vector<Event>& events);

 private:
  struct Entry {
    double seconds;
    std::uint32_t bucket;
  };

  static constexpr std::uint32_t none = 0xffffffff;

  std::uint32_t bucket_at(double seconds);
  std::size_t home_of(double seconds) const;
  void forget(double seconds);
  void grow();
  void insert(Entry entry);

  std::vector<Entry> heap_;                  ///< One a time; the earliest is the first.
  std::vector<Entry> slots_;                 ///< The same, hashed by time; free ones have none.
  std::vector<std::vector<Event>> buckets_;  ///< The events of each time.
  std::vector<std::uint32_t> free_buckets_;
  double last_seconds_ = -1.0;  ///< Of the last push.
  std::uint32_t last_bucket_ = none;
};

}  // namespace tutti
