// SimGrid's clusters as shapes of ours.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "topologies/import_simgrid.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

[[noreturn]] void refuse_parameters(const SimCluster& cluster, const std::string& origin,
                                    std::string_view expected) {
  refuse_import(origin, cluster.parameters_place,
                fmt::format("<cluster>: topo_parameters of {} do not fit, expected {}",
                            quote(cluster.name), expected));
}

/// Throws unless the product is the number of hosts.
void check_hosts(const SimCluster& cluster, const std::string& origin,
                 const std::vector<int>& factors) {
  double product = 1.0;
  for (const int factor : factors) product *= factor;
  if (product == static_cast<double>(cluster.size())) return;
  refuse_import(origin, cluster.parameters_place,
                fmt::format("<cluster>: the radical of {} has {} hosts but its topo_parameters "
                            "have {}",
                            quote(cluster.name), cluster.size(), product));
}

const std::vector<int>& torus_dimensions(const SimCluster& cluster, const std::string& origin) {
  if (cluster.parameters.size() != 1) {
    refuse_parameters(cluster, origin, "the sizes of its dimensions, such as 3,2,2");
  }
  check_hosts(cluster, origin, cluster.parameters[0]);
  return cluster.parameters[0];
}

FatTreeSpec fat_tree_spec(const SimCluster& cluster, const std::string& origin) {
  const std::vector<std::vector<int>>& given = cluster.parameters;
  const bool fits = given.size() == 4 && given[0].size() == 1 &&
                    std::all_of(given.begin() + 1, given.end(), [&](const std::vector<int>& group) {
                      return group.size() == static_cast<std::size_t>(given[0][0]);
                    });
  if (!fits) {
    refuse_parameters(
        cluster, origin,
        "levels;down;up;cables with as many numbers as levels, such as 2;4,4;1,2;1,2");
  }
  check_hosts(cluster, origin, given[1]);
  double below = static_cast<double>(cluster.size());
  for (std::size_t level = 0; level < given[1].size(); ++level) {
    const double cables = below * given[2][level] * given[3][level];
    below = below * given[2][level] / given[1][level];
    if (std::max(cables, below) <= maximum_hosts) continue;
    refuse_import(origin, cluster.parameters_place,
                  fmt::format("<cluster>: topo_parameters of {} give more than {} links",
                              quote(cluster.name), maximum_hosts));
  }
  return {given[1], given[2], given[3], {cluster.link.spec}};
}

LinkSpec times(LinkSpec spec, int cables) {
  spec.bandwidth_bytes_per_second *= cables;
  return spec;
}

/// A SimGrid dragonfly: groups of chassis of routers with hosts each.
class Dragonfly {
 public:
  Dragonfly(const SimCluster& cluster, const std::string& origin) : cluster_(cluster) {
    const std::vector<std::vector<int>>& given = cluster.parameters;
    const bool fits = given.size() == 4 && given[3].size() == 1 &&
                      std::all_of(given.begin(), given.begin() + 3,
                                  [](const std::vector<int>& pair) { return pair.size() == 2; });
    if (!fits) {
      refuse_parameters(cluster, origin,
                        "groups,links;chassis,links;routers,links;hosts, such as 3,4;4,3;5,1;2");
    }
    groups_ = given[0][0];
    chassis_ = given[1][0];
    routers_ = given[2][0];
    hosts_ = given[3][0];
    check_hosts(cluster, origin, {groups_, chassis_, routers_, hosts_});
    if (groups_ > 1 && routers_ < groups_) {
      refuse_parameters(cluster, origin, "at least as many routers in a chassis as groups");
    }
  }

  /// Links in the order in which SimGrid's routes prefer them.
  GraphSpec build(const std::string& origin) {
    for (std::size_t host = 0; host < cluster_.size(); ++host) {
      graph_.nodes.push_back({cluster_.host_name(host), true});
    }
    for (int router = 0; router < groups_ * chassis_ * routers_; ++router) {
      graph_.nodes.push_back({name_of(router), false});
      for (int host = router * hosts_; host < (router + 1) * hosts_; ++host) {
        add(graph_.nodes[static_cast<std::size_t>(host)].name, name_of(router), 1, "host");
      }
    }
    check_import_size(origin, graph_);
    // Limits the cables of all-to-all connections before they are made.
    const double pairs = 0.5 * groups_ * chassis_ * routers_ * (routers_ + chassis_);
    if (pairs > static_cast<double>(maximum_import_cables)) {
      refuse_import(origin, cluster_.parameters_place,
                    fmt::format("more than {} links", maximum_import_cables));
    }
    connect_chassis();
    connect_groups();
    return std::move(graph_);
  }

