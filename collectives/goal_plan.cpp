#include "collectives/goal_plan.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <tuple>
#include <utility>

namespace tutti {
namespace {

using Kind = PlanEvent::Kind;

// The programs of a graph, in the order of its schedule.
class PlanBuilder {
 public:
  PlanBuilder(const GoalGraph& graph, const GoalSchedule& schedule, std::vector<PlanEvent> events)
      : graph_(graph),
        schedule_(schedule),
        events_(std::move(events)),
        post_order_(schedule.start),
        requests_(graph.operations.size(), 0),
        waited_(graph.operations.size(), false) {
    plan_.size = graph.ranks;
    for (int rank = 0; rank < graph.ranks; ++rank) plan_.programs.push_back({rank, 0, {}, {}});
    next_request_.assign(plan_.programs.size(), 1);
    steps_.assign(plan_.programs.size(), 1);
  }

  Plan build() {
    align_pairs();
    for (const std::size_t operation : ordered_by(post_order_)) add(operation);
    for (const std::size_t operation : ordered_by(schedule_.end)) wait_for(operation);
    return std::move(plan_);
  }

 private:
  std::vector<std::size_t> ordered_by(const std::vector<std::size_t>& times) const {
    std::vector<std::size_t> order(times.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(times[a], a) < std::pair(times[b], b);
    });
    return order;
  }

  // A plan has no tags: the two ends of a pair must post in the same order, if not that of their
  // starts, then that of matching.
  void align_pairs() {
    std::map<std::pair<int, int>, std::vector<std::size_t>> sends;
    for (const std::size_t i : ordered_by(schedule_.start)) {
      const GoalOperation& operation = graph_.operations[i];
      if (operation.kind != GoalOperation::Kind::send) continue;
      sends[{operation.rank, operation.peer}].push_back(i);
    }
    for (const auto& [pair, stream] : sends) {
      const bool in_order =
          std::is_sorted(stream.begin(), stream.end(), [&](std::size_t a, std::size_t b) {
            return schedule_.start[schedule_.partner[a]] < schedule_.start[schedule_.partner[b]];
          });
      if (in_order) continue;
      for (const std::size_t send : stream) {
        post_order_[send] = post_order_[schedule_.partner[send]] = schedule_.matched[send];
      }
    }
  }

  void add(std::size_t index) {
    const GoalOperation& operation = graph_.operations[index];
    std::vector<std::size_t> required = operation.requires_end;
    std::sort(required.begin(), required.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(schedule_.end[a], a) < std::pair(schedule_.end[b], b);
    });
    bool waits = false;
    for (const std::size_t other : required) waits = wait_for(other) || waits;
    const auto rank = static_cast<std::size_t>(operation.rank);
    if (waits) ++steps_[rank];
    PlanEvent& event = events_[index];
    event.step = steps_[rank];
    if (operation.kind == GoalOperation::Kind::calc) {
      waited_[index] = true;
      if (event.work == Work::Kind::compute && event.seconds == 0.0) return;
    } else {
      event.peer = graph_.operations[schedule_.partner[index]].rank;
      event.request = requests_[index] = next_request_[rank]++;
      const bool is_send = operation.kind == GoalOperation::Kind::send;
      open_[{operation.rank, event.peer, is_send}].push_back(index);
    }
    plan_.programs[rank].events.push_back(event);
  }

  // Per peer and direction, requests are waited for in posting order. Returns whether there was
  // anything to wait for.
  bool wait_for(std::size_t index) {
    if (waited_[index]) return false;
    const GoalOperation& operation = graph_.operations[index];
    const auto rank = static_cast<std::size_t>(operation.rank);
    const int peer = graph_.operations[schedule_.partner[index]].rank;
    auto& open = open_[{operation.rank, peer, operation.kind == GoalOperation::Kind::send}];
    while (!waited_[index]) {
      const std::size_t first = open.front();
      open.pop_front();
      waited_[first] = true;
      PlanEvent event;
      event.kind = Kind::wait;
      event.request = requests_[first];
      event.step = steps_[rank];
      plan_.programs[rank].events.push_back(event);
    }
    return true;
  }

  const GoalGraph& graph_;
  const GoalSchedule& schedule_;
  std::vector<PlanEvent> events_;
  std::vector<std::size_t> post_order_;
  std::vector<std::uint64_t> requests_;
  std::vector<bool> waited_;
  std::vector<std::uint64_t> next_request_;
  std::vector<int> steps_;
  // Requests not yet waited for, by rank, peer and direction.
  std::map<std::tuple<int, int, bool>, std::list<std::size_t>> open_;
  Plan plan_;
};

}  // namespace

Plan plan_of_schedule(const GoalGraph& graph, const GoalSchedule& schedule,
                      std::vector<PlanEvent> events) {
  check(events.size() == graph.operations.size(), "goal: {} events for {} operations",
        events.size(), graph.operations.size());
  return PlanBuilder(graph, schedule, std::move(events)).build();
}

}  // namespace tutti
