#include "collectives/plan_json.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;
using Kind = PlanEvent::Kind;

constexpr const char* format_name = "tutti plan 1";
constexpr int most_ranks = 1 << 16;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 50;

std::string_view verb_of(const PlanEvent& event) {
  switch (event.kind) {
    case Kind::send:
      return "send";
    case Kind::recv:
      return "recv";
    case Kind::wait:
      return "wait";
    case Kind::work:
      break;
  }
  return name_of(event.work);
}

Json event_json(const PlanEvent& event) {
  const PlanEvent unset;
  Json json{{"do", verb_of(event)}, {"step", event.step}};
  const auto add = [&json](const char* key, const auto& value, const auto& otherwise) {
    if (value != otherwise) json[key] = value;
  };
  add("request", event.request, unset.request);
  if (event.peer >= 0) json[event.kind == Kind::recv ? "from" : "to"] = event.peer;
  add("count", event.count, unset.count);
  if (event.dtype != unset.dtype) json["dtype"] = name_of(event.dtype);
  if (event.op != unset.op) json["op"] = name_of(event.op);
  add("buffer", event.address.buffer, unset.address.buffer);
  add("offset_bytes", event.address.offset_bytes, unset.address.offset_bytes);
  add("source_buffer", event.source.buffer, unset.source.buffer);
  add("source_offset_bytes", event.source.offset_bytes, unset.source.offset_bytes);
  add("ghost", event.ghost, unset.ghost);
  add("seconds", event.seconds, unset.seconds);
  add("signature", event.signature, unset.signature);
  add("call", event.call, unset.call);
  return json;
}

// Reads one object; every error says where it is.
class Reader {
 public:
  Reader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail(shown(json), "an object");
  }

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw Error(ErrorKind::usage,
                fmt::format("plan: {}: found {}, expected {}", place_, found, expected));
  }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& at(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) fail(fmt::format("no key '{}'", key), "it");
    return *found;
  }

  const Json& array(const char* key) const {
    const Json& found = at(key);
    if (!found.is_array()) fail(fmt::format("{} {}", key, shown(found)), "an array");
    return found;
  }

  std::string text(const char* key) const {
    const Json& found = at(key);
    if (!found.is_string()) fail(fmt::format("{} {}", key, shown(found)), "a string");
    return found.get<std::string>();
  }

  template <typename Integer>
  Integer integer(const char* key, Integer least, Integer most) const {
    const Json& found = at(key);
    if (found.is_number_unsigned()) {
      const auto value = found.get<std::uint64_t>();
      if (std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most)) {
        return static_cast<Integer>(value);
      }
    } else if (found.is_number_integer()) {
      const auto value = found.get<std::int64_t>();
      if (std::cmp_greater_equal(value, least) && std::cmp_less_equal(value, most)) {
        return static_cast<Integer>(value);
      }
    }
    fail(fmt::format("{} {}", key, shown(found)), fmt::format("{} to {}", least, most));
  }

  template <typename Integer>
  Integer integer(const char* key, Integer least, Integer most, Integer otherwise) const {
    return find(key) == nullptr ? otherwise : integer(key, least, most);
  }

  bool flag(const char* key) const {
    const Json* found = find(key);
    if (found == nullptr) return false;
    if (!found->is_boolean()) fail(fmt::format("{} {}", key, shown(*found)), "true or false");
    return found->get<bool>();
  }

 private:
  static std::string shown(const Json& json) {
    if (json.is_structured()) return json.is_array() ? "an array" : "an object";
    const auto replace = Json::error_handler_t::replace;
    return json.dump(-1, ' ', true, replace).substr(0, 40);
  }

  const Json& json_;
  std::string place_;
};

constexpr int most_int = std::numeric_limits<int>::max();
constexpr std::uint64_t most_uint64 = std::numeric_limits<std::uint64_t>::max();

PlanAddress read_address(const Reader& reader, const char* buffer, const char* offset_bytes) {
  return {reader.integer(buffer, -most_int, most_int, -1),
          reader.integer<std::size_t>(offset_bytes, 0, most_elements * 8, 0)};
}

void read_verb(const Reader& reader, PlanEvent& event) {
  const std::string verb = reader.text("do");
  for (const Kind kind : {Kind::send, Kind::recv, Kind::wait}) {
    event.kind = kind;
    if (verb == verb_of(event)) return;
  }
  event.kind = Kind::work;
  for (const auto work : {Work::Kind::copy, Work::Kind::reduce, Work::Kind::scale,
                          Work::Kind::scratch, Work::Kind::compute}) {
    event.work = work;
    if (verb == verb_of(event)) return;
  }
  reader.fail(fmt::format("do '{:.40}'", verb),
              "send, recv, wait, copy, reduce, scale, scratch or compute");
}

