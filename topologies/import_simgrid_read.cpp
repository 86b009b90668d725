// The elements of a SimGrid platform.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "topologies/import_simgrid.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

/// More links than this on all routes together are refused.
constexpr std::size_t maximum_steps = std::size_t{1} << 20;

/// As many names are compared with one that does not exist.
constexpr std::size_t most_compared = 2000;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_zone(std::string_view name) {
  return name == "zone" || name == "AS";
}

class Reader {
 public:
  Reader(const XmlText& text, ImportNotes& notes) : text_(text), notes_(notes) {}

  SimPlatform read() {
    check_version();
    check_simgrid_attributes(text_, text_.root());
    const pugi::xml_node outermost = find_outermost();
    if (const pugi::xml_node cluster = only_cluster(outermost)) {
      platform_.only_cluster = read_simgrid_cluster(text_, cluster, notes_);
      note_speed(cluster);
      return std::move(platform_);
    }
    read_outermost(outermost);
    if (platform_.hosts.empty()) text_.refuse(text_.root(), "has no host, expected one at least");
    return std::move(platform_);
  }

 private:
  void check_version() {
    const pugi::xml_node root = text_.root();
    platform_.version = text_.optional(root, "version");
    if (is_one_of(platform_.version, {"4", "4.0", "4.1"})) return;
    text_.refuse(root, "version",
                 fmt::format("{}, expected 4.0 or 4.1: bring the file up to date with "
                             "simgrid_update_xml",
                             shown_attribute(root, "version")));
  }

  /// The one zone or cluster of the platform; what else there may be is noted.
  pugi::xml_node find_outermost() {
    pugi::xml_node outermost;
    for (const pugi::xml_node element : text_.root().children()) {
      const std::string_view name = element.name();
      if (name == "config") {
        note_simgrid_config(text_, element, notes_);
      } else if (is_zone(name) || name == "cluster") {
        if (outermost) text_.refuse(element, "is a second outermost zone, expected one");
        outermost = element;
      } else if (!note_useless(element)) {
        refuse_simgrid_element(text_, element);
      }
    }
    if (!outermost) text_.refuse(text_.root(), "has no zone, expected one");
    return outermost;
  }

  /// Whether the element is one that says nothing about the network's shape.
  bool note_useless(pugi::xml_node element) {
    const std::string_view name = element.name();
    if (element.type() != pugi::node_element) {
      text_.refuse(element.parent(), "has text of its own, expected elements");
    }
    if (is_one_of(name, {"trace", "trace_connect"})) {
      notes_.suspicious(text_.line_of(element),
                        fmt::format("<{}>: values that change over time are left out", name));
      return true;
    }
    if (is_one_of(name, {"prop", "random", "storage", "storage_type", "disk", "mount", "actor",
                         "process", "model_prop"})) {
      notes_.ignored(text_.line_of(element), fmt::format("<{}>", name));
      return true;
    }
    return false;
  }

  /// The cluster that is all there is, inside any number of zones.
  pugi::xml_node only_cluster(pugi::xml_node element) const {
    while (is_zone(element.name())) {
      pugi::xml_node inner;
      for (const pugi::xml_node child : element.children()) {
        if (std::string_view(child.name()) == "prop") continue;
        const bool first = !inner;
        inner = child;
        if (!first || !(is_zone(child.name()) || std::string_view(child.name()) == "cluster")) {
          return {};
        }
      }
      element = inner;
    }
    return element;
  }

  void read_outermost(pugi::xml_node element) {
    if (is_zone(element.name())) {
      read_zone(element, -1);
    } else {
      add_cluster(element, -1);
    }
  }

