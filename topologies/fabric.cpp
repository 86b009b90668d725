#include "topologies/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "topologies/figures.hpp"

namespace tutti {
namespace {

struct HashedName {
  std::size_t hash = 0;
  int link = 0;
};

/// Appends "#2", "#3", ... to the names that an earlier link has. Returns whether there were any.
bool rename_repeated(std::vector<Link>& links) {
  std::vector<HashedName> order;
  order.reserve(links.size());
  for (const Link& link : links) {
    order.push_back({std::hash<std::string>{}(link.name), static_cast<int>(order.size())});
  }
  std::sort(order.begin(), order.end(), [&](const HashedName& left, const HashedName& right) {
    if (left.hash != right.hash) return left.hash < right.hash;
    const std::string& name = links[static_cast<std::size_t>(left.link)].name;
    const std::string& other = links[static_cast<std::size_t>(right.link)].name;
    const int difference = name.compare(other);
    return difference != 0 ? difference < 0 : left.link < right.link;
  });
  bool repeated = false;
  std::string first;
  for (std::size_t index = 1, copy = 2; index < order.size(); ++index) {
    if (order[index].hash != order[index - 1].hash) {
      copy = 2;
      continue;
    }
    if (copy == 2) first = links[static_cast<std::size_t>(order[index - 1].link)].name;
    Link& link = links[static_cast<std::size_t>(order[index].link)];
    if (link.name != first) {
      copy = 2;
      continue;
    }
    link.name += fmt::format("#{}", copy++);
    repeated = true;
  }
  return repeated;
}

}  // namespace

void make_names_unique(std::vector<Link>& links) {
  while (rename_repeated(links)) {
  }
}

FabricBuilder::FabricBuilder(std::string name) {
  fabric_.name = std::move(name);
}

void FabricBuilder::reserve(std::int64_t nodes, std::int64_t cables) {
  if (nodes > maximum_links || cables > maximum_links / 2) {
    throw ShapeError(fmt::format("{} needs {} nodes and {} cables, expected at most {} and {}",
                                 fabric_.name, nodes, cables, maximum_links, maximum_links / 2));
  }
  fabric_.nodes.reserve(static_cast<std::size_t>(nodes));
  fabric_.links.reserve(2 * static_cast<std::size_t>(cables));
}

int FabricBuilder::add_terminal(std::string name, Node::Kind kind) {
  if (fabric_.terminals == maximum_hosts) {
    throw ShapeError(fmt::format("{} has more than {} hosts", fabric_.name, maximum_hosts));
  }
  ++fabric_.terminals;
  return add_node(std::move(name), kind);
}

int FabricBuilder::add_node(std::string name, Node::Kind kind) {
  if (fabric_.nodes.size() == maximum_links) {
    throw ShapeError(fmt::format("{} has more than {} nodes", fabric_.name, maximum_links));
  }
  fabric_.nodes.push_back({std::move(name), kind});
  return static_cast<int>(fabric_.nodes.size()) - 1;
}

int FabricBuilder::add_cable(int from, int to, const LinkSpec& spec, std::string_view link_class) {
  const int forth = add_one_way(from, to, spec, link_class);
  if (spec.shared) {
    fabric_.links.back().opposite = forth;
    return forth;
  }
  const int back = add_one_way(to, from, spec, link_class);
  fabric_.links[static_cast<std::size_t>(forth)].opposite = back;
  fabric_.links.back().opposite = forth;
  return forth;
}

int FabricBuilder::add_one_way(int from, int to, const LinkSpec& spec,
                               std::string_view link_class) {
  const auto name_of = [this](int node) -> const std::string& {
    return fabric_.nodes[static_cast<std::size_t>(node)].name;
  };
  if (fabric_.links.size() == maximum_links) {
    throw ShapeError(fmt::format("{} has more than {} links", fabric_.name, maximum_links));
  }
  Link link;
  link.name = name_of(from);
  link.name.append("-").append(name_of(to));
  require_link(link.name, spec);
  link.link_class = link_class;
  link.from = from;
  link.to = to;
  link.bandwidth_bytes_per_second = spec.bandwidth_bytes_per_second;
  link.latency_seconds = spec.latency_seconds;
  link.overhead_seconds = spec.overhead_seconds;
  fabric_.links.push_back(std::move(link));
  return static_cast<int>(fabric_.links.size()) - 1;
}

Fabric FabricBuilder::build(RouteFunction route) && {
  make_names_unique(fabric_.links);
  fabric_.route = std::move(route);
  return std::move(fabric_);
}

}  // namespace tutti
