#include "topologies/edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "topologies/fields.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_names_compared = 100000;

/// "links.spine.bandwidth=50%" in its parts.
struct Edit {
  std::string_view what;       ///< "spine", or what is in brackets.
  std::string_view attribute;  ///< "bandwidth".
  std::string_view value;
  bool brackets = false;
};

bool is_key_of_files_only(std::string_view attribute) {
  return attribute == "duplex";
}

/// Splits "links[a-b].latency=1us" after "links" or "host".
Edit split_edit(std::string_view setting, std::string_view object) {
  Edit edit;
  const std::size_t equals = std::min(setting.find('='), setting.size());
  std::string_view key = setting.substr(0, equals);
  edit.value = setting.substr(std::min(equals + 1, setting.size()));
  key.remove_prefix(object.size());
  edit.brackets = key.starts_with('[');
  const std::size_t dot = edit.brackets ? key.rfind("].") : key.rfind('.');
  if (equals == setting.size() || dot == std::string_view::npos || dot == 0) {
    throw ShapeError(
        "expected such as links.CLASS.bandwidth=50%, links[NAME].latency=2us or "
        "host[3].speed=0.5x");
  }
  edit.what = key.substr(1, dot - 1);
  edit.attribute = key.substr(dot + (edit.brackets ? 2 : 1));
  return edit;
}

/// The value as a factor of `current`, or as `parse` reads it.
template <typename Parse>
double edited(double current, std::string_view text, Parse parse) {
  const double value = is_factor(text) ? current * parse_factor(text) : parse(text);
  if (std::isfinite(value) && (value > 0.0 || current == 0.0 || !is_factor(text))) return value;
  throw ShapeError(
      fmt::format("{} of {} is beyond the numbers that a double can hold", text, current));
}

/// Links of the class, or else of the name or pattern, with their opposites, without repetition.
std::vector<int> links_of(const Shape& shape, std::string_view what, bool by_name_only) {
  std::set<int> found;
  for (const bool by_class : {true, false}) {
    if ((by_class && by_name_only) || !found.empty()) continue;
    for (std::size_t index = 0; index < shape.links.size(); ++index) {
      const Link& link = shape.links[index];
      if (by_class ? link.link_class != what : !matches_pattern(link.name, what)) continue;
      found.insert(static_cast<int>(index));
      if (!by_class && link.opposite >= 0) found.insert(link.opposite);
    }
  }
  if (!found.empty()) return {found.begin(), found.end()};
  std::vector<std::string_view> names;
  std::set<std::string_view> classes;
  for (const Link& link : shape.links) {
    classes.insert(link.link_class);
    if (names.size() < most_names_compared) names.push_back(link.name);
  }
  constexpr std::size_t most = 6;
  if (by_name_only) {
    throw ShapeError(
        fmt::format("no link is named {}, {}", quote(what), hint_for(what, names, most)));
  }
  const std::string_view nearest = nearest_word(what, names);
  throw ShapeError(
      fmt::format("no class of links is named {}, {}{}", quote(what),
                  hint_for(what, {classes.begin(), classes.end()}, most),
                  nearest.empty() ? "" : fmt::format("; one link is {}", quote(nearest))));
}

void edit_links(Shape& shape, const std::string& setting) {
  const Edit edit = split_edit(setting, "links");
  const bool is_bandwidth = edit.attribute == "bandwidth";
  if (!is_bandwidth && edit.attribute != "latency" && edit.attribute != "overhead") {
    throw ShapeError(fmt::format("unknown attribute {}, {}", quote(edit.attribute),
                                 hint_for(edit.attribute, {"bandwidth", "latency", "overhead"})));
  }
  for (const int index : links_of(shape, edit.what, edit.brackets)) {
    Link& link = shape.links[static_cast<std::size_t>(index)];
    if (is_bandwidth) {
      link.bandwidth_bytes_per_second =
          edited(link.bandwidth_bytes_per_second, edit.value, parse_bandwidth);
    } else {
      double& seconds = edit.attribute == "latency" ? link.latency_seconds : link.overhead_seconds;
      seconds = edited(seconds, edit.value, parse_duration);
    }
  }
}

struct HostRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// "3", "0-3" or "*".
HostRange parse_hosts(const Shape& shape, std::string_view text) {
  const auto last = static_cast<std::int64_t>(shape.hosts.size()) - 1;
  if (text == "*") return {0, static_cast<std::size_t>(last)};
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::int64_t from = parse_whole(text.substr(0, dash), 0, last);
  const std::int64_t to =
      dash == text.size() ? from : parse_whole(text.substr(dash + 1), from, last);
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(to)};
}

double parse_speed(std::string_view text) {
  double speed = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, speed);
  if (status == std::errc{} && rest == end && std::isfinite(speed) && speed > 0.0) return speed;
  throw ShapeError(fmt::format("{} is not a speed, such as 0.5x, 50% or 0.5", quote(text)));
}

void edit_reduction(Host& host, std::string_view value) {
  if (value == "free") {
    host.reduction_bytes_per_second.reset();
  } else if (is_factor(value) && !host.reduction_bytes_per_second) {
    throw ShapeError(fmt::format("the reductions of {} are free, expected a speed such as 10GBps",
                                 quote(host.name)));
  } else {
    host.reduction_bytes_per_second =
        edited(host.reduction_bytes_per_second.value_or(1.0), value, parse_bandwidth);
  }
}

void edit_host(Host& host, const Edit& edit) {
  if (edit.attribute == "speed") {
    host.speed = edited(host.speed, edit.value, parse_speed);
  } else if (edit.attribute == "reduction") {
    edit_reduction(host, edit.value);
  } else if (edit.attribute == "send_overhead") {
    host.send_overhead_seconds = edited(host.send_overhead_seconds, edit.value, parse_duration);
  } else if (edit.attribute == "receive_overhead") {
    host.receive_overhead_seconds =
        edited(host.receive_overhead_seconds, edit.value, parse_duration);
  } else if (edit.attribute == "cores") {
    host.cores = static_cast<int>(parse_whole(edit.value, 1, maximum_hosts));
  } else {
    throw ShapeError(fmt::format("unknown attribute {}, {}", quote(edit.attribute),
                                 hint_for(edit.attribute, {"speed", "reduction", "send_overhead",
                                                           "receive_overhead", "cores"})));
  }
}

void edit_hosts(Shape& shape, const std::string& setting) {
  const Edit edit = split_edit(setting, "host");
  const HostRange range = parse_hosts(shape, edit.what);
  for (std::size_t index = range.first; index <= range.last; ++index) {
    edit_host(shape.hosts[index], edit);
  }
}

}  // namespace

bool is_edit(std::string_view setting) {
  const std::string_view key = setting.substr(0, setting.find('='));
  if (key.starts_with("links[") || key.starts_with("host[")) return true;
  if (!key.starts_with("links.")) return false;
  return !is_key_of_files_only(key.substr(key.rfind('.') + 1));
}

void apply_edit(Shape& shape, const std::string& setting) {
  try {
    if (setting.starts_with("links")) {
      edit_links(shape, setting);
    } else {
      edit_hosts(shape, setting);
    }
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("--set {}: {}", shown(setting), error.what()));
  }
}

}  // namespace tutti
