#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "topologies/fabric.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

void append(Route& route, const Route& more, int offset) {
  for (const int link : more) route.push_back(link + offset);
}

/// Machines that are all alike in an outer fabric: the numbers of nodes and links, and routes.
/// Machine m's links are m * inner_links + those of the inner fabric; the outer ones follow.
struct Composition {
  int devices = 0;   ///< Of one machine.
  int gateways = 0;  ///< Of one machine.
  int inner_links = 0;
  int machines = 0;
  bool leaves_by_destination = false;
  std::vector<int> gateway_nodes;  ///< In the inner fabric.
  RouteFunction inner;             ///< Between its terminals,
  RouteFunction inside;            ///< and any of its nodes.
  RouteFunction outer;

  /// Which of its own gateways a device uses for a peer, both ways, where it has several.
  int lane_between(int from, int to) const {
    const int own = gateways / devices;
    return own > 1 ? (from + to) % own : 0;
  }

  int gateway_of(int device, int lane) const {
    return static_cast<int>(std::int64_t{device} * gateways / devices) + lane;
  }

  int node_of(int gateway) const { return gateway_nodes[static_cast<std::size_t>(gateway)]; }

  /// From the sender to the gateway by which it leaves, in the inner fabric.
  Route way_out(int sender, int receiver, int lane) const {
    const int own = gateway_of(sender, lane), arrival = gateway_of(receiver, lane);
    if (!leaves_by_destination || own == arrival) return inside(sender, node_of(own));
    Route direct = inside(sender, node_of(arrival));
    Route relayed = inner(sender, receiver);
    append(relayed, inside(receiver, node_of(arrival)), 0);
    return relayed.size() <= direct.size() ? relayed : direct;
  }

  Route route(int from, int to) const {
    const int machine = from / devices, other = to / devices;
    const int sender = from % devices, receiver = to % devices;
    Route links;
    if (machine == other) {
      append(links, inner(sender, receiver), machine * inner_links);
      return links;
    }
    const int lane = lane_between(from, to);
    const int arrival = gateway_of(receiver, lane);
    append(links, way_out(sender, receiver, lane), machine * inner_links);
    const int departure = leaves_by_destination ? arrival : gateway_of(sender, lane);
    append(links, outer(machine * gateways + departure, other * gateways + arrival),
           machines * inner_links);
    append(links, inside(node_of(arrival), receiver), other * inner_links);
    return links;
  }
};

/// Where nodes of the parts are in the whole: all terminals, the other nodes of each machine, those
/// of the outer fabric.
struct NodeNumbers {
  const Fabric& outer;
  const Fabric& inner;
  int machines = 0;
  std::vector<std::string> prefixes = {};  ///< Of each machine's names: "machine-3/", "west/".

  int inside(int machine, int node) const {
    if (node < inner.terminals) return machine * inner.terminals + node;
    const int others = static_cast<int>(inner.nodes.size()) - inner.terminals;
    return machines * inner.terminals + machine * others + node - inner.terminals;
  }

  int outside(int node) const {
    if (node >= outer.terminals) {
      return machines * static_cast<int>(inner.nodes.size()) + node - outer.terminals;
    }
    const int gateways = static_cast<int>(inner.gateways.size());
    return inside(node / gateways, inner.gateways[static_cast<std::size_t>(node % gateways)]);
  }
};

int machines_of(const Fabric& outer, const Fabric& inner) {
  if (inner.gateways.empty()) {
    throw ShapeError(
        fmt::format("{} has no gateways to plug it into {}, expected 'nics' or 'gateways'",
                    inner.name, outer.name));
  }
  const int gateways = static_cast<int>(inner.gateways.size());
  if (outer.terminals % gateways != 0) {
    throw ShapeError(
        fmt::format("{} has {} ports for machines with {} gateways each, expected a multiple of {}",
                    outer.name, outer.terminals, gateways, gateways));
  }
  return outer.terminals / gateways;
}

void check_sizes(const Fabric& outer, const Fabric& inner, int machines) {
  const std::int64_t terminals = std::int64_t{machines} * inner.terminals;
  if (terminals > maximum_hosts) {
    throw ShapeError(fmt::format("{} machines of {} devices are {} hosts, expected at most {}",
                                 machines, inner.terminals, terminals, maximum_hosts));
  }
  const auto count = [&](std::size_t inside, std::size_t outside, std::string_view what) {
    const std::int64_t total =
        machines * static_cast<std::int64_t>(inside) + static_cast<std::int64_t>(outside);
    if (total <= maximum_links) return;
    throw ShapeError(fmt::format("{} machines in {} have {} {}, expected at most {}", machines,
                                 outer.name, total, what, maximum_links));
  };
  count(inner.nodes.size(), outer.nodes.size(), "nodes");
  count(inner.links.size(), outer.links.size(), "links");
}

/// Whether builders give this name: "host-3".
bool is_numbered_host(std::string_view name) {
  constexpr std::string_view begin = "host-";
  return name.starts_with(begin) &&
         name.find_first_not_of("0123456789", begin.size()) == std::string_view::npos;
}

