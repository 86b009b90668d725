// ReplayTasks: fibers that take turns on a simulated clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/fiber.hpp"

namespace tutti {

/// Where fibers get their stacks from; they may be used again once their fiber has ended.
class StackPool {
 public:
  struct Stack {
    const FiberStacks* stacks = nullptr;
    std::size_t index = 0;
  };

  /// The first stacks are for so many ranks. Beyond 16,384 of them stacks are smaller and have no
  /// guard.
  explicit StackPool(std::size_t ranks);

  /// Throws Error(system) if there is no room for another.
  Stack take();
  void give_back(Stack stack) { free_.push_back(stack); }

  /// All that were taken are free again.
  void reset();

 private:
  void add(std::size_t count);

  const std::size_t ranks_;
  std::vector<std::unique_ptr<FiberStacks>> stacks_;
  std::vector<Stack> free_;
};

/// Thrown where a task goes on that is to end; passes through its code.
struct TaskStopped {};

/// The tasks of a run by number, from 0 in the order of start(). One runs at a time, until it
/// blocks; those that can go on at the same simulated time do so in the order of their wake-ups.
class ReplayTasks {
 public:
  explicit ReplayTasks(StackPool& stacks) : stacks_(stacks) {}
  ~ReplayTasks();
  ReplayTasks(const ReplayTasks&) = delete;
  ReplayTasks& operator=(const ReplayTasks&) = delete;

  double now() const { return now_seconds_; }
  EventQueue& queue() { return queue_; }

  /// A new task, which begins at this time. What its code throws but TaskStopped ends the program.
  std::uint32_t start(Fiber::Code code);

  /// The task that runs.
  std::uint32_t current() const { return current_; }

  /// For the task that runs: lets others go on until somebody wakes it, or the deadline has passed.
  /// Returns false in the latter case.
  bool block(double deadline_seconds);

  /// For the task that runs: lets simulated time pass; nothing if it is 0 or less.
  void sleep(double seconds);

  /// A blocked task goes on now, or then, unless it has gone on before.
  void wake(std::uint32_t task);
  void wake_at(double seconds, std::uint32_t task);

  /// The task goes on now, but only to end.
  void stop(std::uint32_t task);

  /// Tasks that have not ended.
  std::size_t live() const { return live_; }

  /// Runs tasks until none can go on at this time, or `is_over` is set.
  void run_ready(const bool& is_over);

  /// The time of the next event, which becomes now, and all that happens then.
  const std::vector<Event>& advance();

  /// Acts on an event of kind wake or deadline.
  void handle(const Event& event);

  /// Ends all tasks that have not ended, without running those that have not begun.
  void stop_all();

 private:
  struct Task {
    Fiber fiber;
    Fiber::Code code;
    StackPool::Stack stack;
    std::uint32_t serial = 0;  ///< Turns so far: tells wake-ups for earlier blocks apart.
    bool has_begun = false;
    bool has_ended = false;
    bool is_stopped = false;
    bool has_timed_out = false;
    double blocked_seconds = 0.0;            ///< Since when it is blocked,
    double deadline_seconds = 0.0;           ///< and until when at most.
    double awaited_deadline_seconds = -1.0;  ///< Of the event that is in the queue.
  };

  struct Turn {
    std::uint32_t task = 0;
    std::uint32_t serial = 0;
  };

  void resume(std::uint32_t index);
  void wake_late();

  StackPool& stacks_;
  EventQueue queue_;
  std::deque<Task> tasks_;
  std::vector<Turn> ready_;
  std::vector<std::uint32_t> late_;  ///< Whose deadline is now.
  std::vector<Event> events_;
  double now_seconds_ = 0.0;
  std::uint32_t current_ = 0;
  std::size_t live_ = 0;
};

}  // namespace tutti
