#include <fmt/format.h>

#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

void check(const LeafSpineSpec& spec) {
  require_within("leaves", spec.leaves, 1, maximum_hosts);
  require_within("spines", spec.spines, 0, maximum_hosts);
  require_within("hosts_per_leaf", spec.hosts_per_leaf, 1, maximum_hosts);
  require_within("uplinks", spec.uplinks, 1, maximum_hosts);
  require_within("rails", spec.rails, 1, spec.leaves);
  if (spec.leaves % spec.rails != 0) {
    throw ShapeError(fmt::format("'leaves' is {}, expected a multiple of the {} 'rails'",
                                 spec.leaves, spec.rails));
  }
  require_link("links.host", spec.host);
  if (spec.spines > 0) require_link("links.spine", spec.spine);
  const std::int64_t terminals = saturating_product({spec.leaves, spec.hosts_per_leaf});
  if (terminals <= maximum_hosts) return;
  throw ShapeError(
      fmt::format("{} 'leaves' of {} 'hosts_per_leaf' are {} hosts, expected at most {}",
                  spec.leaves, spec.hosts_per_leaf, terminals, maximum_hosts));
}

std::string name_of(const LeafSpineSpec& spec) {
  std::string name = fmt::format("leaf_spine({}x{}", spec.leaves, spec.hosts_per_leaf);
  if (spec.spines > 0) {
    name += fmt::format(", {} {}", spec.spines, spec.spines == 1 ? "spine" : "spines");
  }
  if (spec.uplinks > 1) name += fmt::format(", {} uplinks", spec.uplinks);
  if (spec.rails > 1) name += fmt::format(", {} rails", spec.rails);
  return fmt::format(
      "{}, {})", name,
      spec.spines > 0 ? shown_links({spec.host, spec.spine}) : shown_link(spec.host));
}

/// Where the terminals are and which cables there are: first those of the terminals, in order, then
/// leaf by leaf those to the spines, of which the cables to one spine are `spines` apart.
struct LeafSpine {
  LeafSpineSpec spec;

  int leaf_of(int terminal) const {
    const int machine = terminal / spec.rails, rail = terminal % spec.rails;
    return machine / spec.hosts_per_leaf * spec.rails + rail;
  }

  int cables_up() const { return spec.spines * spec.uplinks; }

  Route route(int from, int to) const {
    const int leaf = leaf_of(from), other = leaf_of(to);
    const int terminals = spec.leaves * spec.hosts_per_leaf;
    const int each = spec.host.shared ? 1 : 2, back = each - 1;
    const int first = each * from, last = each * to + back;
    if (leaf == other) return {first, last};
    if (cables_up() == 0) {
      throw ShapeError(
          fmt::format("there is no way from host-{} to host-{}: leaf{} and leaf{} have no spine",
                      from, to, leaf, other));
    }
    const int each_up = spec.spine.shared ? 1 : 2;
    const int cable = to / spec.rails % cables_up(), up = each * terminals;
    return {first, up + each_up * (leaf * cables_up() + cable),
            up + each_up * (other * cables_up() + cable) + each_up - 1, last};
  }
};

}  // namespace

Fabric leaf_spine(const LeafSpineSpec& spec) {
  check(spec);
  const LeafSpine network = {spec};
  const int terminals = spec.leaves * spec.hosts_per_leaf;
  FabricBuilder builder(name_of(spec));
  builder.reserve(terminals + spec.leaves + std::int64_t{spec.spines},
                  terminals + saturating_product({spec.leaves, spec.spines, spec.uplinks}));
  for (int host = 0; host < terminals; ++host) builder.add_terminal(fmt::format("host-{}", host));
  for (int leaf = 0; leaf < spec.leaves; ++leaf) builder.add_node(fmt::format("leaf{}", leaf));
  for (int spine = 0; spine < spec.spines; ++spine) {
    builder.add_node(fmt::format("spine{}", spine));
  }
  for (int host = 0; host < terminals; ++host) {
    builder.add_cable(host, terminals + network.leaf_of(host), spec.host, "host");
  }
  for (int leaf = 0; leaf < spec.leaves; ++leaf) {
    for (int cable = 0; cable < network.cables_up(); ++cable) {
      builder.add_cable(terminals + leaf, terminals + spec.leaves + cable % spec.spines, spec.spine,
                        "spine");
    }
  }
  return std::move(builder).build([network](int from, int to) { return network.route(from, to); });
}

}  // namespace tutti
