// SimGrid's units, and the attributes of its clusters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "topologies/fields.hpp"
#include "topologies/import_simgrid.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr double most_plausible_bandwidth = 10e12;
constexpr double most_plausible_latency = 10.0;

struct Unit {
  std::string_view name;
  double factor;
};

/// Those that our own format lacks.
constexpr std::array<Unit, 5> other_durations = {
    {{"ps", 1e-12}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}, {"w", 604800.0}}};
constexpr std::array<Unit, 4> other_prefixes = {
    {{"P", 1e15}, {"E", 1e18}, {"Pi", 0x1p50}, {"Ei", 0x1p60}}};

struct Quantity {
  double number = 0.0;
  std::string_view unit;
  bool is_number = false;
};

Quantity split(std::string_view text) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, quantity.number);
  quantity.is_number = status == std::errc{} && std::isfinite(quantity.number);
  quantity.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  quantity.unit.remove_prefix(std::min(quantity.unit.find_first_not_of(' '), quantity.unit.size()));
  return quantity;
}

double bandwidth_of(const std::string& text) {
  const Quantity quantity = split(text);
  for (const Unit& prefix : other_prefixes) {
    if (!quantity.is_number || quantity.number <= 0.0) break;
    if (quantity.unit == fmt::format("{}Bps", prefix.name)) return quantity.number * prefix.factor;
    if (quantity.unit == fmt::format("{}bps", prefix.name)) {
      return quantity.number * prefix.factor / 8;
    }
  }
  return parse_bandwidth(text);
}

double latency_of(const std::string& text) {
  const Quantity quantity = split(text);
  for (const Unit& unit : other_durations) {
    if (!quantity.is_number || quantity.number < 0.0) break;
    if (quantity.unit == unit.name) return quantity.number * unit.factor;
  }
  return parse_duration(text);
}

[[noreturn]] void refuse_attribute(const XmlText& text, pugi::xml_node element,
                                   const char* attribute, std::string_view what) {
  text.refuse(element, attribute, fmt::format("{}: {}", attribute, what));
}

/// A number alone, where that is what the attribute holds.
bool has_no_unit(const std::string& value) {
  const Quantity quantity = split(value);
  return quantity.is_number && quantity.unit.empty();
}

/// What SimGrid's lists of numbers hold when they were copied from a text.
void check_ascii(const XmlText& text, pugi::xml_node element, const char* attribute,
                 const std::string& value) {
  const auto odd = std::find_if(value.begin(), value.end(), [](char c) { return c < 0; });
  if (odd == value.end()) return;
  const std::string_view rest(&*odd, static_cast<std::size_t>(value.end() - odd));
  constexpr std::array<std::string_view, 4> dashes = {"\u2212", "\u2013", "\u2014", "\u2010"};
  const bool is_dash = std::any_of(dashes.begin(), dashes.end(), [rest](std::string_view dash) {
    return rest.starts_with(dash);
  });
  refuse_attribute(text, element, attribute,
                   fmt::format("{} has {}, expected {}", quote(value),
                               is_dash ? "a typographic minus or dash" : "a character beyond ASCII",
                               is_dash ? "the ASCII '-'" : "numbers, ',' and '-'"));
}

void add_range(const XmlText& text, pugi::xml_node element, std::string_view range,
               std::vector<int>& numbers) {
  constexpr int largest = 1'000'000'000;
  const std::size_t dash = range.find('-');
  try {
    const auto first = parse_whole(range.substr(0, dash), 0, largest);
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_whole(range.substr(dash + 1), first, largest);
    const auto count = static_cast<std::size_t>(last - first) + 1;
    if (numbers.size() + count > static_cast<std::size_t>(maximum_hosts)) {
      refuse_attribute(text, element, "radical", fmt::format("more than {} hosts", maximum_hosts));
    }
    for (auto number = first; number <= last; ++number) numbers.push_back(static_cast<int>(number));
  } catch (const ShapeError& error) {
    const std::string what = error.what();
    if (!what.starts_with("'")) throw;
    refuse_attribute(text, element, "radical",
                     fmt::format("{}, expected ranges such as 0-15,20", what));
  }
}

