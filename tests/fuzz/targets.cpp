#include "tests/fuzz/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>

#include "collectives/choose.hpp"
#include "collectives/error.hpp"
#include "collectives/plan_goal.hpp"
#include "collectives/plan_json.hpp"
#include "exec/tcp_frame.hpp"
#include "topologies/export.hpp"
#include "topologies/import.hpp"
#include "topologies/load.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

/// Throws what no caller catches: the finding.
void require(bool holds, std::string_view what, std::string_view text) {
  if (!holds) throw std::logic_error(fmt::format("{}: {}", what, text));
}

void use_shape(const Shape& shape) {
  const int last = static_cast<int>(shape.hosts.size()) - 1;
  require(last >= 0 && shape.size() >= 1, "a shape without hosts or ranks", shape.name);
  if (!shape.route) return;
  for (const int link : shape.route(0, last)) {
    require(link >= 0 && link < static_cast<int>(shape.links.size()), "no such link", shape.name);
  }
}

/// What is written for other tools is at least understood here.
void export_shape(const Shape& shape) {
  constexpr std::size_t most_hosts = 12;
  if (shape.hosts.size() > most_hosts) return;
  export_dot(shape);
  try {
    export_astra(shape);
  } catch (const ShapeError&) {  // It is no product.
  }
  try {
    import_topology(export_simgrid(shape), "exported.xml", "simgrid");
  } catch (const ShapeError&) {  // Names that the importer finds too long.
  }
}

void run_yaml(std::string_view text) {
  Shape shape;
  try {
    shape = parse_shape(text, "fuzz.yaml");
  } catch (const ShapeError&) {
    return;
  }
  use_shape(shape);
  export_shape(shape);
}

/// Each line is what --set or, with a node or link in front, --fail takes.
void run_edits(std::string_view text) {
  constexpr std::string_view shape =
      "shape: leaf_spine\nleaves: 2\nspines: 2\nhosts_per_leaf: 2\nlinks:\n"
      "  host: {bandwidth: 10GBps, latency: 1us}\n  spine: {bandwidth: 20GBps, latency: 2us}\n"
      "host: {reduction: 8GBps, send_overhead: 1us, receive_overhead: 2us}\n";
  std::vector<std::string> settings, failures;
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool is_failure = line.starts_with("link:") || line.starts_with("node:");
    (is_failure ? failures : settings).push_back(line);
  }
  try {
    use_shape(parse_shape(shape, "fuzz.yaml", settings, failures));
  } catch (const ShapeError&) {
  }
}

/// What an importer writes is what the loader reads.
void run_import(const Importer& importer, std::string_view text) {
  const bool recognised = importer.recognises(text);
  Import imported;
  try {
    imported = importer.import(text, "fuzz");
  } catch (const ShapeError&) {
    return;
  }
  require(recognised || !imported.kind.empty(), "imported without a kind", importer.name);
  try {
    use_shape(parse_shape(imported.yaml, "imported.yaml"));
  } catch (const ShapeError& error) {
    require(false, error.what(), imported.yaml);
  }
}

template <typename Parse, typename Format>
void check_quantity(const std::string& text, Parse parse, Format format) {
  double value = 0.0;
  try {
    value = parse(text);
  } catch (const ShapeError&) {
    return;
  }
  require(parse(format(value)) == value, "its text parses to something else", text);
}

void run_units(std::string_view bytes) {
  const std::string text(bytes);
  check_quantity(text, parse_bandwidth, format_bandwidth);
  check_quantity(text, parse_duration, format_duration);
}

void run_goal(std::string_view text) {
  Plan plan;
  try {
    plan = parse_goal(text);
  } catch (const Error&) {
    return;
  }
  require(to_goal(parse_goal(to_goal(plan))) == to_goal(plan), "does not survive a copy", text);
}

void run_plan_json(std::string_view text) {
  try {
    plan_from_json(text);
  } catch (const Error&) {
  }
}

void run_rules(std::string_view text) {
  for (const auto parse : {parse_rules, parse_forced}) {
    try {
      parse(text, "fuzz");
    } catch (const Error&) {
    }
  }
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A stream of messages without their payload, and one of notices that arrives in two pieces.
void run_tcp_frames(std::string_view text) {
  try {
    for (std::string_view rest = text; const auto decoded = decode_data_header(as_bytes(rest));) {
      const EncodedHeader again = encode(decoded->header);
      const auto second = decode_data_header({again.data.data(), again.bytes});
      require(second && second->header.payload_bytes() == decoded->header.payload_bytes(),
              "a message does not survive a copy", text);
      rest.remove_prefix(decoded->bytes);
    }
  } catch (const Error&) {
  }
  try {
    FrameReader reader;
    for (const std::string_view part :
         {text.substr(0, text.size() / 2), text.substr(text.size() / 2)}) {
      reader.append(part);
      while (const auto frame = reader.next()) {
        require(frame->body.size() <= text.size(), "a notice out of nothing", text);
        if (frame->kind == Frame::Kind::state) decode_lane_state(frame->body).call.describe();
        if (frame->kind == Frame::Kind::failed) decode_failure(frame->body);
        if (frame->kind == Frame::Kind::entry) {
          const LaneEntry entry = decode_lane_entry(frame->body);
          require(encode(decode_lane_entry(encode(entry))) == encode(entry),
                  "a call's notice does not survive a copy", text);
        }
      }
    }
  } catch (const Error&) {
  }
}

/// What a stranger may say to rank 0, rank 0 to a stranger, and a user to both.
void run_tcp_rendezvous(std::string_view text) {
  try {
    const auto hello = decode_hello(text);
    if (hello) require(decode_hello(encode(*hello)).has_value(), "a hello is lost", text);
  } catch (const Error&) {
  }
  try {
    const Welcome welcome = decode_welcome(text, 3);
    require(encode(welcome) == text, "a welcome does not survive a copy", text);
  } catch (const Error&) {
  }
  try {
    require(!parse_endpoint(text).host.empty(), "no host", text);
  } catch (const Error&) {
  }
}

}  // namespace

std::vector<FuzzTarget> fuzz_targets() {
  std::vector<FuzzTarget> targets = {{"yaml", run_yaml},
                                     {"edits", run_edits},
                                     {"units", run_units},
                                     {"goal", run_goal},
                                     {"rules", run_rules},
                                     {"plan-json", run_plan_json},
                                     {"tcp-frames", run_tcp_frames},
                                     {"tcp-rendezvous", run_tcp_rendezvous}};
  for (const Importer& importer : importers()) {
    targets.push_back({fmt::format("import-{}", importer.name),
                       [&importer](std::string_view text) { run_import(importer, text); }});
  }
  return targets;
}

}  // namespace tutti
