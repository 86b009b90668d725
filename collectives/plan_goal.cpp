#include "collectives/plan_goal.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "collectives/goal_plan.hpp"
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

// What the plan has in place of a GOAL operation: bytes that are nowhere.
PlanEvent event_of(const GoalOperation& operation) {
  PlanEvent event;
  if (operation.kind == GoalOperation::Kind::calc) {
    event.kind = Kind::work;
    event.seconds = operation.seconds;
    return event;
  }
  event.kind = operation.kind == GoalOperation::Kind::send ? Kind::send : Kind::recv;
  event.ghost = true;
  event.count = std::max<std::size_t>(operation.bytes, 1);
  event.dtype = DType::uint8;
  return event;
}

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
  std::vector<PlanEvent> events;
  for (const GoalOperation& operation : graph.operations) events.push_back(event_of(operation));
  return plan_of_schedule(graph, schedule_goal(graph, model), std::move(events));
}

}  // namespace tutti
