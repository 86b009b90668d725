#include "collectives/plan_check.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// Where an event stands in a plan.
struct Position {
  std::size_t program = 0;
  std::size_t event = 0;
};

// A send and the receive that takes it.
struct Message {
  Position send;
  Position recv;
};

// The stream from one rank to another on one lane, in posting order.
struct Stream {
  std::vector<Position> sends;
  std::vector<Position> receives;
};

struct StreamKey {
  int lane;
  int from;
  int to;

  auto operator<=>(const StreamKey&) const = default;
};

const PlanEvent& event_at(const Plan& plan, Position position) {
  return plan.programs[position.program].events[position.event];
}

std::map<StreamKey, Stream> streams_of(const Plan& plan) {
  std::map<StreamKey, Stream> streams;
  for (std::size_t p = 0; p < plan.programs.size(); ++p) {
    const PlanProgram& program = plan.programs[p];
    for (std::size_t e = 0; e < program.events.size(); ++e) {
      const PlanEvent& event = program.events[e];
      if (event.kind == PlanEvent::Kind::send) {
        streams[{program.lane, program.rank, event.peer}].sends.push_back({p, e});
      } else if (event.kind == PlanEvent::Kind::recv) {
        streams[{program.lane, event.peer, program.rank}].receives.push_back({p, e});
      }
    }
  }
  return streams;
}

std::string describe(const PlanProgram& program, const PlanEvent& event) {
  return fmt::format("{} bytes ({} {}{}) at step {} of {}", event.bytes(), event.count,
                     name_of(event.dtype), event.ghost ? ", a ghost" : "", event.step,
                     program.call_of(event));
}

std::string describe(const Plan& plan, Position position) {
  return describe(plan.programs[position.program], event_at(plan, position));
}

[[noreturn]] void throw_unmatched(const Plan& plan, const StreamKey& key, const Stream& stream) {
  const bool is_send = stream.sends.size() > stream.receives.size();
  const std::size_t matched = std::min(stream.sends.size(), stream.receives.size());
  const std::string event =
      describe(plan, is_send ? stream.sends[matched] : stream.receives[matched]);
  const std::string text =
      is_send ? fmt::format("plan: rank {} sends rank {} {}, which it never receives", key.from,
                            key.to, event)
              : fmt::format("plan: rank {} expects from rank {} {}, which it never sends", key.to,
                            key.from, event);
  throw Error(ErrorKind::mismatch, text, is_send ? key.from : key.to);
}

// The messages in the order of the streams; throws if the plan does not match.
std::vector<Message> match(const Plan& plan) {
  std::vector<Message> messages;
  for (const auto& [key, stream] : streams_of(plan)) {
    const std::size_t matched = std::min(stream.sends.size(), stream.receives.size());
    for (std::size_t i = 0; i < matched; ++i) {
      const PlanEvent& send = event_at(plan, stream.sends[i]);
      const PlanEvent& recv = event_at(plan, stream.receives[i]);
      if (send.count != recv.count || send.dtype != recv.dtype || send.ghost != recv.ghost ||
          send.signature != recv.signature) {
        throw Error(
            ErrorKind::mismatch,
            fmt::format("plan: rank {} expects from rank {} {}, which sends {}", key.to, key.from,
                        describe(plan, stream.receives[i]), describe(plan, stream.sends[i])),
            key.to);
      }
      messages.push_back({stream.sends[i], stream.receives[i]});
    }
    if (stream.sends.size() != stream.receives.size()) throw_unmatched(plan, key, stream);
  }
  return messages;
}

// Executes all programs as far as they go, each until it waits for a message that is not posted on
// both ends. Linear: a program is resumed only by the post it waits for.
class Replay {
 public:
  Replay(const Plan& plan, const CostModel& model)
      : plan_(plan), model_(model), states_(plan.programs.size()) {
    for (const Message& message : match(plan)) {
      const std::size_t index = flights_.size();
      flights_.push_back({event_at(plan, message.send).bytes()});
      link(message.send, index);
      link(message.recv, index);
    }
  }

  std::vector<double> run() {
    for (std::size_t p = 0; p < states_.size(); ++p) advance(p);
    while (!runnable_.empty()) {
      const std::size_t program = runnable_.back();
      runnable_.pop_back();
      advance(program);
    }
    check_finished();
    std::vector<double> ends(static_cast<std::size_t>(plan_.size), 0.0);
    for (std::size_t p = 0; p < states_.size(); ++p) {
      double& end = ends[static_cast<std::size_t>(plan_.programs[p].rank)];
      end = std::max(end, states_[p].seconds);
    }
    return ends;
  }