double read_seconds(const Reader& reader) {
  const Json* found = reader.find("seconds");
  if (found == nullptr) return 0.0;
  if (!found->is_number() || !(found->get<double>() >= 0.0))
    reader.fail("bad seconds", "0 or more");
  return found->get<double>();
}

PlanEvent read_event(const Reader& reader, const PlanProgram& program, int size) {
  PlanEvent event;
  read_verb(reader, event);
  event.step = reader.integer("step", 0, most_int);
  if (event.kind == Kind::wait) {
    event.request = reader.integer<std::uint64_t>("request", 1, most_uint64);
    return event;
  }
  event.seconds = read_seconds(reader);
  const bool is_message = event.kind != Kind::work;
  event.count =
      reader.integer<std::size_t>("count", is_message ? 1 : 0, most_elements, std::size_t{0});
  if (is_message && event.count == 0) reader.fail("no count", "1 or more");
  if (reader.find("dtype") != nullptr) event.dtype = parse_dtype(reader.text("dtype"));
  if (reader.find("op") != nullptr) event.op = parse_op(reader.text("op"));
  event.address = read_address(reader, "buffer", "offset_bytes");
  event.source = read_address(reader, "source_buffer", "source_offset_bytes");
  event.ghost = reader.flag("ghost");
  if (!is_message) return event;
  event.request = reader.integer<std::uint64_t>("request", 1, most_uint64);
  event.peer = reader.integer(event.kind == Kind::send ? "to" : "from", 0, size - 1);
  if (event.peer == program.rank) reader.fail("a message to itself", "another rank");
  if (event.op == Op::average) reader.fail("op average", "an op that a receive can have");
  event.signature = reader.integer<std::uint64_t>("signature", 0, most_uint64, 0);
  event.call = reader.integer("call", -1, static_cast<int>(program.calls.size()) - 1, -1);
  return event;
}

PlanProgram read_program(const Json& json, const std::string& place, int size) {
  const Reader reader(json, place);
  PlanProgram program;
  program.rank = reader.integer("rank", 0, size - 1);
  program.lane = reader.integer("lane", 0, most_int, 0);
  if (reader.find("calls") != nullptr) {
    for (const Json& call : reader.array("calls")) {
      if (!call.is_string()) reader.fail("a call that is no string", "its description");
      program.calls.push_back(call.get<std::string>());
    }
  }
  std::set<std::uint64_t> open;
  std::uint64_t posted = 0;
  for (const Json& item : reader.array("events")) {
    const Reader event_reader(item, fmt::format("{}, events[{}]", place, program.events.size()));
    const PlanEvent event = read_event(event_reader, program, size);
    if (event.kind == Kind::send || event.kind == Kind::recv) {
      if (event.request != ++posted) {
        event_reader.fail(fmt::format("request {}", event.request), std::to_string(posted));
      }
      open.insert(event.request);
    } else if (event.kind == Kind::wait && open.erase(event.request) == 0) {
      event_reader.fail(fmt::format("a wait for request {}", event.request), "an open request");
    }
    program.events.push_back(event);
  }
  if (!open.empty()) {
    reader.fail(fmt::format("no wait for request {}", *open.begin()), "one for each");
  }
  return program;
}

Json parse_text(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what();
    const std::size_t line = what.find("line ");
    throw Error(ErrorKind::usage,
                fmt::format("plan: {}", line == std::string_view::npos ? what : what.substr(line)));
  }
}

}  // namespace

std::string to_json(const Plan& plan) {
  std::string text =
      fmt::format("{{\"format\": \"{}\", \"size\": {}, \"programs\": [", format_name, plan.size);
  const char* separator = "\n";
  for (const PlanProgram& program : plan.programs) {
    Json json{{"rank", program.rank}, {"lane", program.lane}, {"calls", program.calls}};
    Json& events = json["events"] = Json::array();
    for (const PlanEvent& event : program.events) events.push_back(event_json(event));
    text += separator + json.dump();
    separator = ",\n";
  }
  return text + "\n]}\n";
}

Plan plan_from_json(std::string_view text) {
  const Json json = parse_text(text);
  const Reader reader(json, "the top");
  if (reader.text("format") != format_name) {
    reader.fail(fmt::format("format '{:.40}'", reader.text("format")), format_name);
  }
  Plan plan{reader.integer("size", 1, most_ranks), {}};
  std::set<std::pair<int, int>> seen;
  for (const Json& item : reader.array("programs")) {
    const std::string place = fmt::format("programs[{}]", plan.programs.size());
    plan.programs.push_back(read_program(item, place, plan.size));
    const PlanProgram& program = plan.programs.back();
    if (!seen.insert({program.rank, program.lane}).second) {
      reader.fail(fmt::format("rank {}, lane {} again", program.rank, program.lane), "each once");
    }
  }
  return plan;
}

}  // namespace tutti