template <typename Visit>
void for_each_part(std::string_view list, char separator, const Visit& visit) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(separator, begin), list.size());
    visit(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<std::vector<int>> parameters_of(const XmlText& text, pugi::xml_node element) {
  const std::string value = text.required(element, "topo_parameters");
  check_ascii(text, element, "topo_parameters", value);
  std::vector<std::vector<int>> parameters;
  for_each_part(value, ';', [&](std::string_view group) {
    parameters.emplace_back();
    for_each_part(group, ',', [&](std::string_view number) {
      try {
        parameters.back().push_back(static_cast<int>(parse_whole(number, 1, maximum_hosts)));
      } catch (const ShapeError& error) {
        refuse_attribute(text, element, "topo_parameters", error.what());
      }
    });
  });
  return parameters;
}

SimCluster::Kind kind_of(const XmlText& text, pugi::xml_node element) {
  const std::string kind = text.optional(element, "topology", "FLAT");
  if (kind == "FLAT") return SimCluster::Kind::flat;
  if (kind == "TORUS") return SimCluster::Kind::torus;
  if (kind == "FAT_TREE") return SimCluster::Kind::fat_tree;
  if (kind == "DRAGONFLY") return SimCluster::Kind::dragonfly;
  text.refuse(element, "topology",
              fmt::format("{}, {}", shown_attribute(element, "topology"),
                          hint_for(text.optional(element, "topology"),
                                   {"FLAT", "TORUS", "FAT_TREE", "DRAGONFLY"})));
}

bool is_given(pugi::xml_node element, const char* attribute) {
  return *element.attribute(attribute).value() != '\0';
}

/// The backbone, limiter and loopback.
void read_extras(const XmlText& text, pugi::xml_node element, ImportNotes& notes,
                 SimCluster& cluster) {
  if (is_given(element, "bb_bw")) {
    SimLink link{cluster.name + "_backbone", {}, SimSharing::shared, cluster.name + "_backbone"};
    link.spec.bandwidth_bytes_per_second = read_simgrid_bandwidth(text, element, "bb_bw", notes);
    if (is_given(element, "bb_lat")) {
      link.spec.latency_seconds = read_simgrid_latency(text, element, "bb_lat", notes);
    }
    link.sharing = read_simgrid_sharing(text, element, "bb_sharing_policy", SimSharing::shared);
    cluster.backbone = link;
  } else if (is_given(element, "bb_lat")) {
    notes.suspicious(cluster.line,
                     fmt::format("cluster {}: bb_lat without bb_bw has no effect, as in SimGrid",
                                 quote(cluster.name)));
  }
  if (is_given(element, "limiter_link")) {
    cluster.limiter.emplace();
    cluster.limiter->bandwidth_bytes_per_second =
        read_simgrid_bandwidth(text, element, "limiter_link", notes);
  }
  if (is_given(element, "loopback_bw")) {
    cluster.host.loopback.emplace();
    cluster.host.loopback->bandwidth_bytes_per_second =
        read_simgrid_bandwidth(text, element, "loopback_bw", notes);
    if (is_given(element, "loopback_lat")) {
      cluster.host.loopback->latency_seconds =
          read_simgrid_latency(text, element, "loopback_lat", notes);
    }
  }
}

}  // namespace

double read_simgrid_bandwidth(const XmlText& text, pugi::xml_node element, const char* attribute,
                              ImportNotes& notes) {
  const std::string value = text.required(element, attribute);
  const int line = text.line_of(element);
  double bandwidth = 0.0;
  try {
    const bool bare = has_no_unit(value);
    bandwidth = bandwidth_of(bare ? value + "Bps" : value);
    if (bare) {
      notes.suspicious(line,
                       fmt::format("{} without unit, taken as bytes per second, as in SimGrid",
                                   shown_attribute(element, attribute)));
    }
  } catch (const ShapeError& error) {
    refuse_attribute(text, element, attribute, error.what());
  }
  if (bandwidth > most_plausible_bandwidth) {
    notes.suspicious(line, fmt::format("{}, more than any link has: bits for bytes, or a prefix?",
                                       shown_attribute(element, attribute)));
  }
  return bandwidth;
}