  int add_point(pugi::xml_node element, const std::string& name, SimPoint::Kind kind, int parent) {
    text_.check_name(element, "id", name);
    const int index = static_cast<int>(platform_.points.size());
    if (!platform_.point_names.emplace(name, index).second) {
      text_.refuse(element, "id",
                   fmt::format("the id {} is already that of another host, router or "
                               "zone, expected a new one",
                               quote(name)));
    }
    if (platform_.points.size() == maximum_import_nodes) {
      text_.refuse(element, fmt::format("more than {} hosts and routers", maximum_import_nodes));
    }
    platform_.points.push_back({name, kind, parent, -1});
    if (parent >= 0) zone(parent).is_empty = false;
    return index;
  }

  SimZone& zone(int index) { return platform_.zones[static_cast<std::size_t>(index)]; }

  int add_zone(pugi::xml_node element, const std::string& name, SimZone::Kind kind, int parent) {
    const int point = add_point(element, name, SimPoint::Kind::zone, parent);
    const int index = static_cast<int>(platform_.zones.size());
    platform_.zones.emplace_back();
    platform_.zones.back().point = point;
    platform_.zones.back().kind = kind;
    platform_.points.back().zone = index;
    return index;
  }

  SimZone::Kind routing_of(pugi::xml_node element) {
    const std::string routing = text_.required(element, "routing");
    if (is_one_of(routing, {"Full", "None", "Empty"})) return SimZone::Kind::full;
    if (is_one_of(routing, {"Floyd", "Dijkstra", "DijkstraCache"})) return SimZone::Kind::shortest;
    if (routing == "Cluster") return SimZone::Kind::cluster;
    if (routing == "Vivaldi") {
      notes_.suspicious(text_.line_of(element),
                        "routing=\"Vivaldi\": latencies by coordinates are left out");
      return SimZone::Kind::cluster;
    }
    if (routing == "Wifi") {
      throw UnmodelledError(located_import(
          text_.origin(), text_.place_of(element, "routing"),
          fmt::format("<{}>: 'routing' is 'Wifi': wireless zones cannot be imported, but simulated "
                      "by SimGrid as they are",
                      element.name())));
    }
    text_.refuse(element, "routing",
                 fmt::format("{} cannot be imported, expected Full, Floyd, Dijkstra, "
                             "DijkstraCache, Cluster, Vivaldi or None{}",
                             shown_attribute(element, "routing"),
                             did_you_mean(routing, {"Full", "None", "Floyd", "Dijkstra",
                                                    "DijkstraCache", "Cluster", "Vivaldi"})));
  }

  void read_zone(pugi::xml_node element, int parent) {
    const int index = add_zone(element, text_.required(element, "id"), routing_of(element), parent);
    for (const pugi::xml_node child : element.children()) read_element(child, index);
  }

  void read_element(pugi::xml_node element, int parent) {
    const std::string_view name = element.name();
    if (is_zone(name)) {
      read_zone(element, parent);
    } else if (name == "cluster") {
      add_cluster(element, parent);
    } else if (name == "host") {
      add_host(element, text_.required(element, "id"), parent);
    } else if (name == "router") {
      const int point =
          add_point(element, text_.required(element, "id"), SimPoint::Kind::router, parent);
      if (zone(parent).kind == SimZone::Kind::cluster) zone(parent).router = point;
    } else if (is_one_of(name, {"link", "backbone"})) {
      const int link = read_link(element);
      if (name == "backbone") zone(parent).backbone = link;
    } else if (name == "host_link") {
      read_host_link(element, parent);
    } else if (name == "cabinet") {
      read_cabinet(element, parent);
    } else if (name == "peer") {
      read_peer(element, parent);
    } else if (is_one_of(name, {"route", "zoneRoute", "ASroute", "bypassRoute", "bypassZoneRoute",
                                "bypassASroute"})) {
      read_route(element, parent);
    } else if (!note_useless(element)) {
      refuse_simgrid_element(text_, element);
    }
  }

  void note_speed(pugi::xml_node element) {
    notes_.ignored(text_.line_of(element),
                   "the hosts' speeds in flops: set host.reduction in bytes per second, else "
                   "reductions are free");
  }

