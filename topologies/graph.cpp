#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

using Numbers = std::unordered_map<std::string, int>;

std::uint64_t pair_of(int from, int to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
}

/// Adds the hosts, then the others, each in order.
Numbers add_nodes(FabricBuilder& builder, const GraphSpec& spec) {
  Numbers numbers;
  for (const bool hosts : {true, false}) {
    for (std::size_t index = 0; index < spec.nodes.size(); ++index) {
      const GraphSpec::GraphNode& node = spec.nodes[index];
      if (node.is_host != hosts) continue;
      if (node.name.empty()) {
        throw ShapeError(fmt::format("'nodes[{}]': a node has an empty name", index));
      }
      const int number = hosts ? builder.add_terminal(node.name) : builder.add_node(node.name);
      if (numbers.emplace(node.name, number).second) continue;
      throw ShapeError(fmt::format("'nodes[{}]': two nodes are named '{}'", index, node.name));
    }
    if (numbers.empty()) throw ShapeError("'nodes' has no host, expected one at least");
  }
  return numbers;
}

int number_of(const Numbers& numbers, const std::string& name, std::string_view where) {
  const auto found = numbers.find(name);
  if (found != numbers.end()) return found->second;
  throw ShapeError(fmt::format("{}: there is no node '{}'", where, name));
}

void add_cables(FabricBuilder& builder, const GraphSpec& spec, const Numbers& numbers) {
  for (std::size_t index = 0; index < spec.cables.size(); ++index) {
    const GraphSpec::GraphCable& cable = spec.cables[index];
    const std::string where =
        fmt::format("'links[{}]': the link between '{}' and '{}'", index, cable.from, cable.to);
    const int from = number_of(numbers, cable.from, where);
    const int to = number_of(numbers, cable.to, where);
    if (from == to) {
      throw ShapeError(fmt::format("{} has both ends at one node, expected two", where));
    }
    if (cable.one_way) {
      builder.add_one_way(from, to, cable.spec, cable.link_class);
    } else {
      builder.add_cable(from, to, cable.spec, cable.link_class);
    }
  }
}

using GivenRoutes = std::unordered_map<std::uint64_t, Route>;

/// Turns routes by names into routes by links: the first link between each two nodes.
class RouteReader {
 public:
  RouteReader(const GraphSpec& spec, const FabricBuilder& builder, const Numbers& numbers)
      : numbers_(numbers) {
    for (std::size_t index = 0; index < builder.links().size(); ++index) {
      const Link& link = builder.links()[index];
      const int number = static_cast<int>(index);
      first_links_.try_emplace(pair_of(link.from, link.to), number);
      if (link.is_shared(number)) first_links_.try_emplace(pair_of(link.to, link.from), number);
    }
    for (const GraphSpec::GraphNode& node : spec.nodes) {
      if (node.is_host) hosts_.insert(node.name);
    }
  }

  void read(const GraphSpec::GraphRoute& route, std::size_t index, GivenRoutes& given) const {
    add(route.nodes, index, given);
    if (!route.both_ways) return;
    add({route.nodes.rbegin(), route.nodes.rend()}, index, given);
  }

 private:
  void add(const std::vector<std::string>& names, std::size_t index, GivenRoutes& given) const {
    const std::string where =
        fmt::format("'routes[{}]': the route [{}]", index, fmt::join(names, ", "));
    if (names.size() < 2) throw ShapeError(where + " has less than two nodes");
    std::vector<int> nodes;
    for (const std::string& name : names) nodes.push_back(number_of(numbers_, name, where));
    for (const std::string& end : {names.front(), names.back()}) {
      if (hosts_.contains(end)) continue;
      throw ShapeError(fmt::format("{} has its end at '{}', expected a host", where, end));
    }
    if (nodes.front() == nodes.back()) throw ShapeError(where + " ends where it begins");
    Route links;
    for (std::size_t hop = 1; hop < nodes.size(); ++hop) {
      const auto found = first_links_.find(pair_of(nodes[hop - 1], nodes[hop]));
      if (found == first_links_.end()) {
        throw ShapeError(fmt::format("{}: there is no link from '{}' to '{}'", where,
                                     names[hop - 1], names[hop]));
      }
      links.push_back(found->second);
    }
    if (given.emplace(pair_of(nodes.front(), nodes.back()), std::move(links)).second) return;
    throw ShapeError(
        fmt::format("'routes[{}]': two routes are given from '{}' to '{}', expected one", index,
                    names.front(), names.back()));
  }

  const Numbers& numbers_;
  std::unordered_map<std::uint64_t, int> first_links_;
  std::unordered_set<std::string> hosts_;
};

std::string name_of(const GraphSpec& spec) {
  const auto hosts = std::count_if(spec.nodes.begin(), spec.nodes.end(),
                                   [](const GraphSpec::GraphNode& node) { return node.is_host; });
  return fmt::format("graph({} hosts, {} switches, {} links)", hosts,
                     static_cast<std::ptrdiff_t>(spec.nodes.size()) - hosts, spec.cables.size());
}

}  // namespace

Fabric graph(const GraphSpec& spec) {
  FabricBuilder builder(name_of(spec));
  const Numbers numbers = add_nodes(builder, spec);
  add_cables(builder, spec, numbers);
  const auto given = std::make_shared<GivenRoutes>();
  if (!spec.routes.empty()) {
    const RouteReader reader(spec, builder, numbers);
    for (std::size_t index = 0; index < spec.routes.size(); ++index) {
      reader.read(spec.routes[index], index, *given);
    }
  }
  Fabric fabric = std::move(builder).build({});
  for (const std::string& gateway : spec.gateways) {
    const int node = number_of(numbers, gateway, "'gateways'");
    if (std::find(fabric.gateways.begin(), fabric.gateways.end(), node) != fabric.gateways.end()) {
      throw ShapeError(fmt::format("'gateways' names '{}' twice", gateway));
    }
    fabric.gateways.push_back(node);
  }
  fabric.route = [shortest = shortest_routes(fabric.nodes, fabric.links, spec.metric),
                  given = std::shared_ptr<const GivenRoutes>(given)](int from, int to) {
    const auto found = given->find(pair_of(from, to));
    return found != given->end() ? found->second : shortest(from, to);
  };
  return fabric;
}

}  // namespace tutti
