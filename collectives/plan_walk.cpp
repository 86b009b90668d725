#include "collectives/plan_walk.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>

namespace tutti {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

// The events of one kind in a program, as indices, those of one peer together and in order.
class ByPeer {
 public:
  ByPeer(const PlanProgram& program, PlanEvent::Kind kind) : program_(&program) {
    for (std::size_t e = 0; e < program.events.size(); ++e) {
      if (program.events[e].kind == kind) events_.push_back(e);
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [&](std::size_t a, std::size_t b) { return peer(a) < peer(b); });
  }

  const PlanProgram& program() const { return *program_; }
  std::span<const std::size_t> all() const { return events_; }

  std::span<const std::size_t> of(int wanted) const {
    const auto begin = std::partition_point(
        events_.begin(), events_.end(), [&](std::size_t event) { return peer(event) < wanted; });
    const auto end = std::partition_point(begin, events_.end(),
                                          [&](std::size_t event) { return peer(event) == wanted; });
    return {begin, end};
  }

 private:
  int peer(std::size_t event) const { return program_->events[event].peer; }

  const PlanProgram* program_;
  std::vector<std::size_t> events_;
};

std::string describe(const PlanProgram& program, const PlanEvent& event) {
  return fmt::format("{} bytes ({} {}{}) at step {} of {}", event.bytes(), event.count,
                     name_of(event.dtype), event.ghost ? ", a ghost" : "", event.step,
                     program.call_of(event));
}

// The stream from one rank to another on one lane, in posting order.
struct Stream {
  const PlanProgram* sender;
  const PlanProgram* receiver;
  std::span<const std::size_t> sends;
  std::span<const std::size_t> receives;
};

[[noreturn]] void throw_unsent(const PlanProgram& receiver, const PlanEvent& recv) {
  throw Error(ErrorKind::mismatch,
              fmt::format("plan: rank {} expects from rank {} {}, which it never sends",
                          receiver.rank, recv.peer, describe(receiver, recv)),
              receiver.rank);
}

[[noreturn]] void throw_unreceived(const PlanProgram& sender, const PlanEvent& send) {
  throw Error(ErrorKind::mismatch,
              fmt::format("plan: rank {} sends rank {} {}, which it never receives", sender.rank,
                          send.peer, describe(sender, send)),
              sender.rank);
}

void match_stream(const Stream& stream, std::vector<PlanMessage>& messages) {
  const std::size_t matched = std::min(stream.sends.size(), stream.receives.size());
  for (std::size_t i = 0; i < matched; ++i) {
    const PlanEvent& send = stream.sender->events[stream.sends[i]];
    const PlanEvent& recv = stream.receiver->events[stream.receives[i]];
    if (send.count != recv.count || send.dtype != recv.dtype || send.ghost != recv.ghost ||
        send.signature != recv.signature) {
      throw Error(ErrorKind::mismatch,
                  fmt::format("plan: rank {} expects from rank {} {}, which sends {}",
                              stream.receiver->rank, stream.sender->rank,
                              describe(*stream.receiver, recv), describe(*stream.sender, send)),
                  stream.receiver->rank);
    }
    messages.push_back({stream.sender, stream.receiver, &send, &recv});
  }
  if (stream.sends.size() > matched) {
    throw_unreceived(*stream.sender, stream.sender->events[stream.sends[matched]]);
  }
  if (stream.receives.size() > matched) {
    throw_unsent(*stream.receiver, stream.receiver->events[stream.receives[matched]]);
  }
}

struct Place {
  int lane;
  int rank;

  auto operator<=>(const Place&) const = default;
};

using Ends = std::map<Place, ByPeer>;

Ends ends_of(const Plan& plan, PlanEvent::Kind kind) {
  Ends ends;
  for (const PlanProgram& program : plan.programs) {
    ends.emplace(Place{program.lane, program.rank}, ByPeer(program, kind));
  }
  return ends;
}

// Throws unless every rank that another expects something of sends it anything.
void check_all_sent(const Ends& senders, const Ends& receivers) {
  for (const auto& [place, receives] : receivers) {
    for (std::span<const std::size_t> rest = receives.all(); !rest.empty();) {
      const PlanEvent& recv = receives.program().events[rest.front()];
      const auto sender = senders.find({place.lane, recv.peer});
      if (sender == senders.end() || sender->second.of(place.rank).empty()) {
        throw_unsent(receives.program(), recv);
      }
      rest = rest.subspan(receives.of(recv.peer).size());
    }
  }
}

}  // namespace

std::vector<PlanMessage> match(const Plan& plan) {
  const Ends senders = ends_of(plan, PlanEvent::Kind::send);
  const Ends receivers = ends_of(plan, PlanEvent::Kind::recv);
  std::vector<PlanMessage> messages;
  for (const auto& [place, sends] : senders) {
    for (std::span<const std::size_t> rest = sends.all(); !rest.empty();) {
      const PlanEvent& send = sends.program().events[rest.front()];
      const auto receiver = receivers.find({place.lane, send.peer});
      if (receiver == receivers.end()) throw_unreceived(sends.program(), send);
      const std::span<const std::size_t> stream = sends.of(send.peer);
      match_stream(
          {&sends.program(), &receiver->second.program(), stream, receiver->second.of(place.rank)},
          messages);
      rest = rest.subspan(stream.size());
    }
  }
  check_all_sent(senders, receivers);
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
