// A SimGrid platform of several zones as a graph.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "topologies/import_simgrid.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

/// Of platforms with more hosts or longer searches the routes are not compared.
constexpr std::size_t most_compared_hosts = 256;
constexpr double most_comparisons = 2e6;

using Nodes = std::vector<int>;

std::uint64_t pair_of(int from, int to) {
  return (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
}

/// A way between two points of a zone, gateways included.
struct Way {
  int from = -1;  ///< Points: where it begins,
  int to = -1;    ///< and ends.
  Nodes nodes;
};

class PlatformGraph {
 public:
  PlatformGraph(const SimPlatform& platform, const std::string& origin, ImportNotes& notes)
      : platform_(platform), origin_(origin), notes_(notes) {}

  GraphSpec build() {
    add_points();
    for (std::size_t zone = 0; zone < platform_.zones.size(); ++zone) add_cluster(zone);
    check_import_size(origin_, graph_);
    add_walks();
    check_import_size(origin_, graph_);
    add_given_routes();
    return std::move(graph_);
  }

 private:
  const SimPoint& point(int index) const {
    return platform_.points[static_cast<std::size_t>(index)];
  }
  const SimZone& zone(int index) const { return platform_.zones[static_cast<std::size_t>(index)]; }
  const SimLink& link(const SimStep& step) const {
    return platform_.links[static_cast<std::size_t>(step.link)];
  }

  int add_node(std::string name, bool is_host) {
    graph_.nodes.push_back({std::move(name), is_host});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  const std::string& name(int node) const {
    return graph_.nodes[static_cast<std::size_t>(node)].name;
  }

  void add_points() {
    nodes_of_points_.assign(platform_.points.size(), -1);
    for (std::size_t index = 0; index < platform_.points.size(); ++index) {
      const SimPoint& added = platform_.points[index];
      if (added.kind == SimPoint::Kind::zone) continue;
      nodes_of_points_[index] = add_node(added.name, added.kind == SimPoint::Kind::host);
      if (added.kind == SimPoint::Kind::host) hosts_.push_back(static_cast<int>(index));
    }
  }

  int node_of(int index) const { return nodes_of_points_[static_cast<std::size_t>(index)]; }

  /// What a cluster's hosts are connected by.
  void add_cluster(std::size_t index) {
    const SimZone& cluster = platform_.zones[index];
    middles_.push_back({-1, -1});
    if (cluster.cluster) add_inner_graph(*cluster.cluster);
    if (cluster.spokes.empty()) return;
    const std::string& zone_name = point(cluster.point).name;
    const int router = cluster.router < 0 ? -1 : node_of(cluster.router);
    Middle& middle = middles_.back();
    if (cluster.backbone < 0) {
      middle.in = router >= 0 ? router : add_node(zone_name + ":switch", false);
      middle.out = middle.in;
    } else {
      middle.in = add_node(zone_name + ":in", false);
      middle.out = add_node(zone_name + ":out", false);
      const SimLink& backbone = platform_.links[static_cast<std::size_t>(cluster.backbone)];
      graph_.cables.push_back(
          {name(middle.in), name(middle.out), backbone.spec, backbone.link_class, true});
      if (router >= 0) graph_.cables.push_back(simgrid_joint(name(middle.out), name(router)));
      if (router >= 0) graph_.cables.push_back(simgrid_joint(name(router), name(middle.in)));
    }
    for (const SimSpoke& spoke : cluster.spokes) add_spoke(spoke, middle);
  }

  struct Middle {
    int in = -1;
    int out = -1;
  };

  void add_spoke(const SimSpoke& spoke, const Middle& middle) {
    const std::string& host = name(node_of(spoke.point));
    const bool is_one = spoke.up.link == spoke.down.link;
    if (link(spoke.up).sharing == SimSharing::fat_pipe) {
      notes_.suspicious(0, "sharing_policy FATPIPE: messages do share the hosts' links here");
    }
    if (is_one && middle.in == middle.out) {
      LinkSpec spec = link(spoke.up).spec;
      spec.shared = link(spoke.up).sharing == SimSharing::shared;
      graph_.cables.push_back({host, name(middle.in), spec, link(spoke.up).link_class});
      return;
    }
    if (is_one && link(spoke.up).sharing == SimSharing::shared) {
      notes_.suspicious(0, "the hosts' links are full duplex here, shared in SimGrid");
    }
    graph_.cables.push_back(
        {host, name(middle.in), link(spoke.up).spec, link(spoke.up).link_class, true});
    graph_.cables.push_back(
        {name(middle.out), host, link(spoke.down).spec, link(spoke.down).link_class, true});
  }

  /// A torus, fat tree or dragonfly among other zones.
  void add_inner_graph(const SimCluster& cluster) {
    GraphSpec inner = simgrid_cluster_graph(cluster, origin_, notes_);
    for (GraphSpec::GraphNode& node : inner.nodes) {
      if (!node.is_host) graph_.nodes.push_back(std::move(node));
    }
    std::move(inner.cables.begin(), inner.cables.end(), std::back_inserter(graph_.cables));
    notes_.assumed(cluster.line, fmt::format("cluster {}: routes inside are shortest ones, not "
                                             "SimGrid's choice among them",
                                             quote(cluster.name)));
    has_inner_graphs_ = true;
  }

  void add_walks() {
    for (const SimZone& each : platform_.zones) {
      for (const SimRoute& route : each.routes) {
        walks_.push_back({node_of(route.gateway_from),
                          node_of(route.gateway_to),
                          route.steps,
                          route.symmetrical,
                          {},
                          {}});
      }
    }
    lay_out_walks(platform_.links, walks_, graph_, notes_);
    std::size_t number = 0;
    for (const SimZone& each : platform_.zones) {
      ways_.emplace_back();
      for (const SimRoute& route : each.routes) {
        SimWalk& walk = walks_[number++];
        const std::uint64_t there = pair_of(route.from, route.to);
        const std::uint64_t back = pair_of(route.to, route.from);
        // A way back is only what the other direction implies: one that is given replaces it.
        ways_.back().insert_or_assign(
            there, Way{route.gateway_from, route.gateway_to, std::move(walk.forwards)});
        if (!walk.symmetrical) continue;
        ways_.back().try_emplace(
            back, Way{route.gateway_to, route.gateway_from, std::move(walk.backwards)});
      }
    }
  }

  /// Of the zones around both points the innermost, and the points directly in it.
  struct Meeting {
    int zone = -1;
    int from = -1;
    int to = -1;
  };

  Nodes zones_around(int index) const {
    Nodes zones;
    for (int at = index; point(at).parent >= 0; at = zone(point(at).parent).point) {
      zones.push_back(point(at).parent);
    }
    return zones;
  }

  Meeting meet(int from, int to) const {
    Nodes around_from = zones_around(from);
    Nodes around_to = zones_around(to);
    Meeting meeting{-1, from, to};
    while (!around_from.empty() && !around_to.empty() && around_from.back() == around_to.back()) {
      meeting.zone = around_from.back();
      around_from.pop_back();
      around_to.pop_back();
    }
    if (!around_from.empty()) meeting.from = zone(around_from.back()).point;
    if (!around_to.empty()) meeting.to = zone(around_to.back()).point;
    return meeting;
  }

  /// SimGrid's route, appended to nodes that end at `from`; false where it has none.
  bool append_route(int from, int to, Nodes& nodes) const {
    if (from == to) return true;
    const Meeting meeting = meet(from, to);
    if (meeting.zone < 0) return false;
    const SimZone& around = zone(meeting.zone);
    if (around.kind == SimZone::Kind::cluster) return append_spokes(meeting, nodes);
    if (around.kind == SimZone::Kind::shortest) return append_shortest(meeting, from, to, nodes);
    const auto& ways = ways_[static_cast<std::size_t>(meeting.zone)];
    const auto found = ways.find(pair_of(meeting.from, meeting.to));
    return found != ways.end() && append_ways({&found->second}, from, to, nodes);
  }

  bool append_ways(const std::vector<const Way*>& ways, int from, int to, Nodes& nodes) const {
    int at = from;
    for (const Way* way : ways) {
      if (!append_route(at, way->from, nodes)) return false;
      nodes.insert(nodes.end(), way->nodes.begin() + 1, way->nodes.end());
      at = way->to;
    }
    return append_route(at, to, nodes);
  }

  bool append_spokes(const Meeting& meeting, Nodes& nodes) const {
    const Middle& middle = middles_[static_cast<std::size_t>(meeting.zone)];
    if (middle.in < 0) return false;
    const int target = node_of(meeting.to);
    if (target < 0) return false;
    for (const int node : {middle.in, middle.out, target}) {
      if (nodes.back() != node) nodes.push_back(node);
    }
    return true;
  }

  /// By number of links over the zone's routes, as SimGrid's Floyd and Dijkstra do.
  bool append_shortest(const Meeting& meeting, int from, int to, Nodes& nodes) const {
    struct Reached {
      std::size_t links = std::numeric_limits<std::size_t>::max();
      int before = -1;
      const Way* way = nullptr;
    };
    const auto& edges = edges_of(meeting.zone);
    std::unordered_map<int, Reached> reached;
    using Candidate = std::pair<std::size_t, int>;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> open;
    reached[meeting.from] = {0, -1, nullptr};
    open.push({0, meeting.from});
    while (!open.empty()) {
      const auto [links, at] = open.top();
      open.pop();
      const auto found = edges.find(at);
      if (links > reached[at].links || found == edges.end()) continue;
      for (const Edge& edge : found->second) {
        Reached& next = reached[edge.to];
        const std::size_t sum = links + edge.way->nodes.size();
        if (sum >= next.links) continue;
        next = {sum, at, edge.way};
        open.push({sum, edge.to});
      }
    }
    std::vector<const Way*> ways;
    for (int at = meeting.to; at != meeting.from; at = reached[at].before) {
      if (reached[at].way == nullptr) return false;
      ways.push_back(reached[at].way);
    }
    std::reverse(ways.begin(), ways.end());
    return append_ways(ways, from, to, nodes);
  }

  struct Edge {
    int to = -1;
    const Way* way = nullptr;
  };
  using Edges = std::unordered_map<int, std::vector<Edge>>;

  const Edges& edges_of(int index) const {
    const auto [found, added] = edges_.try_emplace(index);
    if (!added) return found->second;
    for (const auto& [key, way] : ways_[static_cast<std::size_t>(index)]) {
      found->second[static_cast<int>(key >> 32)].push_back(
          {static_cast<int>(key & 0xffffffffU), &way});
    }
    return found->second;
  }

  bool can_compare() const {
    const auto hosts = static_cast<double>(hosts_.size());
    double largest_zone = 1.0;
    for (const SimZone& each : platform_.zones) {
      if (each.kind != SimZone::Kind::shortest) continue;
      largest_zone = std::max(largest_zone, static_cast<double>(each.routes.size()));
    }
    const double searches = hosts * static_cast<double>(graph_.nodes.size() + graph_.cables.size());
    return hosts_.size() <= most_compared_hosts && searches <= most_comparisons &&
           hosts * hosts * largest_zone <= most_comparisons;
  }

  void add_given_routes() {
    if (hosts_.size() < 2 || has_inner_graphs_) return;
    if (!can_compare()) {
      notes_.assumed(0,
                     "routes are the shortest ones; with so many hosts they were not compared "
                     "with SimGrid's");
      return;
    }
    const Fabric fabric = graph(graph_);
    std::size_t differ = 0;
    for (std::size_t from = 0; from < hosts_.size(); ++from) {
      for (std::size_t to = 0; to < hosts_.size(); ++to) {
        if (from != to && add_given_route(fabric, static_cast<int>(from), static_cast<int>(to))) {
          ++differ;
        }
      }
    }
    if (differ == 0) return;
    notes_.assumed(0, fmt::format("{} of {} routes are given: SimGrid's are not the shortest ones",
                                  differ, hosts_.size() * (hosts_.size() - 1)));
  }

  /// Whether the route had to be given.
  bool add_given_route(const Fabric& fabric, int from, int to) {
    const int from_point = hosts_[static_cast<std::size_t>(from)];
    const int to_point = hosts_[static_cast<std::size_t>(to)];
    Nodes nodes = {node_of(from_point)};
    if (!append_route(from_point, to_point, nodes)) {
      notes_.suspicious(0, "some hosts have no route to others, in SimGrid");
      return false;
    }
    std::vector<std::string> names;
    for (const int node : nodes) names.push_back(name(node));
    if (names == shortest(fabric, from, to)) return false;
    graph_.routes.push_back({std::move(names), false});
    return true;
  }

  static std::vector<std::string> shortest(const Fabric& fabric, int from, int to) {
    std::vector<std::string> names = {fabric.nodes[static_cast<std::size_t>(from)].name};
    int at = from;
    for (const int index : fabric.route(from, to)) {
      const Link& crossed = fabric.links[static_cast<std::size_t>(index)];
      at = crossed.from == at ? crossed.to : crossed.from;
      names.push_back(fabric.nodes[static_cast<std::size_t>(at)].name);
    }
    return names;
  }

  const SimPlatform& platform_;
  const std::string& origin_;
  ImportNotes& notes_;
  GraphSpec graph_;
  std::vector<int> nodes_of_points_;
  std::vector<int> hosts_;  ///< Points.
  std::vector<Middle> middles_;
  std::vector<SimWalk> walks_;
  std::vector<std::unordered_map<std::uint64_t, Way>> ways_;  ///< By zone.
  mutable std::unordered_map<int, Edges> edges_;
  bool has_inner_graphs_ = false;
};

}  // namespace

GraphSpec simgrid_graph(const SimPlatform& platform, const std::string& origin,
                        ImportNotes& notes) {
  return PlatformGraph(platform, origin, notes).build();
}

}  // namespace tutti
