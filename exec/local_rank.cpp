#include "exec/local_rank.hpp"

#include <utility>

namespace tutti {

LocalRank::LocalRank(int rank, int size, int lanes, std::uint64_t seed,
                     const ChannelMaker& make_channel, FailureSink on_failure)
    : Rank(rank, size, seed), on_failure_(std::move(on_failure)) {
  for (int lane = 0; lane < lanes; ++lane) channels_.push_back(make_channel(lane));
}

Channel& LocalRank::channel(int lane) {
  check(lane >= 0 && lane < static_cast<int>(channels_.size()),
        "rank {} has no lane {}; the world has {}", index(), lane, channels_.size());
  return *channels_[static_cast<std::size_t>(lane)];
}

void LocalRank::spawn(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.emplace_back([this, task = std::move(task)] { guard(task); });
}

bool LocalRank::run(const Program& program) {
  guard([&] { program(*this); });
  join();
  guard([&] { settle(); });
  guard([&] { check_closed(); });
  return !has_failed_.load();
}

// Runs `work`; its failure becomes the rank's unless that already has one.
void LocalRank::guard(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    if (!has_failed_.exchange(true)) on_failure_(std::current_exception());
  }
}

// Waits for all tasks, also those that tasks spawn.
void LocalRank::join() {
  for (;;) {
    std::vector<std::thread> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    if (tasks.empty()) return;
    for (std::thread& task : tasks) task.join();
  }
}

// Of a rank that failed the others know all that they need.
void LocalRank::settle() {
  for (const auto& channel : channels_) {
    if (!has_failed_.load()) channel->settle();
  }
}

void LocalRank::check_closed() const {
  for (std::size_t lane = 0; lane < channels_.size(); ++lane) {
    const std::int64_t open = channels_[lane]->open_requests();
    check(open == 0, "ended with {} open requests on lane {}, each must be waited for", open, lane);
  }
}

}  // namespace tutti
