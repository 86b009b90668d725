#include "collectives/goal_schedule.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <queue>
#include <utility>

#include "collectives/error.hpp"

namespace tutti {
namespace {

using Kind = GoalOperation::Kind;
constexpr std::size_t none = GoalSchedule::none;

// Pairs sends with receives in the order in which they are posted.
class Matcher {
 public:
  explicit Matcher(const GoalGraph& graph) : graph_(graph), taken_(graph.operations.size(), false) {
    wildcards_ = std::any_of(graph.operations.begin(), graph.operations.end(), [](const auto& one) {
      return one.kind == Kind::recv && (one.peer == GoalGraph::any || one.tag == GoalGraph::any);
    });
  }

  // The other end of `operation`, or none, in which case it is kept for later.
  std::size_t post(std::size_t operation) {
    const GoalOperation& posted = graph_.operations[operation];
    const bool is_send = posted.kind == Kind::send;
    const int to = is_send ? posted.peer : posted.rank;
    const int from = is_send ? posted.rank : posted.peer;
    std::vector<Queue*> queues{&queues_[{to, from, posted.tag}]};
    if (is_send && wildcards_) {
      for (const Key key : {Key{to, GoalGraph::any, posted.tag}, Key{to, from, GoalGraph::any},
                            Key{to, GoalGraph::any, GoalGraph::any}}) {
        queues.push_back(&queues_[key]);
      }
    }
    const std::size_t found = is_send ? first_recv(queues) : first_send(*queues.front());
    for (Queue* queue : queues) {
      if (found == none) (is_send ? queue->sends : queue->recvs).push_back({operation, ++posts_});
    }
    if (found != none) taken_[operation] = taken_[found] = true;
    return found;
  }

 private:
  struct Key {
    int to;
    int from;
    long tag;

    auto operator<=>(const Key&) const = default;
  };

  struct Posted {
    std::size_t operation;
    std::size_t order;
  };

  // A send waits in the queue of every receive that could take it. There may be as many queues as
  // messages, so an empty one must not take memory.
  struct Queue {
    std::list<Posted> sends;
    std::list<Posted> recvs;
  };

  void drop_taken(std::list<Posted>& queue) const {
    while (!queue.empty() && taken_[queue.front().operation]) queue.pop_front();
  }

  std::size_t first_send(Queue& queue) const {
    drop_taken(queue.sends);
    return queue.sends.empty() ? none : queue.sends.front().operation;
  }

  std::size_t first_recv(const std::vector<Queue*>& queues) const {
    Posted first{none, none};
    for (Queue* queue : queues) {
      drop_taken(queue->recvs);
      if (queue->recvs.empty() || queue->recvs.front().order > first.order) continue;
      first = queue->recvs.front();
    }
    return first.operation;
  }

  const GoalGraph& graph_;
  bool wildcards_;
  std::vector<bool> taken_;
  std::map<Key, Queue> queues_;
  std::size_t posts_ = 0;
};

template <typename T>
using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;

class Execution {
 public:
  Execution(const GoalGraph& graph, const CostModel& model)
      : graph_(graph),
        model_(model),
        matcher_(graph),
        missing_(graph.operations.size(), 0),
        after_end_(graph.operations.size()),
        after_start_(graph.operations.size()),
        busy_(static_cast<std::size_t>(graph.ranks), false),
        deferred_(static_cast<std::size_t>(graph.ranks)) {
    const std::size_t operations = graph.operations.size();
    result_ = {std::vector(operations, none), std::vector(operations, none),
               std::vector(operations, none), std::vector(operations, none)};
    for (std::size_t i = 0; i < operations; ++i) {
      const GoalOperation& operation = graph.operations[i];
      for (const std::size_t other : operation.requires_end) after_end_[other].push_back(i);
      for (const std::size_t other : operation.requires_start) after_start_[other].push_back(i);
      missing_[i] = operation.requires_end.size() + operation.requires_start.size();
      if (missing_[i] == 0) events_.push({0.0, start_phase(i), i});
    }
  }

  GoalSchedule run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.seconds;
      if (event.phase == Phase::end) {
        finish(event.operation);
      } else if (busy_[rank_of(event.operation)]) {
        deferred_[rank_of(event.operation)].push({event.phase, event.operation});
      } else {
        start(event.operation);
      }
    }
    check_finished();
    return std::move(result_);
  }

 private:
  // Of one moment: ends come first, and posts, which take no time, before what keeps a rank busy.
  enum class Phase : std::uint8_t { end, post, calc };

