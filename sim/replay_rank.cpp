#include "sim/replay_rank.hpp"

#include <utility>

namespace tutti {

ReplayRank::ReplayRank(const ReplayParts& parts, const Shape& shape, const SimOptions& options,
                       ReplayFailures& failures, int index, int size)
    : SimulatedRank(index, size, options.seed),
      parts_(parts),
      shape_(shape),
      options_(options),
      failures_(failures) {}

Channel& ReplayRank::channel(int lane) {
  check(lane >= 0 && lane < options_.lanes, "rank {} has no lane {}, the world has {}", index(),
        lane, options_.lanes);
  if (channels_.empty()) channels_.resize(static_cast<std::size_t>(options_.lanes));
  auto& channel = channels_[static_cast<std::size_t>(lane)];
  if (channel == nullptr) {
    const int host = shape_.host_of(index());
    channel = std::make_unique<ReplayChannel>(
        parts_, index(), size(), lane, host,
        local_costs_of(shape_.hosts[static_cast<std::size_t>(host)]));
  }
  return *channel;
}

void ReplayRank::spawn(std::function<void()> task) {
  ++open_tasks_;
  tasks_.push_back(parts_.tasks.start([this, code = std::move(task)] {
    guard(code);
    if (--open_tasks_ == 0) parts_.tasks.wake(tasks_.front());
  }));
}

void ReplayRank::run(const Program& program) {
  tasks_.push_back(parts_.tasks.current());
  guard([&] {
    parts_.tasks.sleep(start_seconds());
    program(*this);
    while (open_tasks_ > 0) parts_.tasks.block(no_deadline);
    for (const auto& channel : channels_) {
      if (channel != nullptr) channel->check_closed();
    }
    end_seconds_ = parts_.tasks.now();
    has_ended_ = true;
  });
}

void ReplayRank::stall() {
  is_stalled_ = true;
  parts_.mail.stall(index());
  while (true) parts_.tasks.block(no_deadline);
}

void ReplayRank::kill() {
  is_killed_ = true;
  const int host = shape_.host_of(index());
  for (const std::uint32_t task : tasks_) {
    parts_.cores.cancel(parts_.tasks.now(), host, task);
    if (task != parts_.tasks.current()) parts_.tasks.stop(task);
  }
  parts_.mail.abandon(index(), std::nullopt, true);
  throw TaskStopped{};
}

RankState ReplayRank::state() const {
  RankState state{.has_ended = has_ended_, .is_killed = is_killed_, .is_stalled = is_stalled_};
  for (const auto& channel : channels_) {
    if (channel == nullptr) continue;
    if (auto wait = channel->waits_for()) state.waits.push_back(std::move(*wait));
  }
  return state;
}

void ReplayRank::guard(const std::function<void()>& code) {
  try {
    code();
  } catch (const TaskStopped&) {
    throw;
  } catch (...) {
    failures_.fail(index(), std::current_exception());
  }
}

double ReplayRank::start_seconds() const {
  const auto rank = static_cast<std::size_t>(index());
  return rank < options_.start_seconds.size() ? options_.start_seconds[rank] : 0.0;
}

}  // namespace tutti
