#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

/// Cables between all groups that are `distance` apart: of each group, port `near` is connected to
/// port `far` of the group that many further on.
struct GlobalCables {
  int distance = 0;
  int near = 0;
  int far = 0;
  int first_cable = 0;
};

struct Dragonfly {
  DragonflySpec spec;
  std::vector<GlobalCables> global = {};
  std::vector<std::vector<int>> by_distance = {};  ///< Indices into global.
  int first_local_link = 0;
  int first_global_link = 0;

  int ports() const { return spec.routers * spec.global_links; }
  int router_of_port(int port) const { return port / spec.global_links; }

  /// As many groups have such cables; at half the way around two groups share one.
  int cables_at(int distance) const { return 2 * distance == spec.groups ? distance : spec.groups; }

  void add(int distance, int near, int far) {
    const int first =
        global.empty() ? 0 : global.back().first_cable + cables_at(global.back().distance);
    by_distance[static_cast<std::size_t>(distance)].push_back(static_cast<int>(global.size()));
    global.push_back({distance, near, far, first});
  }

  /// Rounds in which each group has a cable to every other, then what the ports left over allow.
  void connect_groups() {
    const int groups = spec.groups, others = groups - 1;
    by_distance.resize(static_cast<std::size_t>(groups / 2) + 1);
    if (others == 0) return;
    int port = 0;
    for (; port + others <= ports(); port += others) {
      for (int distance = 1; 2 * distance <= groups; ++distance) {
        add(distance, port + distance - 1, port + groups - distance - 1);
      }
    }
    const int left = ports() - port;
    if (left % 2 == 1 && groups % 2 == 0) {
      add(groups / 2, port, port);
      ++port;
    }
    for (int distance = 1; port + 1 < ports(); ++distance, port += 2) add(distance, port, port + 1);
  }

  int local_link(int group, int from, int to) const {
    const int low = std::min(from, to), high = std::max(from, to);
    const int routers = spec.routers;
    const int cable = group * (routers * (routers - 1) / 2) + high * (high - 1) / 2 + low;
    return first_local_link + (spec.local.shared ? cable : 2 * cable + (from < to ? 0 : 1));
  }

  /// From a router of a group to one of another group.
  void append_between_groups(Route& route, int group, int router, int other_group, int other_router,
                             int choice) const {
    const int onwards = (other_group - group + spec.groups) % spec.groups;
    const bool half_way = 2 * onwards == spec.groups;
    const bool forth = half_way ? group < other_group : 2 * onwards < spec.groups;
    const int distance = std::min(onwards, spec.groups - onwards);
    const std::vector<int>& choices = by_distance[static_cast<std::size_t>(distance)];
    const int chosen = choices[static_cast<std::size_t>(choice) % choices.size()];
    const GlobalCables& cables = global[static_cast<std::size_t>(chosen)];
    const int exit = router_of_port(forth ? cables.near : cables.far);
    const int entry = router_of_port(forth ? cables.far : cables.near);
    const int cable = cables.first_cable + (forth ? group : other_group);
    if (router != exit) route.push_back(local_link(group, router, exit));
    route.push_back(first_global_link + (spec.global.shared ? cable : 2 * cable + (forth ? 0 : 1)));
    if (entry != other_router) route.push_back(local_link(other_group, entry, other_router));
  }

  Route route(int from, int to) const {
    const int router = from / spec.hosts, other_router = to / spec.hosts;
    const int group = router / spec.routers, other_group = other_router / spec.routers;
    const int each = spec.host.shared ? 1 : 2;
    Route links = {each * from};
    if (group != other_group) {
      append_between_groups(links, group, router % spec.routers, other_group,
                            other_router % spec.routers, to);
    } else if (router != other_router) {
      links.push_back(local_link(group, router % spec.routers, other_router % spec.routers));
    }
    links.push_back(each * to + each - 1);
    return links;
  }
};

void check(const DragonflySpec& spec) {
  require_within("groups", spec.groups, 1, maximum_hosts);
  require_within("routers", spec.routers, 1, maximum_hosts);
  require_within("hosts_per_router", spec.hosts, 1, maximum_hosts);
  require_within("global_links", spec.global_links, 0, maximum_hosts);
  require_link("links.host", spec.host);
  if (spec.routers > 1) require_link("links.local", spec.local);
  if (spec.groups > 1) require_link("links.global", spec.global);
  const std::int64_t hosts = saturating_product({spec.groups, spec.routers, spec.hosts});
  if (hosts > maximum_hosts) {
    throw ShapeError(fmt::format(
        "{} 'groups' of {} 'routers' with {} 'hosts_per_router' are {} hosts, expected at most {}",
        spec.groups, spec.routers, spec.hosts, hosts, maximum_hosts));
  }
  const std::int64_t ports = saturating_product({spec.routers, spec.global_links});
  if (ports < spec.groups - 1) {
    throw ShapeError(fmt::format(
        "'global_links' is {}: {} routers reach {} other groups, expected {} for {} 'groups'",
        spec.global_links, spec.routers, ports, spec.groups - 1, spec.groups));
  }
}

std::string name_of(const DragonflySpec& spec) {
  return fmt::format("dragonfly({} groups x {} routers x {} hosts, {} global links, {})",
                     spec.groups, spec.routers, spec.hosts, spec.global_links,
                     shown_links({spec.host, spec.local, spec.global}));
}

void add_nodes(FabricBuilder& builder, const DragonflySpec& spec) {
  const int routers = spec.groups * spec.routers;
  for (int host = 0; host < routers * spec.hosts; ++host) {
    builder.add_terminal(fmt::format("host-{}", host));
  }
  for (int router = 0; router < routers; ++router) {
    builder.add_node(fmt::format("router-{}-{}", router / spec.routers, router % spec.routers));
  }
}

void add_cables(FabricBuilder& builder, Dragonfly& network) {
  const DragonflySpec& spec = network.spec;
  const int hosts = spec.groups * spec.routers * spec.hosts;
  for (int host = 0; host < hosts; ++host) {
    builder.add_cable(host, hosts + host / spec.hosts, spec.host, "host");
  }
  network.first_local_link = static_cast<int>(builder.links().size());
  for (int group = 0; group < spec.groups; ++group) {
    const int first = hosts + group * spec.routers;
    for (int high = 1; high < spec.routers; ++high) {
      for (int low = 0; low < high; ++low) {
        builder.add_cable(first + low, first + high, spec.local, "local");
      }
    }
  }
  network.first_global_link = static_cast<int>(builder.links().size());
  for (const GlobalCables& cables : network.global) {
    for (int group = 0; group < network.cables_at(cables.distance); ++group) {
      const int other = (group + cables.distance) % spec.groups;
      builder.add_cable(hosts + group * spec.routers + network.router_of_port(cables.near),
                        hosts + other * spec.routers + network.router_of_port(cables.far),
                        spec.global, "global");
    }
  }
}

}  // namespace

Fabric dragonfly(const DragonflySpec& spec) {
  check(spec);
  FabricBuilder builder(name_of(spec));
  const std::int64_t groups = spec.groups, routers = spec.routers;
  builder.reserve(groups * routers * (spec.hosts + 1),
                  groups * routers * spec.hosts + groups * (routers * (routers - 1) / 2) +
                      saturating_product({spec.groups, spec.routers, spec.global_links}) / 2);
  Dragonfly network = {.spec = spec};
  network.connect_groups();
  add_nodes(builder, spec);
  add_cables(builder, network);
  return std::move(builder).build(
      [network = std::move(network)](int from, int to) { return network.route(from, to); });
}

}  // namespace tutti