  // In order of time; within a phase in that of the text.
  struct Event {
    double seconds;
    Phase phase;
    std::size_t operation;

    auto operator<=>(const Event&) const = default;
  };

  Phase start_phase(std::size_t operation) const {
    return graph_.operations[operation].kind == Kind::calc ? Phase::calc : Phase::post;
  }

  std::size_t rank_of(std::size_t operation) const {
    return static_cast<std::size_t>(graph_.operations[operation].rank);
  }

  void start(std::size_t operation) {
    result_.start[operation] = ++clock_;
    if (graph_.operations[operation].kind == Kind::calc) {
      busy_[rank_of(operation)] = true;
      events_.push({now_ + graph_.operations[operation].seconds, Phase::end, operation});
    } else {
      const std::size_t partner = matcher_.post(operation);
      if (partner != none) match(operation, partner);
    }
    release(after_start_[operation]);
  }

  void match(std::size_t operation, std::size_t partner) {
    const bool is_send = graph_.operations[operation].kind == Kind::send;
    const std::size_t send_index = is_send ? operation : partner;
    const GoalOperation& send = graph_.operations[send_index];
    const GoalOperation& recv = graph_.operations[is_send ? partner : operation];
    if (send.bytes != recv.bytes) {
      throw Error(ErrorKind::mismatch,
                  fmt::format("line {}: found a receive of {} bytes, expected {}, as sent by {}",
                              recv.line, recv.bytes, send.bytes, send.describe()),
                  recv.rank);
    }
    result_.partner[operation] = partner;
    result_.partner[partner] = operation;
    result_.matched[operation] = result_.matched[partner] = ++clock_;
    const double seconds =
        model_.alpha_seconds + static_cast<double>(send.bytes) * model_.beta_seconds_per_byte;
    double& last = last_end_seconds_[{send.rank, recv.rank}];
    last = std::max(last, now_ + seconds);
    events_.push({last, Phase::end, send_index});
  }

  void finish(std::size_t operation) {
    result_.end[operation] = ++clock_;
    release(after_end_[operation]);
    const std::size_t partner = result_.partner[operation];
    if (partner != none) {
      result_.end[partner] = clock_;
      return release(after_end_[partner]);
    }
    const std::size_t rank = rank_of(operation);
    busy_[rank] = false;
    for (auto& waiting = deferred_[rank]; !waiting.empty() && !busy_[rank];) {
      const std::size_t next = waiting.top().second;
      waiting.pop();
      start(next);
    }
  }

  void release(const std::vector<std::size_t>& dependents) {
    for (const std::size_t dependent : dependents) {
      if (--missing_[dependent] == 0) events_.push({now_, start_phase(dependent), dependent});
    }
  }

  // What was posted and has no other end is the cause, if there is any such; what could not start
  // is a consequence of it or of a cycle.
  void check_finished() const {
    std::vector<std::string> blocked;
    int culprit = -1;
    bool all_started = true;
    for (const bool started : {true, false}) {
      for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
        if (result_.end[i] != none || (result_.start[i] != none) != started) continue;
        all_started = all_started && started;
        if (culprit < 0) culprit = graph_.operations[i].rank;
        if (blocked.size() < 4) {
          blocked.push_back(graph_.operations[i].describe() +
                            (started ? " has no other end" : " cannot start"));
        }
      }
    }
    if (culprit < 0) return;
    throw Error(all_started ? ErrorKind::mismatch : ErrorKind::deadlock,
                fmt::format("no rank can go on; {}", fmt::join(blocked, "; ")), culprit);
  }

  const GoalGraph& graph_;
  const CostModel& model_;
  Matcher matcher_;
  GoalSchedule result_;
  std::vector<std::size_t> missing_;  // Requirements not yet met.
  std::vector<std::vector<std::size_t>> after_end_;
  std::vector<std::vector<std::size_t>> after_start_;
  std::vector<bool> busy_;
  std::vector<Earliest<std::pair<Phase, std::size_t>>> deferred_;  // By rank, during a calc.
  Earliest<Event> events_;
  std::map<std::pair<int, int>, double> last_end_seconds_;  // By sender and receiver.
  double now_ = 0.0;
  std::size_t clock_ = 0;
};

}  // namespace

GoalSchedule schedule_goal(const GoalGraph& graph, const CostModel& model) {
  return Execution(graph, model).run();
}

}  // namespace tutti
