#include "collectives/plan.hpp"

namespace tutti {
std::string_view name_of(Work::Kind kind) {
  switch (kind) {
    case Work::Kind::copy:
      return "copy";
    case Work::Kind::reduce:
      return "reduce";
    case Work::Kind::scale:
      return "scale";
    case Work::Kind::compute:
      return "compute";
    case Work::Kind::scratch:
      return "scratch";
  }
  return "unknown";
}

namespace {

std::string place(PlanAddress address, std::size_t bytes) {
  const std::string range =
      fmt::format("bytes {}..{}", address.offset_bytes, address.offset_bytes + bytes);
  if (address.buffer < -1) return fmt::format("scratch {} {}", -2 - address.buffer, range);
  return address.buffer <= 0 ? range : fmt::format("buffer {} {}", address.buffer, range);
}

std::string elements(const PlanEvent& event) {
  const std::string text = fmt::format("({} {})", event.count, name_of(event.dtype));
  return event.op == Op::replace ? text : fmt::format("{} {}", text, name_of(event.op));
}

std::string event_text(const PlanEvent& event) {
  switch (event.kind) {
    case PlanEvent::Kind::send:
    case PlanEvent::Kind::recv:
      return fmt::format("{} {} {} {}, request {}",
                         event.kind == PlanEvent::Kind::send ? "send to" : "recv from", event.peer,
                         place(event.address, event.bytes()), elements(event), event.request);
    case PlanEvent::Kind::wait:
      return fmt::format("wait for request {}", event.request);
    case PlanEvent::Kind::work:
      break;
  }
  if (event.work == Work::Kind::compute) return fmt::format("compute {} s", event.seconds);
  if (event.work == Work::Kind::scratch) return place(event.address, event.bytes()) + " unset";
  return fmt::format("{} {} from {} {}", name_of(event.work), place(event.address, event.bytes()),
                     place(event.source, event.bytes()), elements(event));
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text = fmt::format("plan of {} ranks\n", plan.size);
  for (const PlanProgram& program : plan.programs) {
    for (const PlanEvent& event : program.events) {
      text += fmt::format("rank {} ", program.rank);
      if (program.lane != 0) text += fmt::format("lane {} ", program.lane);
      text += fmt::format("step {} {}\n", event.step, event_text(event));
    }
  }
  return text;
}

}  // namespace tutti
