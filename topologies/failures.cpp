#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "topologies/edits.hpp"
#include "topologies/fabric.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_names_compared = 100000;

/// What can fail, and how it is offered where none has the name that was given.
struct Choice {
  std::string_view name;
  std::string_view family;  ///< What it has in common with others that are alike.
  bool is_of_host = false;
  bool is_repeated = false;  ///< An earlier one is of the same family.
};

/// Switches are offered before hosts, and one of each kind first.
[[noreturn]] void fail_unknown(const std::string& failure, std::string_view what,
                               std::string_view name, std::vector<Choice> choices) {
  std::unordered_set<std::string_view> families;
  for (Choice& choice : choices) choice.is_repeated = !families.insert(choice.family).second;
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& left, const Choice& right) {
    return std::tie(left.is_of_host, left.is_repeated) <
           std::tie(right.is_of_host, right.is_repeated);
  });
  std::vector<std::string_view> names;
  for (const Choice& choice : choices) {
    if (names.size() < most_names_compared) names.push_back(choice.name);
  }
  throw ShapeError(fmt::format("--fail {}: no {} is named {}, {}", shown(failure), what,
                               quote(name), hint_for(name, names, 6)));
}

bool is_host(const Shape& shape, int node) {
  return shape.nodes[static_cast<std::size_t>(node)].kind == Node::Kind::host;
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
  if (found) return;
  std::vector<Choice> choices;
  for (const Link& link : shape.links) {
    choices.push_back(
        {link.name, link.link_class, is_host(shape, link.from) || is_host(shape, link.to)});
  }
  fail_unknown(failure, "link", name, std::move(choices));
}

void fail_nodes(Shape& shape, const std::string& failure, std::string_view name) {
  std::vector<bool> failed;
  for (const Node& node : shape.nodes) failed.push_back(matches_pattern(node.name, name));
  if (std::find(failed.begin(), failed.end(), true) == failed.end()) {
    std::vector<Choice> choices;
    for (const Node& node : shape.nodes) {
      const std::string_view text = node.name;
      choices.push_back({text, text.substr(0, text.find_last_not_of("0123456789") + 1),
                         node.kind == Node::Kind::host});
    }
    fail_unknown(failure, "node", name, std::move(choices));
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

/// The shape's own routes, and which of them cross a failure.
class OwnRoutes {
 public:
  explicit OwnRoutes(const Shape& shape)
      : route_(shape.route), hosts_(static_cast<int>(shape.hosts.size())) {
    for (const Link& link : shape.links) failed_.push_back(link.failed);
    const auto count = static_cast<std::size_t>(hosts_);
    kept_.resize(std::clamp<std::size_t>(kept_numbers / count, 1, count));
  }

  Route between(int from, int to) const { return route_(from, to); }

  bool crosses_failure(const Route& route) const {
    return std::any_of(route.begin(), route.end(),
                       [&](int link) { return failed_[static_cast<std::size_t>(link)]; });
  }

  /// How many destinations before this one have a route that crosses a failure. Neighbours of which
  /// every other one has such a route have successive numbers.
  std::uint64_t number_of_detour(int from, int to) {
    Detours& detours = kept_[static_cast<std::size_t>(from) % kept_.size()];
    if (detours.source != from) count(from, detours);
    return static_cast<std::uint64_t>(detours.before[static_cast<std::size_t>(to)]);
  }

 private:
  static constexpr std::size_t kept_numbers = std::size_t{1} << 24;

  struct Detours {
    int source = -1;
    std::vector<int> before;  ///< By destination.
  };

  void count(int source, Detours& detours) const {
    detours.source = source;
    detours.before.clear();
    int detoured = 0;
    for (int to = 0; to < hosts_; ++to) {
      detours.before.push_back(detoured);
      if (to != source && needs_detour(source, to)) ++detoured;
    }
  }

  /// Hosts without ranks may have no route at all.
  bool needs_detour(int from, int to) const {
    try {
      return crosses_failure(route_(from, to));
    } catch (const ShapeError&) {
      return false;
    }
  }

  RouteFunction route_;
  int hosts_ = 0;
  std::vector<bool> failed_;
  std::vector<Detours> kept_;  ///< Those of a source, if kept, at the source's number modulo.
};

/// The shape's own routes where they are whole, else the shortest, each in turn.
RouteFunction routes_around(const Shape& shape) {
  const auto own = std::make_shared<OwnRoutes>(shape);
  return [own,
          around = shortest_routes(shape.nodes, shape.links, Metric::hops, [own](int from, int to) {
            return own->number_of_detour(from, to);
          })](int from, int to) {
    Route route = own->between(from, to);
    return own->crosses_failure(route) ? around(from, to) : route;
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