  int add_host(pugi::xml_node element, const std::string& name, int parent,
               const HostSpec& spec = {}) {
    const int point = add_point(element, name, SimPoint::Kind::host, parent);
    HostSpec host = spec;
    if (*element.attribute("core").value() != '\0' && spec.cores == 1) {
      host.cores = text_.whole(element, "core", 1, maximum_hosts);
    }
    for (const char* attribute : {"speed_file", "availability_file", "state_file"}) {
      if (*element.attribute(attribute).value() == '\0') continue;
      notes_.suspicious(text_.line_of(element),
                        fmt::format("{}: values that change over time are left out", attribute));
    }
    if (platform_.hosts.empty()) note_speed(element);
    platform_.hosts.push_back(host);
    return point;
  }

  int add_link(pugi::xml_node element, SimLink link) {
    text_.check_name(element, "id", link.name);
    const int index = static_cast<int>(platform_.links.size());
    const auto [earlier, added] = platform_.link_names.emplace(link.name, index);
    if (!added) {
      notes_.suspicious(
          text_.line_of(element),
          fmt::format("the link id {} is given twice, the first is taken", quote(link.name)));
      return earlier->second;
    }
    if (platform_.links.size() == maximum_import_cables) {
      text_.refuse(element, fmt::format("more than {} links", maximum_import_cables));
    }
    platform_.links.push_back(std::move(link));
    return index;
  }

  int read_link(pugi::xml_node element) {
    SimLink link;
    link.name = text_.required(element, "id");
    link.link_class = link.name;
    link.spec.bandwidth_bytes_per_second =
        read_simgrid_bandwidth(text_, element, "bandwidth", notes_);
    if (element.attribute("latency")) {
      link.spec.latency_seconds = read_simgrid_latency(text_, element, "latency", notes_);
    }
    link.sharing = read_simgrid_sharing(text_, element, "sharing_policy", SimSharing::shared);
    for (const char* attribute : {"bandwidth_file", "latency_file", "state_file"}) {
      if (*element.attribute(attribute).value() == '\0') continue;
      notes_.suspicious(text_.line_of(element),
                        fmt::format("{}: values that change over time are left out", attribute));
    }
    return add_link(element, std::move(link));
  }