double read_simgrid_latency(const XmlText& text, pugi::xml_node element, const char* attribute,
                            ImportNotes& notes) {
  const std::string value = text.required(element, attribute);
  const int line = text.line_of(element);
  double latency = 0.0;
  try {
    const bool bare = has_no_unit(value);
    latency = latency_of(bare ? value + "s" : value);
    if (bare && latency > 0.0) {
      notes.suspicious(line, fmt::format("{} without unit, taken as seconds, as in SimGrid",
                                         shown_attribute(element, attribute)));
    }
  } catch (const ShapeError& error) {
    refuse_attribute(text, element, attribute, error.what());
  }
  if (latency > most_plausible_latency) {
    notes.suspicious(
        line, fmt::format("{}, more than any link has", shown_attribute(element, attribute)));
  }
  return latency;
}

SimSharing read_simgrid_sharing(const XmlText& text, pugi::xml_node element, const char* attribute,
                                SimSharing otherwise) {
  const std::string value = text.optional(element, attribute);
  if (value.empty()) return otherwise;
  if (value == "SHARED") return SimSharing::shared;
  if (value == "SPLITDUPLEX" || value == "FULLDUPLEX") return SimSharing::split_duplex;
  if (value == "FATPIPE") return SimSharing::fat_pipe;
  text.refuse(element, attribute,
              fmt::format("{}, {}", shown_attribute(element, attribute),
                          hint_for(text.optional(element, attribute),
                                   {"SHARED", "SPLITDUPLEX", "FATPIPE"})));
}

std::vector<int> read_simgrid_radical(const XmlText& text, pugi::xml_node element) {
  const std::string value = text.required(element, "radical");
  check_ascii(text, element, "radical", value);
  std::vector<int> numbers;
  for_each_part(value, ',',
                [&](std::string_view range) { add_range(text, element, range, numbers); });
  return numbers;
}

SimCluster read_simgrid_cluster(const XmlText& text, pugi::xml_node element, ImportNotes& notes) {
  SimCluster cluster;
  cluster.line = text.line_of(element);
  cluster.parameters_place = text.place_of(element, "topo_parameters");
  cluster.name = text.required(element, "id");
  text.check_name(element, "id", cluster.name);
  cluster.kind = kind_of(text, element);
  cluster.prefix = text.optional(element, "prefix");
  cluster.suffix = text.optional(element, "suffix");
  text.check_name(element, "prefix", cluster.prefix + "0" + cluster.suffix);
  for (const char* attribute : {"prefix", "suffix"}) {
    const std::string_view value = element.attribute(attribute).value();
    if (std::none_of(value.begin(), value.end(), [](char c) { return c < 0; })) continue;
    notes.suspicious(cluster.line,
                     fmt::format("{} has characters beyond ASCII: a typographic dash?",
                                 shown_attribute(element, attribute)));
  }
  cluster.numbers = read_simgrid_radical(text, element);
  cluster.router = text.optional(element, "router_id");
  if (cluster.router.empty()) {
    cluster.router = fmt::format("{}{}_router{}", cluster.prefix, cluster.name, cluster.suffix);
  }
  const std::string link = cluster.name + "_link";
  cluster.link = {link, {}, SimSharing::split_duplex, link};
  cluster.link.spec.bandwidth_bytes_per_second = read_simgrid_bandwidth(text, element, "bw", notes);
  cluster.link.spec.latency_seconds = read_simgrid_latency(text, element, "lat", notes);
  cluster.link.sharing =
      read_simgrid_sharing(text, element, "sharing_policy", SimSharing::split_duplex);
  if (is_given(element, "core")) {
    cluster.host.cores = text.whole(element, "core", 1, maximum_hosts);
  }
  if (cluster.kind != SimCluster::Kind::flat) cluster.parameters = parameters_of(text, element);
  read_extras(text, element, notes, cluster);
  return cluster;
}

}  // namespace tutti
