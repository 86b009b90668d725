#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "topologies/edits.hpp"
#include "topologies/fabric.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_names_compared = 100000;

template <typename Part>
[[noreturn]] void fail_unknown(const std::string& failure, std::string_view what,
                               std::string_view name, const std::vector<Part>& parts) {
  std::vector<std::string_view> names;
  for (const Part& part : parts) {
    if (names.size() < most_names_compared) names.push_back(part.name);
  }
  throw ShapeError(fmt::format("--fail {}: no {} is named {}, {}", shown(failure), what,
                               quote(name), hint_for(name, names, 6)));
}

void fail_link(Shape& shape, Link& link) {
  link.failed = true;
  if (link.opposite >= 0) shape.links[static_cast<std::size_t>(link.opposite)].failed = true;
}

void fail_links(Shape& shape, const std::string& failure, std::string_view name) {
  bool found = false;
  for (Link& link : shape.links) {
    if (!matches_pattern(link.name, name)) continue;
    fail_link(shape, link);
    found = true;
  }
  if (!found) fail_unknown(failure, "link", name, shape.links);
}

void fail_nodes(Shape& shape, const std::string& failure, std::string_view name) {
  std::vector<bool> failed;
  for (const Node& node : shape.nodes) failed.push_back(matches_pattern(node.name, name));
  if (std::find(failed.begin(), failed.end(), true) == failed.end()) {
    fail_unknown(failure, "node", name, shape.nodes);
  }
  for (Link& link : shape.links) {
    if (failed[static_cast<std::size_t>(link.from)] || failed[static_cast<std::size_t>(link.to)]) {
      link.failed = true;
    }
  }
}

/// Nodes that can be reached from `start` along links that work, or against them.
std::vector<bool> reached(const Shape& shape, int start, bool along) {
  std::vector<std::vector<int>> neighbours(shape.nodes.size());
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    if (link.failed) continue;
    const bool both = link.is_shared(static_cast<int>(index));
    if (along || both) neighbours[static_cast<std::size_t>(link.from)].push_back(link.to);
    if (!along || both) neighbours[static_cast<std::size_t>(link.to)].push_back(link.from);
  }
  std::vector<bool> seen(shape.nodes.size(), false);
  std::vector<int> open = {start};
  seen[static_cast<std::size_t>(start)] = true;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const int next : neighbours[static_cast<std::size_t>(node)]) {
      if (seen[static_cast<std::size_t>(next)]) continue;
      seen[static_cast<std::size_t>(next)] = true;
      open.push_back(next);
    }
  }
  return seen;
}

void check_ranks_reach_each_other(const Shape& shape) {
  const int first = shape.host_of(0);
  for (const bool along : {true, false}) {
    const std::vector<bool> seen = reached(shape, first, along);
    for (int rank = 1; rank < shape.size(); ++rank) {
      if (seen[static_cast<std::size_t>(shape.host_of(rank))]) continue;
      const int from = along ? 0 : rank, to = along ? rank : 0;
      throw ShapeError(fmt::format("--fail: rank {} on {} has no way left to rank {} on {}", from,
                                   shape.hosts[static_cast<std::size_t>(shape.host_of(from))].name,
                                   to,
                                   shape.hosts[static_cast<std::size_t>(shape.host_of(to))].name));
    }
  }
}

/// The shape's own routes where they are whole, else the shortest.
RouteFunction routes_around(const Shape& shape) {
  std::vector<bool> failed;
  for (const Link& link : shape.links) failed.push_back(link.failed);
  return [own = shape.route, failed = std::move(failed),
          around = shortest_routes(shape.nodes, shape.links)](int from, int to) {
    const auto is_failed = [&](int link) { return failed[static_cast<std::size_t>(link)]; };
    Route route = own(from, to);
    if (std::none_of(route.begin(), route.end(), is_failed)) return route;
    return around(from, to);
  };
}

}  // namespace

void apply_failures(Shape& shape, const std::vector<std::string>& failures) {
  for (const std::string& failure : failures) {
    const std::string_view text = failure;
    const std::string_view name = text.substr(std::min(text.find(':'), text.size() - 1) + 1);
    if (text.starts_with("link:")) {
      fail_links(shape, failure, name);
    } else if (text.starts_with("node:")) {
      fail_nodes(shape, failure, name);
    } else {
      throw ShapeError(fmt::format("--fail {}: expected link:NAME or node:NAME", shown(failure)));
    }
  }
  check_ranks_reach_each_other(shape);
  shape.route = routes_around(shape);
}

}  // namespace tutti