  std::string similar_link(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const SimLink& link : platform_.links) {
      if (names.size() < most_compared) names.push_back(link.name);
    }
    return did_you_mean(name, names);
  }

  /// The link that an attribute names.
  SimStep step_of(pugi::xml_node element, const char* attribute, std::string_view direction) {
    const std::string name = text_.required(element, attribute);
    auto found = platform_.link_names.find(name);
    SimStep step;
    if (found == platform_.link_names.end() && direction.empty()) {
      const bool up = name.ends_with("_UP");
      const bool down = name.ends_with("_DOWN");
      const std::size_t suffix = up ? 3 : 5;
      if (up || down) {
        found = platform_.link_names.find(name.substr(0, name.size() - suffix));
        direction = up ? "UP" : "DOWN";
      }
    }
    if (found == platform_.link_names.end()) {
      text_.refuse(
          element, attribute,
          fmt::format("there is no link {} before this line{}", quote(name), similar_link(name)));
    }
    step.link = found->second;
    const bool is_split =
        platform_.links[static_cast<std::size_t>(step.link)].sharing == SimSharing::split_duplex;
    if (is_split && direction.empty()) {
      notes_.suspicious(text_.line_of(element),
                        fmt::format("the link {} is SPLITDUPLEX but no direction is given, UP is "
                                    "taken",
                                    quote(name)));
    }
    step.down = is_split && direction == "DOWN";
    return step;
  }

  void read_host_link(pugi::xml_node element, int parent) {
    SimSpoke spoke;
    spoke.point = point_of(element, "id");
    if (platform_.points[static_cast<std::size_t>(spoke.point)].kind != SimPoint::Kind::host) {
      text_.refuse(element, "id",
                   fmt::format("{}, which is no host", shown_attribute(element, "id")));
    }
    spoke.up = step_of(element, "up", "");
    spoke.down = step_of(element, "down", "");
    const auto same = [&](const SimSpoke& other) { return other.point == spoke.point; };
    if (!zone(parent).spokes.empty() && same(zone(parent).spokes.back())) {
      text_.refuse(element, "a second one for the same host");
    }
    zone(parent).spokes.push_back(spoke);
  }

  void read_cabinet(pugi::xml_node element, int parent) {
    const SimCluster cluster = read_simgrid_cluster(text_, element, notes_);
    add_spokes(element, cluster, parent);
  }

  /// Hosts with a split-duplex link each.
  void add_spokes(pugi::xml_node element, const SimCluster& cluster, int parent) {
    for (std::size_t index = 0; index < cluster.size(); ++index) {
      const std::string host = cluster.host_name(index);
      SimLink link = cluster.link;
      link.name = fmt::format("{}_{}", cluster.link.name, cluster.numbers[index]);
      const int point = add_host(element, host, parent, cluster.host);
      const int added = add_link(element, std::move(link));
      zone(parent).spokes.push_back({point, {added, false}, {added, true}});
    }
  }

  void read_peer(pugi::xml_node element, int parent) {
    const std::string name = text_.required(element, "id");
    const int point = add_host(element, name, parent);
    SimLink link;
    link.link_class = "peer";
    if (element.attribute("lat")) {
      link.spec.latency_seconds = read_simgrid_latency(text_, element, "lat", notes_);
    }
    link.name = name + "_peer_up";
    link.spec.bandwidth_bytes_per_second = read_simgrid_bandwidth(text_, element, "bw_out", notes_);
    const int up = add_link(element, link);
    link.name = name + "_peer_down";
    link.spec.bandwidth_bytes_per_second = read_simgrid_bandwidth(text_, element, "bw_in", notes_);
    const int down = add_link(element, link);
    if (zone(parent).kind != SimZone::Kind::cluster) {
      text_.refuse(element, "is only possible in a zone with Vivaldi routing");
    }
    zone(parent).spokes.push_back({point, {up, false}, {down, false}});
  }

  void add_cluster(pugi::xml_node element, int parent) {
    SimCluster cluster = read_simgrid_cluster(text_, element, notes_);
    const int index = add_zone(element, cluster.name, SimZone::Kind::cluster, parent);
    if (cluster.limiter) {
      notes_.suspicious(cluster.line,
                        fmt::format("cluster {}: limiter_link is left out", quote(cluster.name)));
    }
    if (cluster.kind == SimCluster::Kind::flat) {
      add_spokes(element, cluster, index);
      if (cluster.backbone) zone(index).backbone = add_link(element, *cluster.backbone);
    } else {
      for (std::size_t host = 0; host < cluster.size(); ++host) {
        add_host(element, cluster.host_name(host), index, cluster.host);
      }
    }
    if (!platform_.point_names.contains(cluster.router)) {
      zone(index).router = add_point(element, cluster.router, SimPoint::Kind::router, index);
    }
    if (cluster.kind != SimCluster::Kind::flat) zone(index).cluster = std::move(cluster);
  }

  int point_of(pugi::xml_node element, const char* attribute) {
    const std::string name = text_.required(element, attribute);
    const auto found = platform_.point_names.find(name);
    if (found != platform_.point_names.end()) return found->second;
    std::vector<std::string_view> names;
    for (const SimPoint& point : platform_.points) names.push_back(point.name);
    names.resize(std::min(names.size(), most_compared));
    text_.refuse(element, attribute,
                 fmt::format("{}: there is no host, router or zone of this name before this line{}",
                             shown_attribute(element, attribute), did_you_mean(name, names)));
  }

  bool is_zone_point(int point) const {
    return platform_.points[static_cast<std::size_t>(point)].kind == SimPoint::Kind::zone;
  }

  bool is_inside(int point, int zone_point) const {
    const int wanted = platform_.points[static_cast<std::size_t>(zone_point)].zone;
    for (int at = point; at >= 0;) {
      const int parent = platform_.points[static_cast<std::size_t>(at)].parent;
      if (parent == wanted) return true;
      if (parent < 0) return false;
      at = platform_.zones[static_cast<std::size_t>(parent)].point;
    }
    return false;
  }

  int gateway_of(pugi::xml_node element, const char* attribute, int point) {
    if (!is_zone_point(point)) return point;
    const int gateway = point_of(element, attribute);
    if (is_zone_point(gateway)) {
      text_.refuse(element, attribute,
                   fmt::format("{}, which is a zone, expected a host or router",
                               shown_attribute(element, attribute)));
    }
    if (!is_inside(gateway, point)) {
      text_.refuse(
          element, attribute,
          fmt::format("{}, which is not in the zone {}", shown_attribute(element, attribute),
                      quote(platform_.points[static_cast<std::size_t>(point)].name)));
    }
    return gateway;
  }

  bool is_symmetrical(pugi::xml_node element) {
    const std::string value = text_.optional(element, "symmetrical", "YES");
    if (is_one_of(value, {"YES", "yes"})) return true;
    if (is_one_of(value, {"NO", "no"})) return false;
    text_.refuse(element, "symmetrical",
                 fmt::format("{}, expected YES or NO", shown_attribute(element, "symmetrical")));
  }

  void read_route(pugi::xml_node element, int parent) {
    const bool bypass = std::string_view(element.name()).starts_with("bypass");
    SimRoute route;
    route.from = point_of(element, "src");
    route.to = point_of(element, "dst");
    route.gateway_from = gateway_of(element, "gw_src", route.from);
    route.gateway_to = gateway_of(element, "gw_dst", route.to);
    route.symmetrical = !bypass && is_symmetrical(element);
    for (const pugi::xml_node child : element.children()) {
      if (std::string_view(child.name()) != "link_ctn") refuse_simgrid_element(text_, child);
      std::string direction = text_.optional(child, "direction");
      if (direction == "NONE") direction.clear();
      if (!is_one_of(direction, {"", "UP", "DOWN"})) {
        text_.refuse(
            child, "direction",
            fmt::format("{}, expected UP, DOWN or NONE", shown_attribute(child, "direction")));
      }
      route.steps.push_back(step_of(child, "id", direction));
      if (++platform_.steps > maximum_steps) {
        text_.refuse(child, fmt::format("more than {} links on all routes", maximum_steps));
      }
    }
    if (route.gateway_from == route.gateway_to) {
      note_loop(element, route);
      return;
    }
    if (!bypass) note_repeated(element, route, parent);
    zone(parent).routes.push_back(std::move(route));
  }

  void note_repeated(pugi::xml_node element, const SimRoute& route, int parent) {
    const bool is_new = routes_.insert({parent, route.from, route.to}).second;
    const bool is_back_new =
        !route.symmetrical || routes_.insert({parent, route.to, route.from}).second;
    if (is_new && is_back_new) return;
    notes_.suspicious(text_.line_of(element),
                      "a route that there is already, which SimGrid refuses");
  }

  /// From a host to itself, its loopback; of a zone to itself, which SimGrid never asks for.
  void note_loop(pugi::xml_node element, const SimRoute& route) {
    const bool is_host =
        platform_.points[static_cast<std::size_t>(route.from)].kind == SimPoint::Kind::host;
    if (!is_host || route.steps.size() != 1) {
      notes_.suspicious(text_.line_of(element), "a route that ends where it begins is left out");
      return;
    }
    const SimLink& link = platform_.links[static_cast<std::size_t>(route.steps[0].link)];
    platform_.loopbacks.push_back(link.spec);
  }

  const XmlText& text_;
  ImportNotes& notes_;
  SimPlatform platform_;
  std::set<std::array<int, 3>> routes_;  ///< Zones and both ends.
};

}  // namespace

SimPlatform read_simgrid(const XmlText& text, ImportNotes& notes) {
  return Reader(text, notes).read();
}

}  // namespace tutti