 private:
  int router_at(int group, int chassis, int router) const {
    return (group * chassis_ + chassis) * routers_ + router;
  }

  std::string name_of(int router) const {
    return fmt::format("{}:router-{}", cluster_.name, router);
  }

  void add(const std::string& from, const std::string& to, int cables,
           const std::string& link_class) {
    graph_.cables.push_back({from, to, times(cluster_.link.spec, cables), link_class});
  }

  void connect_chassis() {
    const int green = cluster_.parameters[2][1];
    for (int chassis = 0; chassis < groups_ * chassis_; ++chassis) {
      for (int first = 0; first < routers_; ++first) {
        for (int second = first + 1; second < routers_; ++second) {
          add(name_of(chassis * routers_ + first), name_of(chassis * routers_ + second), green,
              "chassis");
        }
      }
    }
  }

  void connect_groups() {
    for (int group = 0; group < groups_; ++group) {
      for (int first = 0; first < chassis_; ++first) {
        for (int second = first + 1; second < chassis_; ++second) connect(group, first, second);
      }
    }
    for (int first = 0; first < groups_; ++first) {
      for (int second = first + 1; second < groups_; ++second) {
        add(name_of(router_at(first, 0, second)), name_of(router_at(second, 0, first)),
            cluster_.parameters[0][1], "global");
      }
    }
  }

  void connect(int group, int first, int second) {
    for (int router = 0; router < routers_; ++router) {
      add(name_of(router_at(group, first, router)), name_of(router_at(group, second, router)),
          cluster_.parameters[1][1], "group");
    }
  }

  const SimCluster& cluster_;
  int groups_ = 0;
  int chassis_ = 0;
  int routers_ = 0;
  int hosts_ = 0;
  GraphSpec graph_;
};

/// Names hosts as the cluster does.
GraphSpec graph_of(const Fabric& fabric, const SimCluster& cluster) {
  GraphSpec graph;
  for (std::size_t node = 0; node < fabric.nodes.size(); ++node) {
    const bool is_host = node < cluster.size();
    graph.nodes.push_back({is_host ? cluster.host_name(node)
                                   : fmt::format("{}:{}", cluster.name, fabric.nodes[node].name),
                           is_host});
  }
  for (std::size_t index = 0; index < fabric.links.size(); ++index) {
    const Link& link = fabric.links[index];
    const int number = static_cast<int>(index);
    if (link.opposite >= 0 && link.opposite < number) continue;
    LinkSpec spec{link.bandwidth_bytes_per_second, link.latency_seconds};
    spec.shared = link.is_shared(number);
    graph.cables.push_back({graph.nodes[static_cast<std::size_t>(link.from)].name,
                            graph.nodes[static_cast<std::size_t>(link.to)].name, spec,
                            link.link_class, link.opposite < 0});
  }
  return graph;
}

/// Hosts that send into a backbone and receive from it.
GraphSpec backbone_graph(const SimCluster& cluster) {
  GraphSpec graph;
  const std::string in = cluster.name + ":in";
  const std::string out = cluster.name + ":out";
  graph.nodes = {{in, false}, {out, false}};
  for (std::size_t index = 0; index < cluster.size(); ++index) {
    const std::string host = cluster.host_name(index);
    graph.nodes.push_back({host, true});
    graph.cables.push_back({host, in, cluster.link.spec, cluster.link.link_class, true});
    graph.cables.push_back({out, host, cluster.link.spec, cluster.link.link_class, true});
  }
  graph.cables.push_back({in, out, cluster.backbone->spec, cluster.backbone->link_class, true});
  return graph;
}

/// The link that hosts have, as far as one can tell it without the whole cluster.
LinkSpec host_link(const SimCluster& cluster, ImportNotes& notes) {
  LinkSpec spec = cluster.link.spec;
  spec.shared = cluster.link.sharing == SimSharing::shared;
  if (cluster.link.sharing == SimSharing::fat_pipe) {
    notes.suspicious(cluster.line,
                     "sharing_policy FATPIPE: messages do share the hosts' links here");
  }
  if (!cluster.limiter) return spec;
  const double limit = cluster.limiter->bandwidth_bytes_per_second;
  const double both_ways = (spec.shared ? 1.0 : 2.0) * spec.bandwidth_bytes_per_second;
  if (limit >= both_ways) {
    notes.ignored(cluster.line, "limiter_link: the hosts' links never reach it");
  } else if (cluster.kind == SimCluster::Kind::flat && limit <= spec.bandwidth_bytes_per_second) {
    notes.assumed(cluster.line, "limiter_link: the hosts' links, shared by both directions");
    spec.bandwidth_bytes_per_second = limit;
    spec.shared = true;
  } else {
    notes.suspicious(cluster.line,
                     "limiter_link is left out: hosts that send and receive at once "
                     "are faster than in SimGrid");
  }
  return spec;
}

