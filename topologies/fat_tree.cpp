#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

/// More would have levels without a choice.
constexpr std::size_t most_levels = 20;

/// The cables between the nodes of a level and their parents, child by child. A child's number has
/// the digits of the switches' choices up to it (`below` possibilities), its digit among its
/// siblings, then those of its ancestors among theirs; its parent's has the parent's digit among
/// those with the same children in place of the child's.
struct Level {
  int down = 1;
  int up = 1;
  int cables = 1;
  int below = 1;
  int children = 0;  ///< All nodes of the level below.
  int parents = 0;
  int links_per_cable = 2;
  int first_link = 0;
  int first_child = 0;  ///< The node of number 0.
  int first_parent = 0;

  int ports() const { return up * cables; }

  /// The port that messages to a host take: D-mod-k.
  int port_to(int host) const { return host / below % ports(); }

  int parent(int child, int port) const {
    return child % below + below * (port % up + up * (child / below / down));
  }

  int link(int child, int port, bool upwards) const {
    const int cable = child * ports() + port;
    return first_link + cable * links_per_cable + (upwards ? 0 : links_per_cable - 1);
  }
};

void check_figures(std::string_view key, const std::vector<int>& figures, std::size_t levels) {
  if (figures.size() != levels) {
    throw ShapeError(fmt::format("'{}' has {} entries, expected {}, as 'down' has", key,
                                 figures.size(), levels));
  }
  for (const int figure : figures) require_within(key, figure, 1, maximum_hosts);
}

void check(const FatTreeSpec& spec) {
  const std::size_t levels = spec.down.size();
  if (levels < 1 || levels > most_levels) {
    throw ShapeError(fmt::format("'down' has {} entries, expected 1 to {}", levels, most_levels));
  }
  check_figures("down", spec.down, levels);
  check_figures("up", spec.up, levels);
  if (!spec.cables.empty()) check_figures("cables", spec.cables, levels);
  for (std::size_t level = 0; level < levels; ++level) {
    require_link("", link_of_level(spec.links, level, levels));
  }
  if (saturating_product(spec.down) <= maximum_hosts) return;
  throw ShapeError(
      fmt::format("'down' of {} has more than {} hosts", shown_sizes(spec.down), maximum_hosts));
}

/// Nodes of a level: the choices upwards below it, times the siblings above it.
std::int64_t nodes_of(const FatTreeSpec& spec, std::size_t level) {
  const auto middle = static_cast<std::ptrdiff_t>(level);
  std::vector<int> digits(spec.up.begin(), spec.up.begin() + middle);
  digits.insert(digits.end(), spec.down.begin() + middle, spec.down.end());
  return saturating_product(digits);
}

void reserve(FabricBuilder& builder, const FatTreeSpec& spec) {
  std::int64_t nodes = nodes_of(spec, 0), cables = 0;
  for (std::size_t level = 0; level < spec.down.size(); ++level) {
    const std::int64_t children = std::min<std::int64_t>(nodes_of(spec, level), maximum_links);
    const std::int64_t ports =
        saturating_product({spec.up[level], spec.cables.empty() ? 1 : spec.cables[level]});
    nodes += nodes_of(spec, level + 1);
    cables += children * std::min<std::int64_t>(ports, maximum_links);
  }
  builder.reserve(nodes, cables);
}

std::string name_of(const FatTreeSpec& spec) {
  std::string name =
      fmt::format("fat_tree(down {}, up {}", shown_sizes(spec.down), shown_sizes(spec.up));
  if (std::any_of(spec.cables.begin(), spec.cables.end(), [](int count) { return count > 1; })) {
    name += fmt::format(", cables {}", shown_sizes(spec.cables));
  }
  return fmt::format("{}, {})", name, shown_links(spec.links));
}

std::vector<Level> numbered(const FatTreeSpec& spec) {
  std::vector<Level> levels;
  int below = 1, first = 0;
  for (std::size_t index = 0; index < spec.down.size(); ++index) {
    Level level;
    level.down = spec.down[index];
    level.up = spec.up[index];
    level.cables = spec.cables.empty() ? 1 : spec.cables[index];
    level.below = below;
    level.children = static_cast<int>(nodes_of(spec, index));
    level.parents = static_cast<int>(nodes_of(spec, index + 1));
    level.links_per_cable = link_of_level(spec.links, index, spec.down.size()).shared ? 1 : 2;
    level.first_child = first;
    first += level.children;
    level.first_parent = first;
    below *= level.up;
    levels.push_back(level);
  }
  return levels;
}

/// Upwards to the first common ancestor, of those the one that the destination's ports lead to;
/// from there the way by which the destination would come to it, backwards.
Route route_in(const std::vector<Level>& levels, int from, int to) {
  Route up, down;
  int here = from, there = to;
  for (const Level& level : levels) {
    if (here == there) break;
    const int port = level.port_to(to);
    up.push_back(level.link(here, port, true));
    down.push_back(level.link(there, port, false));
    here = level.parent(here, port);
    there = level.parent(there, port);
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

}  // namespace

Fabric fat_tree(const FatTreeSpec& spec) {
  check(spec);
  FabricBuilder builder(name_of(spec));
  reserve(builder, spec);
  std::vector<Level> levels = numbered(spec);
  for (int host = 0; host < levels.front().children; ++host) {
    builder.add_terminal(fmt::format("host-{}", host));
  }
  for (std::size_t index = 0; index < levels.size(); ++index) {
    for (int number = 0; number < levels[index].parents; ++number) {
      builder.add_node(fmt::format("switch-{}-{}", index + 1, number));
    }
  }
  for (std::size_t index = 0; index < levels.size(); ++index) {
    Level& level = levels[index];
    level.first_link = static_cast<int>(builder.links().size());
    const LinkSpec& link = link_of_level(spec.links, index, levels.size());
    const std::string name = fmt::format("level-{}", index + 1);
    for (int child = 0; child < level.children; ++child) {
      for (int port = 0; port < level.ports(); ++port) {
        builder.add_cable(level.first_child + child, level.first_parent + level.parent(child, port),
                          link, name);
      }
    }
  }
  return std::move(builder).build(
      [levels = std::move(levels)](int from, int to) { return route_in(levels, from, to); });
}

FatTreeSpec k_ary_fat_tree(int radix, int oversubscription, const std::vector<LinkSpec>& links) {
  constexpr int largest_radix = 160;  // Of the even ones, the last with up to maximum_hosts hosts.
  require_within("radix", radix, 2, largest_radix);
  if (radix % 2 != 0) throw ShapeError(fmt::format("'radix' is {}, must be even", radix));
  const int half = radix / 2;
  require_within("oversubscription", oversubscription, 1, half);
  if (half % oversubscription != 0) {
    throw ShapeError(fmt::format("'oversubscription' is {}, must divide {}, half of 'radix'",
                                 oversubscription, half));
  }
  return {.down = {half, half, radix},
          .up = {1, half / oversubscription, half},
          .cables = {},
          .links = links};
}

}  // namespace tutti
