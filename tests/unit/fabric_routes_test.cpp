// What holds for the routes of every fabric, checked for all pairs of many small ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

constexpr LinkSpec cable = {10e9, 1e-6};
constexpr LinkSpec bus = {10e9, 1e-6, 0.0, true};

struct Case {
  Fabric fabric;
  bool hosts_forward = false;
};

GridSpec grid_of(std::vector<int> dimensions, bool wraps, LinkSpec link = cable) {
  return {.dimensions = std::move(dimensions), .wraps = wraps, .links = {link}, .kind = "grid"};
}

std::vector<Case> switched_cases() {
  std::vector<Case> cases;
  for (const LinkSpec& link : {cable, bus}) {
    for (const int hosts : {1, 2, 7}) {
      cases.push_back({star({hosts, link})});
      cases.push_back({fully_connected({hosts, link})});
    }
    cases.push_back({fat_tree({{3}, {1}, {}, {link}})});
    cases.push_back({fat_tree({{4, 3}, {1, 2}, {}, {link}})});
    cases.push_back({fat_tree({{4, 3}, {2, 3}, {2, 2}, {link, cable}})});
    cases.push_back({fat_tree({{2, 3, 2}, {1, 2, 3}, {1, 2, 1}, {link, bus, cable}})});
    cases.push_back({fat_tree({{1, 4, 1}, {1, 1, 2}, {}, {link}})});
    cases.push_back({fat_tree(k_ary_fat_tree(4, 1, {link}))});
    cases.push_back({fat_tree(k_ary_fat_tree(4, 2, {link}))});
    for (const int uplinks : {1, 3}) {
      cases.push_back({leaf_spine({3, 2, 4, uplinks, 1, link, cable})});
      cases.push_back({leaf_spine({4, 3, 2, uplinks, 2, cable, link})});
    }
    cases.push_back({leaf_spine({1, 0, 5, 1, 1, link, {}})});
    for (const int groups : {1, 2, 3, 4, 5, 6, 9}) {
      for (const int global_links : {2, 3}) {
        cases.push_back({dragonfly({groups, 4, 2, global_links, link, bus, cable})});
        cases.push_back({dragonfly({groups, 4, 1, global_links, cable, cable, link})});
      }
    }
    cases.push_back({dragonfly({4, 1, 3, 5, link, link, link})});
  }
  return cases;
}

std::vector<Case> grid_cases() {
  std::vector<Case> cases;
  for (const LinkSpec& link : {cable, bus}) {
    for (const bool wraps : {true, false}) {
      for (const std::vector<int>& dimensions : std::vector<std::vector<int>>{
               {1}, {2}, {3}, {8}, {4, 4}, {5, 2, 3}, {1, 6, 1}, {2, 2, 2, 2}, {7, 3}}) {
        cases.push_back({grid(grid_of(dimensions, wraps, link)), true});
      }
    }
    using Kind = ProductDimension::Kind;
    cases.push_back({product({{Kind::switched, 4, link}, {Kind::switched, 3, cable}}), true});
    cases.push_back({product({{Kind::fully_connected, 4, cable}, {Kind::ring, 5, link}}), true});
    cases.push_back({product({{Kind::ring, 2, link},
                              {Kind::fully_connected, 3, bus},
                              {Kind::switched, 2, cable},
                              {Kind::line, 3, link},
                              {Kind::switched, 1, link}}),
                     true});
  }
  return cases;
}

std::vector<Case> machines() {
  using Interconnect = MachineSpec::Interconnect;
  std::vector<Case> result;
  for (const Interconnect interconnect :
       {Interconnect::switched, Interconnect::mesh, Interconnect::ring, Interconnect::pcie}) {
    for (const int pcie_switches : {0, 2}) {
      for (const int nics : {1, 2, 4}) {
        for (const bool leaves_by_destination : {false, true}) {
          result.push_back(
              {machine({4, nics, pcie_switches, interconnect, cable, bus, leaves_by_destination}),
               interconnect == Interconnect::ring});
        }
      }
    }
  }
  return result;
}

std::vector<Case> composed_cases() {
  std::vector<Case> cases;
  for (const Case& test : machines()) {
    cases.push_back(test);
    const Fabric& inner = test.fabric;
    const auto add = [&](const Fabric& outer) {
      cases.push_back({compose(outer, inner), test.hosts_forward || inner.leaves_by_destination});
    };
    const int gateways = static_cast<int>(inner.gateways.size());
    add(star({2 * gateways, cable}));
    add(leaf_spine({gateways, 2, 3, 1, gateways, cable, cable}));
    add(grid(grid_of({4, 2}, true)));
    add(dragonfly({3, 2, 2, 1, cable, cable, cable}));
    if (inner.leaves_by_destination) add(leaf_spine({gateways, 0, 3, 1, gateways, cable, {}}));
  }
  return cases;
}

/// A connected graph with as many hosts as switches, parallel, shared and one-way cables.
GraphSpec random_graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  GraphSpec spec;
  for (std::size_t node = 0; node < 16; ++node) {
    spec.nodes.push_back({fmt::format("n{}", node), node % 2 == 0});
    if (node == 0) continue;
    spec.cables.push_back(
        {spec.nodes[below(node)].name, spec.nodes[node].name, below(2) == 0 ? cable : bus});
  }
  for (int extra = 0; extra < 12; ++extra) {
    const std::size_t from = below(16), to = (from + 1 + below(15)) % 16;
    spec.cables.push_back({spec.nodes[from].name,
                           spec.nodes[to].name,
                           {10e9, 1e-6 * static_cast<double>(below(5))},
                           "link",
                           below(3) == 0});
  }
  spec.metric = below(2) == 0 ? Metric::hops : Metric::latency;
  spec.gateways = {"n1", "n2"};
  return spec;
}

