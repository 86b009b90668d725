#include "sim/replay_tasks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "collectives/error.hpp"

namespace tutti {
namespace {

// A guard makes two mappings of a stack, and the kernel allows a process 65,530.
constexpr std::size_t most_guarded = 16'384;
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t unguarded_stack_bytes = stack_bytes;
#else
constexpr std::size_t unguarded_stack_bytes = std::size_t{64} << 10;
#endif
constexpr std::size_t further_stacks = 64;  // At once, for spawned tasks.
constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

StackPool::StackPool(std::size_t ranks) : ranks_(ranks) {
  add(ranks);
}

StackPool::Stack StackPool::take() {
  if (free_.empty()) add(further_stacks);
  const Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::reset() {
  free_.clear();
  for (const auto& stacks : stacks_) {
    for (std::size_t i = stacks->count(); i-- > 0;) free_.push_back({stacks.get(), i});
  }
}

void StackPool::add(std::size_t count) {
  const bool is_guarded = ranks_ <= most_guarded;
  stacks_.push_back(std::make_unique<FiberStacks>(
      count, is_guarded ? stack_bytes : unguarded_stack_bytes, is_guarded));
  for (std::size_t i = count; i-- > 0;) free_.push_back({stacks_.back().get(), i});
}

ReplayTasks::~ReplayTasks() {
  stop_all();
}

std::uint32_t ReplayTasks::start(Fiber::Code code) {
  const auto index = static_cast<std::uint32_t>(tasks_.size());
  tasks_.emplace_back().code = std::move(code);
  ++live_;
  wake(index);
  return index;
}

bool ReplayTasks::block(double deadline_seconds) {
  Task& task = tasks_[current_];
  if (task.is_stopped) throw TaskStopped{};
  task.blocked_seconds = now_seconds_;
  task.deadline_seconds = deadline_seconds;
  if (deadline_seconds != never && task.awaited_deadline_seconds != deadline_seconds) {
    queue_.push(deadline_seconds, {Event::Kind::deadline, current_, 0});
    task.awaited_deadline_seconds = deadline_seconds;
  }
  task.fiber.suspend();
  if (task.is_stopped) throw TaskStopped{};
  return !std::exchange(task.has_timed_out, false);
}

void ReplayTasks::sleep(double seconds) {
  if (seconds <= 0.0) return;
  wake_at(now_seconds_ + seconds, current_);
  block(never);
}

void ReplayTasks::wake(std::uint32_t task) {
  if (tasks_[task].has_ended) return;
  ready_.push_back({task, tasks_[task].serial});
}

void ReplayTasks::wake_at(double seconds, std::uint32_t task) {
  queue_.push(seconds, {Event::Kind::wake, task, tasks_[task].serial});
}

void ReplayTasks::stop(std::uint32_t task) {
  tasks_[task].is_stopped = true;
  wake(task);
}

void ReplayTasks::run_ready(const bool& is_over) {
  wake_late();
  constexpr std::size_t ahead = 3;  // Of tasks, to have what they need in the cache.
  for (std::size_t i = 0; i < ready_.size() && !is_over; ++i) {
    if (i + 2 * ahead < ready_.size()) __builtin_prefetch(&tasks_[ready_[i + 2 * ahead].task], 1);
    if (i + ahead < ready_.size()) tasks_[ready_[i + ahead].task].fiber.prefetch();
    const Turn turn = ready_[i];
    if (tasks_[turn.task].serial == turn.serial) resume(turn.task);
  }
  ready_.clear();
}

void ReplayTasks::resume(std::uint32_t index) {
  Task& task = tasks_[index];
  ++task.serial;
  if (!task.has_begun) {
    task.has_begun = true;
    task.stack = stacks_.take();
    task.fiber.start(*task.stack.stacks, task.stack.index, [&task] {
      try {
        task.code();
      } catch (const TaskStopped&) {
        // As it was to.
      }
      task.has_ended = true;
    });
  }
  current_ = index;
  task.fiber.resume();
  if (!task.has_ended) return;
  ++task.serial;
  task.code = nullptr;
  stacks_.give_back(task.stack);
  --live_;
}

const std::vector<Event>& ReplayTasks::advance() {
  now_seconds_ = queue_.pop(events_);
  return events_;
}

void ReplayTasks::handle(const Event& event) {
  Task& task = tasks_[event.target];
  if (event.kind == Event::Kind::wake) {
    ready_.push_back({event.target, event.serial});
    return;
  }
  if (task.awaited_deadline_seconds == now_seconds_) task.awaited_deadline_seconds = -1.0;
  if (task.has_ended || task.deadline_seconds > now_seconds_) return;
  task.has_timed_out = true;
  late_.push_back(event.target);
}

void ReplayTasks::wake_late() {
  // Who has waited longest is nearest to the cause, and is heard first.
  std::stable_sort(late_.begin(), late_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return tasks_[a].blocked_seconds < tasks_[b].blocked_seconds;
  });
  for (const std::uint32_t task : late_) wake(task);
  late_.clear();
}

void ReplayTasks::stop_all() {
  for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
    Task& task = tasks_[i];
    if (task.has_ended) continue;
    task.is_stopped = true;
    // A handler of the program's own may catch what is to end it.
    while (task.has_begun && !task.has_ended) resume(i);
  }
  live_ = 0;
}

}  // namespace tutti
