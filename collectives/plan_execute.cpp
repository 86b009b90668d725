#include "collectives/plan_execute.hpp"

#include <unordered_map>

namespace tutti {

void execute_plan(const PlanProgram& program, Channel& channel) {
  check(channel.rank() == program.rank, "plan: rank {} executes the program of rank {}",
        channel.rank(), program.rank);
  const int steps = program.events.empty() ? 0 : program.events.back().step;
  const Operation operation(channel, Call{.algorithm = "plan"}, steps);
  std::unordered_map<std::uint64_t, Request> open;
  int step = 0;
  for (const PlanEvent& event : program.events) {
    for (; step < event.step; ++step) channel.next_step();
    const Block block{nullptr, event.count, event.dtype};
    switch (event.kind) {
      case PlanEvent::Kind::send:
        open.emplace(event.request, channel.isend(event.peer, block));
        break;
      case PlanEvent::Kind::recv:
        open.emplace(event.request, channel.irecv(event.peer, block, event.op));
        break;
      case PlanEvent::Kind::wait:
        channel.wait(open.at(event.request));
        open.erase(event.request);
        break;
      case PlanEvent::Kind::work:
        channel.charge({event.work, event.seconds, block, block, event.op});
        break;
    }
  }
}

}  // namespace tutti