std::vector<Case> graph_cases() {
  std::vector<Case> cases;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Fabric fabric = graph(random_graph(seed));
    fabric.name += fmt::format(" of seed {}", seed);
    cases.push_back({compose(star({6, cable}), fabric), true});
    cases.push_back({std::move(fabric), true});
  }
  return cases;
}

/// Where a link that is crossed from `node` leads; -1 if it does not begin there.
int end_of(const Link& link, int index, int node) {
  if (link.from == node) return link.to;
  return link.is_shared(index) && link.to == node ? link.from : -1;
}

void expect_route(const Case& test, int from, int to) {
  int node = from;
  std::set<int> crossed;
  for (const int index : test.fabric.route(from, to)) {
    ASSERT_GE(index, 0);
    ASSERT_LT(index, static_cast<int>(test.fabric.links.size()));
    const bool forwards =
        test.fabric.nodes[static_cast<std::size_t>(node)].kind == Node::Kind::host && node != from;
    ASSERT_TRUE(test.hosts_forward || !forwards)
        << test.fabric.name << ": " << from << " to " << to << " crosses host " << node;
    ASSERT_TRUE(crossed.insert(index).second) << test.fabric.name << ": twice over one link";
    node = end_of(test.fabric.links[static_cast<std::size_t>(index)], index, node);
    ASSERT_GE(node, 0) << test.fabric.name << ": " << from << " to " << to << " is broken";
  }
  ASSERT_EQ(node, to) << test.fabric.name;
}

void expect_routes(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    for (int from = 0; from < test.fabric.terminals; ++from) {
      for (int to = 0; to < test.fabric.terminals; ++to) {
        if (from == to) continue;
        expect_route(test, from, to);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(FabricRoutes, AreChainsOfLinksThatCrossNoHostWhereThereAreSwitches) {
  expect_routes(switched_cases());
}

TEST(FabricRoutes, AreChainsOfLinksInGridsAndProducts) {
  expect_routes(grid_cases());
}

TEST(FabricRoutes, AreChainsOfLinksInMachinesAndCompositions) {
  expect_routes(composed_cases());
}

TEST(FabricRoutes, AreChainsOfLinksInRandomGraphs) {
  expect_routes(graph_cases());
}

TEST(FabricRoutes, AreAsShortAsAnyWhereThatIsPromised) {
  std::vector<Fabric> fabrics;
  for (const bool wraps : {true, false}) {
    fabrics.push_back(grid(grid_of({5, 2, 4}, wraps)));
    fabrics.push_back(grid(grid_of({9}, wraps)));
  }
  fabrics.push_back(star({5, cable}));
  fabrics.push_back(fully_connected({5, bus}));
  fabrics.push_back(fat_tree({{2, 3, 2}, {1, 2, 3}, {1, 2, 1}, {cable}}));
  fabrics.push_back(fat_tree(k_ary_fat_tree(6, 3, {cable})));
  fabrics.push_back(leaf_spine({4, 3, 3, 2, 2, cable, cable}));
  for (const Fabric& fabric : fabrics) {
    const RouteFunction shortest = shortest_routes(fabric.nodes, fabric.links);
    for (int from = 0; from < fabric.terminals; ++from) {
      for (int to = 0; to < fabric.terminals; ++to) {
        if (from == to) continue;
        ASSERT_EQ(fabric.route(from, to).size(), shortest(from, to).size())
            << fabric.name << ": " << from << " to " << to;
      }
    }
  }
}

TEST(FabricRoutes, AreTheSameEachTime) {
  for (const Case& test : composed_cases()) {
    const Route first = test.fabric.route(0, test.fabric.terminals - 1);
    test.fabric.route(1, 0);
    ASSERT_EQ(test.fabric.route(0, test.fabric.terminals - 1), first) << test.fabric.name;
  }
}

TEST(FabricRoutes, NamesAndDirectionsOfAllPartsAreConsistent) {
  for (const std::vector<Case>& cases :
       {switched_cases(), grid_cases(), composed_cases(), graph_cases()}) {
    for (const Case& test : cases) {
      const Fabric& fabric = test.fabric;
      std::set<std::string> names;
      for (const Node& node : fabric.nodes) names.insert(node.name);
      ASSERT_EQ(names.size(), fabric.nodes.size()) << fabric.name;
      names.clear();
      for (std::size_t index = 0; index < fabric.links.size(); ++index) {
        const Link& link = fabric.links[index];
        names.insert(link.name);
        if (link.opposite < 0) continue;
        const Link& opposite = fabric.links[static_cast<std::size_t>(link.opposite)];
        ASSERT_EQ(opposite.opposite, static_cast<int>(index)) << fabric.name << ": " << link.name;
        if (link.is_shared(static_cast<int>(index))) continue;
        ASSERT_EQ(opposite.from, link.to) << fabric.name << ": " << link.name;
        ASSERT_EQ(opposite.to, link.from) << fabric.name << ": " << link.name;
      }
      ASSERT_EQ(names.size(), fabric.links.size()) << fabric.name;
    }
  }
}

}  // namespace
}  // namespace tutti
