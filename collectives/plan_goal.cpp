#include "collectives/plan_goal.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>

#include "collectives/goal_schedule.hpp"

namespace tutti {
namespace {

using Kind = PlanEvent::Kind;

// Writes one program as statements. Positions count its events from 1.
class GoalWriter {
 public:
  GoalWriter(std::string& text, std::size_t& labels, double gamma_seconds_per_byte)
      : text_(text), labels_(labels), gamma_seconds_per_byte_(gamma_seconds_per_byte) {}

  void write(const PlanProgram& program) {
    for (const PlanEvent& event : program.events) {
      ++position_;
      if (event.kind == Kind::wait) {
        write_wait(posts_.at(event.request));
      } else if (event.kind == Kind::work) {
        write_calc(seconds_of(event));
      } else {
        write_message(program.lane, event);
      }
    }
  }

 private:
  struct Post {
    std::size_t label = 0;
    std::size_t position = 0;
    double seconds = 0.0;  // Of the reduction, when it has been waited for.
  };

  double seconds_of(const PlanEvent& event) const {
    if (event.work == Work::Kind::compute) return event.seconds;
    if (event.work == Work::Kind::scratch) return 0.0;
    return static_cast<double>(event.bytes()) * gamma_seconds_per_byte_;
  }

  void write_message(int lane, const PlanEvent& event) {
    const bool is_send = event.kind == Kind::send;
    const bool folds = !is_send && event.op != Op::replace;
    const double seconds =
        folds ? static_cast<double>(event.bytes()) * gamma_seconds_per_byte_ : 0.0;
    std::string operation = fmt::format("{} {}b {} {} tag {}", is_send ? "send" : "recv",
                                        event.bytes(), is_send ? "to" : "from", event.peer, lane);
    if (lane != 0) operation += fmt::format(" cpu {}", lane);
    posts_[event.request] = {write_operation(operation), position_, seconds};
  }

  void write_wait(const Post& post) {
    waited_.push_back(post.label);
    covered_ = std::max(covered_, post.position);
    last_wait_ = position_;
    write_calc(post.seconds);
  }

  // The rank does nothing else before it is done.
  void write_calc(double seconds) {
    const long long nanoseconds = std::llround(seconds * 1e9);
    if (nanoseconds <= 0) return;
    waited_.push_back(write_operation(fmt::format("calc {}", nanoseconds)));
    covered_ = position_++;
    last_wait_ = position_;
  }

  // It requires all that has been waited for. What was before the previous post is required by that
  // one, and so covered by its start, or by the end of something posted later.
  std::size_t write_operation(const std::string& operation) {
    const std::size_t label = ++labels_;
    text_ += fmt::format("l{}: {}\n", label, operation);
    for (const std::size_t other : waited_)
      text_ += fmt::format("l{} requires l{}\n", label, other);
    if (wait_before_previous_ > covered_) {
      text_ += fmt::format("l{} irequires l{}\n", label, previous_);
    }
    waited_.clear();
    wait_before_previous_ = last_wait_;
    previous_ = label;
    return label;
  }

  std::string& text_;
  std::size_t& labels_;
  double gamma_seconds_per_byte_;
  std::unordered_map<std::uint64_t, Post> posts_;
  std::vector<std::size_t> waited_;  // Labels, since the previous post.
  std::size_t position_ = 0;
  std::size_t covered_ = 0;  // Whatever waited for this position has waited for all before it.
  std::size_t last_wait_ = 0;
  std::size_t wait_before_previous_ = 0;
  std::size_t previous_ = 0;
};

// The programs of a graph, in the order of its schedule.
class PlanBuilder {
 public:
  PlanBuilder(const GoalGraph& graph, const GoalSchedule& schedule)
      : graph_(graph),
        schedule_(schedule),
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
    PlanEvent event;
    event.step = steps_[rank];
    if (operation.kind == GoalOperation::Kind::calc) {
      event.kind = Kind::work;
      event.seconds = operation.seconds;
      waited_[index] = true;
    } else {
      const bool is_send = operation.kind == GoalOperation::Kind::send;
      event.kind = is_send ? Kind::send : Kind::recv;
      event.peer = graph_.operations[schedule_.partner[index]].rank;
      event.request = requests_[index] = next_request_[rank]++;
      event.ghost = true;
      event.count = std::max<std::size_t>(operation.bytes, 1);
      event.dtype = DType::uint8;
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

std::string to_goal(const Plan& plan, double gamma_seconds_per_byte) {
  std::vector<std::string> blocks(static_cast<std::size_t>(plan.size));
  std::vector<std::size_t> labels(blocks.size(), 0);
  for (const PlanProgram& program : plan.programs) {
    const auto rank = static_cast<std::size_t>(program.rank);
    GoalWriter(blocks[rank], labels[rank], gamma_seconds_per_byte).write(program);
  }
  std::string text = fmt::format("num_ranks {}\n", plan.size);
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    text += fmt::format("\nrank {} {{\n{}}}\n", rank, blocks[rank]);
  }
  return text;
}

Plan parse_goal(std::string_view text, const CostModel& model) {
  const GoalGraph graph = parse_goal_graph(text);
  return PlanBuilder(graph, schedule_goal(graph, model)).build();
}

}  // namespace tutti