 private:
  struct Flight {
    std::size_t bytes;
    double posted_seconds = 0.0;  // The later of the two posts so far.
    int posts = 0;
    std::size_t waiter = none;  // A program that waits for the second post.
  };

  struct Open {
    std::size_t flight;
    bool reduces;
  };

  struct State {
    std::size_t next = 0;
    double seconds = 0.0;
    std::vector<Open> open;  // By request - 1: requests are numbered from 1.
  };

  void link(Position position, std::size_t flight) {
    const PlanEvent& event = event_at(plan_, position);
    std::vector<Open>& open = states_[position.program].open;
    if (open.size() < event.request) open.resize(event.request, Open{none, false});
    const bool reduces = event.kind == PlanEvent::Kind::recv && event.op != Op::replace;
    open[event.request - 1] = Open{flight, reduces};
  }

  void advance(std::size_t program) {
    State& state = states_[program];
    const std::vector<PlanEvent>& events = plan_.programs[program].events;
    for (; state.next < events.size(); ++state.next) {
      const PlanEvent& event = events[state.next];
      if (event.kind == PlanEvent::Kind::work) {
        state.seconds += work_seconds(event);
      } else if (event.kind != PlanEvent::Kind::wait) {
        post(flights_[state.open[event.request - 1].flight], state.seconds);
      } else if (!finish(state.open[event.request - 1], program, state)) {
        return;
      }
    }
  }

  void post(Flight& flight, double seconds) {
    flight.posted_seconds = std::max(flight.posted_seconds, seconds);
    if (++flight.posts < 2 || flight.waiter == none) return;
    runnable_.push_back(flight.waiter);
    flight.waiter = none;
  }

  bool finish(Open open, std::size_t program, State& state) {
    Flight& flight = flights_[open.flight];
    if (flight.posts < 2) {
      flight.waiter = program;
      return false;
    }
    const double bytes = static_cast<double>(flight.bytes);
    state.seconds = std::max(state.seconds, flight.posted_seconds + model_.alpha_seconds +
                                                bytes * model_.beta_seconds_per_byte);
    if (open.reduces) state.seconds += bytes * model_.gamma_seconds_per_byte;
    return true;
  }

  double work_seconds(const PlanEvent& event) const {
    if (event.work == Work::Kind::compute) return event.seconds;
    if (event.work == Work::Kind::scratch) return 0.0;
    return static_cast<double>(event.bytes()) * model_.gamma_seconds_per_byte;
  }

  void check_finished() const {
    std::vector<std::string> blocked;
    int culprit = -1;
    for (std::size_t p = 0; p < states_.size(); ++p) {
      const PlanProgram& program = plan_.programs[p];
      if (states_[p].next == program.events.size()) continue;
      if (culprit < 0) culprit = program.rank;
      if (blocked.size() == 4) break;
      blocked.push_back(describe_wait(program, states_[p].next));
    }
    if (culprit < 0) return;
    throw Error(ErrorKind::deadlock,
                fmt::format("plan: no rank can go on; {}", fmt::join(blocked, "; ")), culprit);
  }

  static std::string describe_wait(const PlanProgram& program, std::size_t wait) {
    const std::uint64_t request = program.events[wait].request;
    for (const PlanEvent& event : program.events) {
      if (event.request != request) continue;
      const bool is_send = event.kind == PlanEvent::Kind::send;
      return fmt::format("rank {} waits {} rank {} {}", program.rank,
                         is_send ? "to send to" : "to receive from", event.peer,
                         describe(program, event));
    }
    return fmt::format("rank {} waits", program.rank);
  }

  const Plan& plan_;
  const CostModel& model_;
  std::vector<State> states_;
  std::vector<Flight> flights_;
  std::vector<std::size_t> runnable_;
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

std::vector<double> replay(const Plan& plan, const CostModel& model) {
  return Replay(plan, model).run();
}

int depth(const Plan& plan) {
  const std::vector<double> ends = replay(plan, CostModel{.alpha_seconds = 1.0});
  const auto longest = std::max_element(ends.begin(), ends.end());
  return longest == ends.end() ? 0 : static_cast<int>(std::lround(*longest));
}

}  // namespace tutti
