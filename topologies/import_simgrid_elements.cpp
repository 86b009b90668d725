// Which elements and attributes a SimGrid platform may have.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "topologies/import_simgrid.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

struct Element {
  std::string_view name;
  std::vector<std::string_view> attributes;
};

/// Those that shape the network, with the attributes of the DTD of SimGrid 3.32.
const std::vector<Element>& elements() {
  static const std::vector<std::string_view> zone_route = {"src", "dst", "gw_src", "gw_dst",
                                                           "symmetrical"};
  static const std::vector<Element> all = {
      {"zone", {"id", "routing"}},
      {"AS", {"id", "routing"}},
      {"host",
       {"id", "speed", "core", "pstate", "coordinates", "availability_file", "speed_file",
        "state_file"}},
      {"router", {"id", "coordinates"}},
      {"link",
       {"id", "bandwidth", "latency", "sharing_policy", "bandwidth_file", "latency_file",
        "state_file"}},
      {"backbone", {"id", "bandwidth", "latency"}},
      {"host_link", {"id", "up", "down"}},
      {"link_ctn", {"id", "direction"}},
      {"route", {"src", "dst", "symmetrical"}},
      {"zoneRoute", zone_route},
      {"ASroute", zone_route},
      {"bypassRoute", {"src", "dst"}},
      {"bypassZoneRoute", {"src", "dst", "gw_src", "gw_dst"}},
      {"bypassASroute", {"src", "dst", "gw_src", "gw_dst"}},
      {"cabinet", {"id", "prefix", "suffix", "radical", "speed", "bw", "lat"}},
      {"peer",
       {"id", "speed", "bw_in", "bw_out", "lat", "coordinates", "availability_file", "speed_file",
        "state_file"}},
      {"cluster",
       {"id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat", "sharing_policy",
        "bb_bw", "bb_lat", "bb_sharing_policy", "loopback_bw", "loopback_lat", "limiter_link",
        "router_id", "topology", "topo_parameters"}}};
  return all;
}

}  // namespace

void check_simgrid_attributes(const XmlText& text, pugi::xml_node element) {
  const std::string_view name = element.name();
  const auto known = std::find_if(elements().begin(), elements().end(),
                                  [name](const Element& each) { return each.name == name; });
  if (known != elements().end()) {
    const std::vector<std::string_view>& valid = known->attributes;
    for (const pugi::xml_attribute given : element.attributes()) {
      if (std::find(valid.begin(), valid.end(), given.name()) != valid.end()) continue;
      text.refuse(element, given.name(),
                  fmt::format("unknown attribute {}, {}", quote(given.name()),
                              hint_for(given.name(), valid)));
    }
  }
  // No deeper than maximum_xml_depth.
  for (const pugi::xml_node child : element.children()) check_simgrid_attributes(text, child);
}

void refuse_simgrid_element(const XmlText& text, pugi::xml_node element) {
  const std::string_view name = element.name();
  if (name == "include") {
    text.refuse(element,
                "other files are not read, by SimGrid since 3.18 neither; expected their content "
                "in its place");
  }
  std::vector<std::string_view> known = {"config", "prop", "trace", "trace_connect", "actor"};
  for (const Element& each : elements()) known.push_back(each.name);
  text.refuse(element, fmt::format("is not known here, {}", hint_for(name, known)));
}

void note_simgrid_config(const XmlText& text, pugi::xml_node config, ImportNotes& notes) {
  for (const pugi::xml_node property : config.children("prop")) {
    const std::string key = text.optional(property, "id");
    const std::string what = fmt::format("<config> sets {} to {}, which is not taken over",
                                         quote(key), quote(text.optional(property, "value")));
    const bool changes_times = key.starts_with("network/") || key.starts_with("smpi/") ||
                               key.starts_with("host/model") || key.starts_with("cpu/");
    if (changes_times) {
      notes.suspicious(text.line_of(property),
                       what + ": it changes the model, so SimGrid's times will differ");
    } else {
      notes.ignored(text.line_of(property), what);
    }
  }
}

}  // namespace tutti