/// A machine has the name of its terminal if that is one of its own. No name holds a slash and no
/// node of the outer fabric seems to be inside, so that names stay unique.
std::vector<std::string> prefixes_of(const Fabric& outer, int machines) {
  std::vector<std::string> numbered;
  for (int machine = 0; machine < machines; ++machine) {
    numbered.push_back(fmt::format("machine-{}/", machine));
  }
  if (machines != outer.terminals) return numbered;
  std::unordered_set<std::string_view> taken;
  for (const Node& node : outer.nodes) {
    const std::string_view name = node.name;
    if (name.find('/') != std::string_view::npos) taken.insert(name.substr(0, name.find('/')));
  }
  std::vector<std::string> prefixes = numbered;
  std::unordered_set<std::string> distinct;
  for (std::size_t machine = 0; machine < prefixes.size(); ++machine) {
    const std::string& name = outer.nodes[machine].name;
    if (!is_numbered_host(name) && !taken.contains(name) && name.find('/') == std::string::npos) {
      prefixes[machine] = name + "/";
    }
    if (!distinct.insert(prefixes[machine]).second) return numbered;
  }
  return prefixes;
}

void add_nodes(Fabric& whole, const NodeNumbers& numbers) {
  const Fabric& inner = numbers.inner;
  whole.nodes.resize(static_cast<std::size_t>(numbers.machines) * inner.nodes.size());
  for (int machine = 0; machine < numbers.machines; ++machine) {
    const std::string& prefix = numbers.prefixes[static_cast<std::size_t>(machine)];
    for (int node = 0; node < static_cast<int>(inner.nodes.size()); ++node) {
      const Node& part = inner.nodes[static_cast<std::size_t>(node)];
      whole.nodes[static_cast<std::size_t>(numbers.inside(machine, node))] = {prefix + part.name,
                                                                              part.kind};
    }
  }
  whole.nodes.insert(whole.nodes.end(), numbers.outer.nodes.begin() + numbers.outer.terminals,
                     numbers.outer.nodes.end());
}

void add_links(Fabric& whole, const NodeNumbers& numbers) {
  const int inner_links = static_cast<int>(numbers.inner.links.size());
  whole.links.reserve(static_cast<std::size_t>(numbers.machines) * numbers.inner.links.size() +
                      numbers.outer.links.size());
  for (int machine = 0; machine < numbers.machines; ++machine) {
    const std::string& prefix = numbers.prefixes[static_cast<std::size_t>(machine)];
    for (Link link : numbers.inner.links) {
      link.name.insert(0, prefix);
      link.from = numbers.inside(machine, link.from);
      link.to = numbers.inside(machine, link.to);
      if (link.opposite >= 0) link.opposite += machine * inner_links;
      whole.links.push_back(std::move(link));
    }
  }
  for (Link link : numbers.outer.links) {
    const bool plugged = std::min(link.from, link.to) < numbers.outer.terminals;
    link.from = numbers.outside(link.from);
    link.to = numbers.outside(link.to);
    if (plugged) {
      link.name = fmt::format("{}-{}", whole.nodes[static_cast<std::size_t>(link.from)].name,
                              whole.nodes[static_cast<std::size_t>(link.to)].name);
    }
    if (link.opposite >= 0) link.opposite += numbers.machines * inner_links;
    whole.links.push_back(std::move(link));
  }
  make_names_unique(whole.links);
}

/// Machines inside of a part that has them are machines of the whole.
std::vector<int> machines_by_terminal(const Fabric& inner, int machines) {
  const int each = inner.machines.empty()
                       ? inner.terminals
                       : *std::max_element(inner.machines.begin(), inner.machines.end()) + 1;
  std::vector<int> result;
  for (int machine = 0; machine < machines; ++machine) {
    for (int device = 0; device < inner.terminals; ++device) {
      result.push_back(machine * each + (inner.machines.empty()
                                             ? device
                                             : inner.machines[static_cast<std::size_t>(device)]));
    }
  }
  return result;
}

/// Where different gateways cannot reach each other, messages have to leave by the right one.
void check_rails(const Composition& whole, const Fabric& outer) {
  if (whole.gateways == 1 || whole.machines == 1 || whole.leaves_by_destination) return;
  try {
    outer.route(0, 2 * whole.gateways - 1);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format(
        "{} does not connect different rails: {}, expected machines that leave by the gateway of "
        "the destination ('leaves_by: destination')",
        outer.name, error.what()));
  }
}

}  // namespace

Fabric compose(const Fabric& outer, const Fabric& inner) {
  const int machines = machines_of(outer, inner);
  check_sizes(outer, inner, machines);
  const NodeNumbers numbers = {outer, inner, machines, prefixes_of(outer, machines)};
  Fabric whole;
  whole.name = fmt::format("{} of {}", outer.name, inner.name);
  whole.terminals = machines * inner.terminals;
  whole.leaves_by_destination = outer.leaves_by_destination;
  add_nodes(whole, numbers);
  add_links(whole, numbers);
  whole.machines = machines_by_terminal(inner, machines);
  for (const int gateway : outer.gateways) whole.gateways.push_back(numbers.outside(gateway));

  const auto parts = std::make_shared<const Composition>(
      Composition{.devices = inner.terminals,
                  .gateways = static_cast<int>(inner.gateways.size()),
                  .inner_links = static_cast<int>(inner.links.size()),
                  .machines = machines,
                  .leaves_by_destination = inner.leaves_by_destination,
                  .gateway_nodes = inner.gateways,
                  .inner = inner.route,
                  .inside = shortest_routes(inner.nodes, inner.links),
                  .outer = outer.route});
  check_rails(*parts, outer);
  whole.route = [parts](int from, int to) { return parts->route(from, to); };
  return whole;
}

}  // namespace tutti