/// Whether hosts can send more at once than the backbone carries.
bool backbone_limits(const SimCluster& cluster) {
  if (!cluster.backbone || cluster.backbone->sharing == SimSharing::fat_pipe) return false;
  const double most =
      cluster.link.spec.bandwidth_bytes_per_second * static_cast<double>(cluster.size());
  return cluster.backbone->spec.bandwidth_bytes_per_second < most;
}

std::optional<std::string> star_yaml(const SimCluster& cluster, ImportNotes& notes) {
  if (backbone_limits(cluster)) return std::nullopt;
  LinkSpec link = host_link(cluster, notes);
  link.latency_seconds *= 2.0;
  if (cluster.backbone) {
    const LinkSpec& backbone = cluster.backbone->spec;
    link.latency_seconds += backbone.latency_seconds;
    link.bandwidth_bytes_per_second =
        std::min(link.bandwidth_bytes_per_second, backbone.bandwidth_bytes_per_second);
    notes.assumed(cluster.line, "the backbone limits nothing: only its latency is kept");
  }
  return fmt::format("shape: star\nhosts: {}\nlink: {}\n", cluster.size(), yaml_link(link));
}

}  // namespace

std::optional<std::string> simgrid_cluster_yaml(const SimCluster& cluster,
                                                const std::string& origin, ImportNotes& notes) {
  std::optional<std::string> yaml;
  if (cluster.kind == SimCluster::Kind::flat) {
    yaml = star_yaml(cluster, notes);
  } else if (cluster.kind == SimCluster::Kind::torus) {
    yaml = fmt::format("shape: torus\ndimensions: {}\nlink: {}\n",
                       yaml_list(torus_dimensions(cluster, origin)),
                       yaml_link(host_link(cluster, notes)));
  } else if (cluster.kind == SimCluster::Kind::fat_tree) {
    const FatTreeSpec tree = fat_tree_spec(cluster, origin);
    yaml = fmt::format("shape: fat_tree\ndown: {}\nup: {}\ncables: {}\nlink: {}\n",
                       yaml_list(tree.down), yaml_list(tree.up), yaml_list(tree.cables),
                       yaml_link(host_link(cluster, notes)));
  }
  if (yaml) {
    notes.ignored(cluster.line,
                  fmt::format("the hosts' names, {} and others", quote(cluster.host_name(0))));
  }
  return yaml;
}

GraphSpec simgrid_cluster_graph(const SimCluster& cluster, const std::string& origin,
                                ImportNotes& notes) {
  if (cluster.size() > maximum_import_nodes) {
    refuse_import(origin, {cluster.line}, fmt::format("more than {} hosts", maximum_import_nodes));
  }
  SimCluster fitting = cluster;
  fitting.link.spec = host_link(cluster, notes);
  if (cluster.kind == SimCluster::Kind::flat && fitting.link.spec.shared) {
    notes.suspicious(cluster.line, "the hosts' links are full duplex here, shared in SimGrid");
    fitting.link.spec.shared = false;
  }
  GraphSpec graph;
  switch (cluster.kind) {
    case SimCluster::Kind::flat:
      graph = backbone_graph(fitting);
      break;
    case SimCluster::Kind::torus:
      graph = graph_of(
          grid({torus_dimensions(cluster, origin), true, {fitting.link.spec}, "torus"}), cluster);
      break;
    case SimCluster::Kind::fat_tree:
      graph = graph_of(fat_tree(fat_tree_spec(fitting, origin)), cluster);
      break;
    case SimCluster::Kind::dragonfly:
      graph = Dragonfly(fitting, origin).build(origin);
      notes.assumed(cluster.line,
                    "routes of the dragonfly are shortest ones; SimGrid's leave out "
                    "links between chassis in places");
      break;
  }
  check_import_size(origin, graph);
  return graph;
}

}  // namespace tutti
