#include "collectives/plan_check.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/plan_walk.hpp"

namespace tutti {
namespace {

// Tells each program's time.
class Clock final : public PlanVisitor {
 public:
  Clock(const Plan& plan, const std::vector<PlanMessage>& messages, const CostModel& model)
      : plan_(plan),
        messages_(messages),
        model_(model),
        now_seconds_(plan.programs.size(), 0.0),
        posted_seconds_(messages.size(), 0.0) {}

  void posted(std::size_t program, std::size_t message, bool is_send) override {
    if (is_send) now_seconds_[program] += model_.send_overhead_seconds;
    posted_seconds_[message] = std::max(posted_seconds_[message], now_seconds_[program]);
  }

  void finished(std::size_t program, std::size_t message, bool is_send) override {
    const PlanEvent& recv = *messages_[message].recv;
    const auto bytes = static_cast<double>(recv.bytes());
    double& now = now_seconds_[program];
    now = std::max(now, end_seconds(message));
    if (is_send) return;
    now += model_.receive_overhead_seconds;
    if (recv.op != Op::replace) now += bytes * model_.gamma_seconds_per_byte;
  }

  void worked(std::size_t program, const PlanEvent& event) override {
    if (event.work == Work::Kind::scratch) return;
    now_seconds_[program] +=
        event.work == Work::Kind::compute
            ? event.seconds
            : static_cast<double>(event.bytes()) * model_.gamma_seconds_per_byte;
  }

  /// When both ends have posted it.
  const std::vector<double>& begin_seconds() const { return posted_seconds_; }

  double end_seconds(std::size_t message) const {
    const auto bytes = static_cast<double>(messages_[message].recv->bytes());
    return posted_seconds_[message] + model_.alpha_seconds + bytes * model_.beta_seconds_per_byte;
  }

  /// By rank, the latest of its lanes.
  std::vector<double> ends() const {
    std::vector<double> ends(static_cast<std::size_t>(plan_.size), 0.0);
    for (std::size_t p = 0; p < now_seconds_.size(); ++p) {
      double& end = ends[static_cast<std::size_t>(plan_.programs[p].rank)];
      end = std::max(end, now_seconds_[p]);
    }
    return ends;
  }

 private:
  const Plan& plan_;
  const std::vector<PlanMessage>& messages_;
  const CostModel& model_;
  std::vector<double> now_seconds_;
  std::vector<double> posted_seconds_;
};

}  // namespace

void check_matching(const Plan& plan) {
  match(plan);
}

std::vector<PlanVolume> volumes(const Plan& plan) {
  std::vector<PlanVolume> result(static_cast<std::size_t>(plan.size));
  for (const PlanProgram& program : plan.programs) {
    PlanVolume& volume = result[static_cast<std::size_t>(program.rank)];
    for (const PlanEvent& event : program.events) {
      if (event.kind == PlanEvent::Kind::send) {
        volume.bytes_sent += event.bytes();
        ++volume.messages_sent;
      } else if (event.kind == PlanEvent::Kind::recv) {
        volume.bytes_received += event.bytes();
        ++volume.messages_received;
      }
      const bool folds = event.kind == PlanEvent::Kind::recv ||
                         (event.kind == PlanEvent::Kind::work && event.work == Work::Kind::reduce);
      if (folds && event.op != Op::replace) volume.bytes_reduced += event.bytes();
    }
  }
  return result;
}

Timeline timeline(const Plan& plan, const CostModel& model) {
  Timeline result{match(plan), {}, {}, {}};
  Clock clock(plan, result.messages, model);
  walk(plan, result.messages, clock);
  result.begin_seconds = clock.begin_seconds();
  for (std::size_t i = 0; i < result.messages.size(); ++i) {
    result.end_seconds.push_back(clock.end_seconds(i));
  }
  result.rank_seconds = clock.ends();
  return result;
}

std::vector<double> replay(const Plan& plan, const CostModel& model) {
  return timeline(plan, model).rank_seconds;
}

int depth(const Plan& plan) {
  const std::vector<double> ends = replay(plan, CostModel{.alpha_seconds = 1.0});
  const auto longest = std::max_element(ends.begin(), ends.end());
  return longest == ends.end() ? 0 : static_cast<int>(std::lround(*longest));
}

}  // namespace tutti
