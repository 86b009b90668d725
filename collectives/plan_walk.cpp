#include "collectives/plan_walk.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>

namespace tutti {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// Where an event stands in a plan.
struct Position {
  std::size_t program = 0;
  std::size_t event = 0;
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

}  // namespace

std::vector<PlanMessage> match(const Plan& plan) {
  std::vector<PlanMessage> messages;
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
      messages.push_back({&plan.programs[stream.sends[i].program],
                          &plan.programs[stream.receives[i].program], &send, &recv});
    }
    if (stream.sends.size() != stream.receives.size()) throw_unmatched(plan, key, stream);
  }
  return messages;
}

namespace {

class Walk {
 public:
  Walk(const Plan& plan, const std::vector<PlanMessage>& messages, PlanVisitor& visitor)
      : plan_(plan), visitor_(visitor), states_(plan.programs.size()), flights_(messages.size()) {
    for (std::size_t i = 0; i < messages.size(); ++i) {
      link(*messages[i].sender, *messages[i].send, {i, true});
      link(*messages[i].receiver, *messages[i].recv, {i, false});
    }
  }

  void run() {
    for (std::size_t p = 0; p < states_.size(); ++p) advance(p);
    while (!runnable_.empty()) {
      const std::size_t program = runnable_.back();
      runnable_.pop_back();
      advance(program);
    }
    check_finished();
  }

 private:
  struct Flight {
    int posts = 0;
    std::size_t waiter = none;  // A program that waits for the second post.
  };

  struct End {
    std::size_t message = none;
    bool is_send = false;
  };

  struct State {
    std::size_t next = 0;
    std::vector<End> ends;  // By request - 1: requests are numbered from 1.
  };

  void link(const PlanProgram& program, const PlanEvent& event, End end) {
    std::vector<End>& ends =
        states_[static_cast<std::size_t>(&program - plan_.programs.data())].ends;
    if (ends.size() < event.request) ends.resize(event.request);
    ends[event.request - 1] = end;
  }

  void advance(std::size_t program) {
    State& state = states_[program];
    const std::vector<PlanEvent>& events = plan_.programs[program].events;
    for (; state.next < events.size(); ++state.next) {
      const PlanEvent& event = events[state.next];
      if (event.kind == PlanEvent::Kind::work) {
        visitor_.worked(program, event);
        continue;
      }
      const End end = state.ends[event.request - 1];
      Flight& flight = flights_[end.message];
      if (event.kind != PlanEvent::Kind::wait) {
        visitor_.posted(program, end.message, end.is_send);
        count_post(flight);
      } else if (flight.posts == 2) {
        visitor_.finished(program, end.message, end.is_send);
      } else {
        flight.waiter = program;
        return;
      }
    }
  }

  void count_post(Flight& flight) {
    if (++flight.posts < 2 || flight.waiter == none) return;
    runnable_.push_back(flight.waiter);
    flight.waiter = none;
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
  PlanVisitor& visitor_;
  std::vector<State> states_;
  std::vector<Flight> flights_;
  std::vector<std::size_t> runnable_;
};

}  // namespace

void walk(const Plan& plan, const std::vector<PlanMessage>& messages, PlanVisitor& visitor) {
  Walk(plan, messages, visitor).run();
}

}  // namespace tutti
