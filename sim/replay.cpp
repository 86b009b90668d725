#include "sim/replay.hpp"

#include <utility>

namespace tutti {

Replay::Replay(const Shape& shape, const SimOptions& options, int size, StackPool& stacks,
               Observation* observation)
    : tasks_(stacks),
      cores_(shape, tasks_.queue()),
      mail_(shape, size, options, tasks_, observation) {
  const ReplayParts parts{tasks_, mail_, cores_};
  ranks_.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<ReplayRank>(parts, shape, options, *this, rank, size));
  }
}

void Replay::run(const Program& program) {
  for (const auto& rank : ranks_) {
    tasks_.start([&program, own = rank.get()] { own->run(program); });
  }
  loop();
  tasks_.stop_all();
  if (!has_failed_) check_end();
  outcome_.rethrow();
}

void Replay::loop() {
  while (true) {
    tasks_.run_ready(has_failed_);
    if (has_failed_ || tasks_.live() == 0) return;
    mail_.settle();
    if (tasks_.queue().empty()) return fail(-1, std::make_exception_ptr(deadlock()));
    handle(tasks_.advance());
  }
}

void Replay::handle(const std::vector<Event>& events) {
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::Kind::wake:
      case Event::Kind::deadline:
        tasks_.handle(event);
        break;
      case Event::Kind::flow:
        mail_.handle(event);
        break;
      case Event::Kind::compute:
        done_.clear();
        cores_.handle(tasks_.now(), event, done_);
        for (const std::uint32_t task : done_) tasks_.wake(task);
        break;
    }
  }
}

void Replay::fail(int rank, std::exception_ptr failure) {
  has_failed_ = true;
  outcome_.record(rank, std::move(failure));
}

Error Replay::deadlock() const {
  std::vector<RankState> states;
  states.reserve(ranks_.size());
  for (const auto& rank : ranks_) states.push_back(rank->state());
  return describe_deadlock(states);
}

void Replay::check_end() const {
  for (const auto& rank : ranks_) {
    if (rank->is_killed()) throw killed(rank->index());
  }
  mail_.check_all_received();
}

void Replay::write_ends(std::span<double> end_seconds) const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    end_seconds[rank] = ranks_[rank]->end_seconds();
  }
}

}  // namespace tutti
