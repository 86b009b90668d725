// The fabrics against closed forms.
#include "topologies/fabrics.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <functional>
#include <map>
#include <numeric>

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr LinkSpec cable = {10e9, 1e-6};
constexpr int billion = 1'000'000'000;

/// Links on the longest route.
int diameter(const Fabric& fabric) {
  std::size_t longest = 0;
  for (int from = 0; from < fabric.terminals; ++from) {
    for (int to = 0; to < fabric.terminals; ++to) {
      if (from != to) longest = std::max(longest, fabric.route(from, to).size());
    }
  }
  return static_cast<int>(longest);
}

int cables(const Fabric& fabric) {
  return static_cast<int>(fabric.links.size()) / 2;
}

int switches(const Fabric& fabric) {
  return static_cast<int>(fabric.nodes.size()) - fabric.terminals;
}

int cables_of(const Fabric& fabric, std::string_view link_class) {
  const auto count = std::count_if(fabric.links.begin(), fabric.links.end(),
                                   [&](const Link& link) { return link.link_class == link_class; });
  return static_cast<int>(count) / 2;
}

std::vector<std::string> names(const Fabric& fabric, int from, int to) {
  std::vector<std::string> result;
  for (const int link : fabric.route(from, to)) {
    result.push_back(fabric.links[static_cast<std::size_t>(link)].name);
  }
  return result;
}

/// What the error says; empty if there is none.
std::string refusal(const std::function<void()>& build) {
  try {
    build();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

/// Messages over each link that are not over a host's when host i sends to host (i + shift) mod n.
std::map<int, int> load_of_shift(const Fabric& fabric, int shift) {
  std::map<int, int> load;
  for (int from = 0; from < fabric.terminals; ++from) {
    const int to = (from + shift) % fabric.terminals;
    for (const int link : fabric.route(from, to)) ++load[link];
  }
  return load;
}

int largest_load(const std::map<int, int>& load) {
  int largest = 0;
  for (const auto& [link, messages] : load) largest = std::max(largest, messages);
  return largest;
}

Fabric grid_of(const std::vector<int>& dimensions, bool wraps) {
  return grid({.dimensions = dimensions, .wraps = wraps, .links = {cable}});
}

int product_of(const std::vector<int>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

TEST(Grid, ATorusHasTheDiameterAndTheCablesOfItsSizes) {
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{
           {1}, {2}, {3}, {8}, {9}, {4, 4}, {3, 5}, {4, 2, 3}, {4, 4, 4}, {3, 1, 2, 5}}) {
    const Fabric torus = grid_of(sizes, true);
    const int hosts = product_of(sizes);
    int longest = 0, expected = 0;
    for (const int size : sizes) {
      longest += size / 2;
      if (size > 1) expected += size == 2 ? hosts / 2 : hosts;
    }
    EXPECT_EQ(torus.terminals, hosts) << torus.name;
    EXPECT_EQ(diameter(torus), longest) << torus.name;
    EXPECT_EQ(cables(torus), expected) << torus.name;
    EXPECT_EQ(switches(torus), 0);
  }
}

TEST(Grid, AMeshHasTheDiameterAndTheCablesOfItsSizes) {
  for (const std::vector<int>& sizes :
       std::vector<std::vector<int>>{{1}, {2}, {7}, {4, 4}, {3, 5}, {4, 2, 3}, {4, 4, 4}}) {
    const Fabric mesh = grid_of(sizes, false);
    const int hosts = product_of(sizes);
    int longest = 0, expected = 0;
    for (const int size : sizes) {
      longest += size - 1;
      expected += hosts / size * (size - 1);
    }
    EXPECT_EQ(diameter(mesh), longest) << mesh.name;
    EXPECT_EQ(cables(mesh), expected) << mesh.name;
  }
}

TEST(Grid, AHypercubeOfNDimensionsHasDiameterNAndACableForEachBitOfEachTwoHosts) {
  for (int dimensions = 1; dimensions <= 7; ++dimensions) {
    const Fabric cube = grid_of(std::vector<int>(static_cast<std::size_t>(dimensions), 2), true);
    EXPECT_EQ(diameter(cube), dimensions);
    EXPECT_EQ(cables(cube), dimensions * (1 << dimensions) / 2);
    for (int to = 1; to < cube.terminals; ++to) {
      EXPECT_EQ(cube.route(0, to).size(), std::bitset<32>(static_cast<unsigned>(to)).count());
    }
  }
}

TEST(Grid, RoutesGoAlongTheFirstDimensionFirstTheShorterWayAround) {
  const Fabric torus = grid_of({4, 3}, true);
  EXPECT_THAT(names(torus, 0, 7), ElementsAre("host-0-host-3", "host-3-host-7"));
  EXPECT_THAT(names(torus, 7, 0), ElementsAre("host-7-host-4", "host-4-host-0"));
  EXPECT_THAT(names(torus, 3, 1), ElementsAre("host-3-host-0", "host-0-host-1"));
  EXPECT_THAT(names(torus, 1, 3), ElementsAre("host-1-host-2", "host-2-host-3"));
  EXPECT_THAT(names(torus, 0, 8), ElementsAre("host-0-host-8"));
}

TEST(Grid, EveryDimensionHasItsOwnLinks) {
  const LinkSpec fast = {40e9, 2e-6};
  const Fabric torus = grid({.dimensions = {4, 3}, .wraps = true, .links = {cable, fast}});
  EXPECT_EQ(torus.name, "torus(4x3, 10 GB/s, 1 us; 40 GB/s, 2 us)");
  for (const Link& link : torus.links) {
    EXPECT_EQ(link.bandwidth_bytes_per_second, link.link_class == "dimension-1" ? 10e9 : 40e9);
  }
}

TEST(FullyConnected, EveryTwoHostsHaveACable) {
  for (const int hosts : {1, 2, 3, 8, 17}) {
    const Fabric fabric = fully_connected({hosts, cable});
    EXPECT_EQ(cables(fabric), hosts * (hosts - 1) / 2);
    EXPECT_EQ(diameter(fabric), hosts > 1 ? 1 : 0);
  }
}

TEST(FatTree, TheTreeOfRadixKHasTheHostsSwitchesAndHopsOfTheBooks) {
  for (const int radix : {2, 4, 6, 8}) {
    const Fabric tree = fat_tree(k_ary_fat_tree(radix, 1, {cable}));
    const int half = radix / 2;
    EXPECT_EQ(tree.terminals, radix * half * half);
    EXPECT_EQ(switches(tree), 5 * half * half);
    EXPECT_EQ(cables(tree), 3 * tree.terminals);
    for (int to = 1; to < tree.terminals; ++to) {
      const std::size_t links = to < half ? 2 : to < half * half ? 4 : 6;
      EXPECT_EQ(tree.route(0, to).size(), links) << radix << ", " << to;
    }
  }
}

TEST(FatTree, ShiftsLoadEveryLinkOfAFullTreeOnce) {
  for (const FatTreeSpec& spec :
       {k_ary_fat_tree(4, 1, {cable}), k_ary_fat_tree(8, 1, {cable}),
        FatTreeSpec{{4, 4}, {1, 4}, {}, {cable}}, FatTreeSpec{{4, 4}, {1, 2}, {1, 2}, {cable}},
        FatTreeSpec{{6, 4}, {1, 3}, {1, 2}, {cable}}}) {
    const Fabric tree = fat_tree(spec);
    for (int shift = 1; shift < tree.terminals; ++shift) {
      EXPECT_EQ(largest_load(load_of_shift(tree, shift)), 1) << tree.name << ", shift " << shift;
    }
  }
}

TEST(FatTree, ShiftsSpreadEvenlyOverTheUplinksThatOversubscriptionLeaves) {
  for (const int oversubscription : {2, 4}) {
    const Fabric tree = fat_tree(k_ary_fat_tree(8, oversubscription, {cable}));
    EXPECT_EQ(cables_of(tree, "level-2") * oversubscription, tree.terminals);
    for (int shift = 16; shift < tree.terminals; shift += 16) {
      EXPECT_EQ(largest_load(load_of_shift(tree, shift)), oversubscription);
    }
  }
}

TEST(FatTree, EveryMessageToAHostComesDownTheSameWay) {
  const Fabric tree = fat_tree({{3, 3, 2}, {1, 2, 3}, {1, 1, 2}, {cable}});
  for (int to = 0; to < tree.terminals; ++to) {
    std::map<std::size_t, std::map<int, int>> by_place;  // From the end.
    for (int from = 0; from < tree.terminals; ++from) {
      if (from == to) continue;
      const Route route = tree.route(from, to);
      for (std::size_t place = 0; place < route.size() / 2; ++place) {
        ++by_place[place][route[route.size() - 1 - place]];
      }
    }
    for (const auto& [place, links] : by_place) EXPECT_EQ(links.size(), 1u) << to;
  }
}

TEST(FatTree, ALevelHasSwitchesCablesAndClassesOfItsOwn) {
  const LinkSpec fast = {40e9, 2e-6};
  const Fabric tree = fat_tree({{4, 3}, {1, 2}, {1, 5}, {cable, fast}});
  EXPECT_EQ(tree.name, "fat_tree(down 4x3, up 1x2, cables 1x5, 10 GB/s, 1 us; 40 GB/s, 2 us)");
  EXPECT_EQ(tree.terminals, 12);
  EXPECT_EQ(switches(tree), 3 + 2);
  EXPECT_EQ(cables_of(tree, "level-1"), 12);
  EXPECT_EQ(cables_of(tree, "level-2"), 3 * 2 * 5);
  EXPECT_EQ(names(tree, 0, 1).front(), "host-0-switch-1-0");
}

TEST(LeafSpine, HostsOfALeafAreTwoLinksApartAndOthersFour) {
  const Fabric fabric = leaf_spine({3, 2, 4, 1, 1, cable, cable});
  EXPECT_EQ(fabric.terminals, 12);
  EXPECT_EQ(switches(fabric), 5);
  EXPECT_EQ(cables_of(fabric, "host"), 12);
  EXPECT_EQ(cables_of(fabric, "spine"), 6);
  EXPECT_THAT(names(fabric, 0, 3), ElementsAre("host-0-leaf0", "leaf0-host-3"));
  EXPECT_THAT(names(fabric, 0, 5),
              ElementsAre("host-0-leaf0", "leaf0-spine1", "spine1-leaf1", "leaf1-host-5"));
}

TEST(LeafSpine, ShiftsSpreadEvenlyOverAllUplinks) {
  for (const int uplinks : {1, 2}) {
    const Fabric fabric = leaf_spine({4, 2, 8, uplinks, 1, cable, cable});
    for (int shift = 8; shift < 32; shift += 8) {
      EXPECT_EQ(largest_load(load_of_shift(fabric, shift)), 8 / (2 * uplinks));
    }
  }
}

TEST(LeafSpine, RailsOfAMachineAreAtLeavesOfTheirOwn) {
  const Fabric fabric = leaf_spine({8, 2, 3, 1, 4, cable, cable});
  EXPECT_EQ(fabric.terminals, 24);
  // Machine 1's third port and machine 2's; then that of machine 3, in the other pod.
  EXPECT_THAT(names(fabric, 6, 10), ElementsAre("host-6-leaf2", "leaf2-host-10"));
  EXPECT_THAT(names(fabric, 6, 14),
              ElementsAre("host-6-leaf2", "leaf2-spine1", "spine1-leaf6", "leaf6-host-14"));
}

TEST(LeafSpine, RailsSpreadOverAllUplinks) {
  const Fabric fabric = leaf_spine({8, 4, 4, 1, 4, cable, cable});
  EXPECT_EQ(largest_load(load_of_shift(fabric, 16)), 1);
}

TEST(LeafSpine, WithoutSpinesOtherLeavesAreOutOfReach) {
  const Fabric rails = leaf_spine({4, 0, 3, 1, 4, cable, {}});
  EXPECT_THAT(names(rails, 1, 9), ElementsAre("host-1-leaf1", "leaf1-host-9"));
  EXPECT_THAT(refusal([&] { rails.route(1, 8); }), HasSubstr("from host-1 to host-8"));
  EXPECT_THAT(refusal([&] { build_shape(rails); }), HasSubstr("from host-0 to host-1"));
}

TEST(Dragonfly, RoutesCrossAtMostThreeLinksBetweenRouters) {
  for (const DragonflySpec& spec : {DragonflySpec{9, 4, 2, 2, cable, cable, cable},
                                    DragonflySpec{5, 4, 1, 1, cable, cable, cable},
                                    DragonflySpec{6, 4, 1, 4, cable, cable, cable}}) {
    const Fabric fabric = dragonfly(spec);
    EXPECT_EQ(fabric.terminals, spec.groups * spec.routers * spec.hosts);
    EXPECT_EQ(diameter(fabric), 2 + 3) << fabric.name;
    for (int from = 0; from < fabric.terminals; ++from) {
      for (int to = 0; to < fabric.terminals; ++to) {
        if (from == to) continue;
        std::string classes;
        for (const int link : fabric.route(from, to)) {
          classes += fabric.links[static_cast<std::size_t>(link)].link_class.front();
        }
        const std::vector<std::string> all = {"hh", "hlh", "hgh", "hlgh", "hglh", "hlglh"};
        EXPECT_NE(std::find(all.begin(), all.end(), classes), all.end()) << classes;
      }
    }
  }
}

TEST(Dragonfly, TheBalancedOneHasOneCableBetweenAnyTwoGroupsAndUsesEveryPort) {
  for (const int half : {1, 2, 3}) {
    const int routers = 2 * half, groups = routers * half + 1;
    const Fabric fabric = dragonfly({groups, routers, half, half, cable, cable, cable});
    EXPECT_EQ(cables_of(fabric, "local"), groups * routers * (routers - 1) / 2);
    EXPECT_EQ(cables_of(fabric, "global"), groups * (groups - 1) / 2);
  }
}

/// Global cables by the pair of groups, and of each router.
struct GlobalCables {
  std::map<std::pair<int, int>, int> of_pair;
  std::map<int, int> of_router;
};

GlobalCables global_cables(const DragonflySpec& spec) {
  const Fabric fabric = dragonfly(spec);
  GlobalCables count;
  for (const Link& link : fabric.links) {
    if (link.link_class != "global") continue;
    const int from = link.from - fabric.terminals, to = link.to - fabric.terminals;
    ++count.of_router[from];
    ++count.of_pair[{from / spec.routers, to / spec.routers}];
  }
  return count;
}

TEST(Dragonfly, GlobalCablesAreSpreadEvenlyOverGroupsAndRouters) {
  for (int groups = 2; groups <= 11; ++groups) {
    for (const int global_links : {3, 4, 5}) {
      const DragonflySpec spec = {groups, 4, 1, global_links, cable, cable, cable};
      const GlobalCables count = global_cables(spec);
      EXPECT_EQ(count.of_pair.size(), static_cast<std::size_t>(groups * (groups - 1)));
      const int each = 4 * global_links / (groups - 1);
      for (const auto& [pair, number] : count.of_pair) {
        EXPECT_NE(pair.first, pair.second);
        EXPECT_GE(number, each) << groups << ", " << global_links;
        EXPECT_LE(number, each + 1) << groups << ", " << global_links;
      }
      int used = 0;
      for (const auto& [router, number] : count.of_router) {
        EXPECT_LE(number, global_links);
        used += number;
      }
      const bool odd = 4 * global_links % (groups - 1) % 2 == 1 && groups % 2 == 1;
      EXPECT_EQ(used, groups * (4 * global_links - (odd ? 1 : 0)));
    }
  }
}

TEST(Dragonfly, MessagesBetweenTwoGroupsUseAllCablesBetweenThem) {
  const Fabric fabric = dragonfly({2, 4, 2, 2, cable, cable, cable});
  std::map<int, int> load;
  for (int from = 0; from < 8; ++from) {
    for (const int link : fabric.route(from, from + 8)) {
      if (fabric.links[static_cast<std::size_t>(link)].link_class == "global") ++load[link];
    }
  }
  EXPECT_EQ(load.size(), 8u);
}

TEST(Product, DimensionsAreCrossedInOrderEachByItsNetwork) {
  using Kind = ProductDimension::Kind;
  const Fabric fabric = product({{Kind::ring, 4, cable},
                                 {Kind::fully_connected, 3, cable},
                                 {Kind::switched, 2, {20e9, 4e-6}}});
  EXPECT_EQ(fabric.name,
            "product(ring 4 x fully_connected 3 x switch 2, 10 GB/s, 1 us; 20 GB/s, 4 us)");
  EXPECT_EQ(fabric.terminals, 24);
  EXPECT_EQ(cables_of(fabric, "dimension-1"), 24);
  EXPECT_EQ(cables_of(fabric, "dimension-2"), 24);
  EXPECT_EQ(cables_of(fabric, "dimension-3"), 24);
  EXPECT_EQ(switches(fabric), 12);
  EXPECT_EQ(diameter(fabric), 2 + 1 + 2);
  EXPECT_THAT(names(fabric, 0, 2 + 4 + 12),
              ElementsAre("host-0-host-1", "host-1-host-2", "host-2-host-6", "host-6-switch-3-6",
                          "switch-3-6-host-18"));
  const Shape shape = build_shape(fabric);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 12), 4e-6);
}

TEST(Product, OfRingsIsATorus) {
  using Kind = ProductDimension::Kind;
  const Fabric rings = product({{Kind::ring, 4, cable}, {Kind::ring, 5, cable}});
  const Fabric torus = grid_of({4, 5}, true);
  for (int from = 0; from < 20; ++from) {
    for (int to = 0; to < 20; ++to) EXPECT_EQ(rings.route(from, to), torus.route(from, to));
  }
}

TEST(Fabrics, WhatCannotBeBuiltIsRefusedWithTheFigure) {
  using Kind = ProductDimension::Kind;
  const std::vector<LinkSpec> links = {cable};
  EXPECT_EQ(refusal([&] { k_ary_fat_tree(3, 1, links); }), "'radix' is 3, must be even");
  EXPECT_THAT(refusal([&] { k_ary_fat_tree(0, 1, links); }), HasSubstr("'radix' is 0"));
  EXPECT_THAT(refusal([&] { k_ary_fat_tree(8, 3, links); }), HasSubstr("'oversubscription' is 3"));
  EXPECT_THAT(refusal([&] { fat_tree({{4, 4}, {1}, {}, links}); }), HasSubstr("'up' has 1 entr"));
  EXPECT_THAT(refusal([&] { fat_tree({{4, 0}, {1, 1}, {}, links}); }), HasSubstr("'down' is 0"));
  EXPECT_THAT(refusal([&] { fat_tree({{}, {}, {}, links}); }), HasSubstr("'down' has 0 entries"));
  EXPECT_THAT(refusal([&] {
                fat_tree({{2, 2, 2}, {1, 1, 1}, {}, {cable, cable}});
              }),
              HasSubstr("'links' has 2 entries, expected 1 or 3"));
  EXPECT_THAT(refusal([&] { grid_of({4, 0}, true); }), HasSubstr("'dimensions' is 0"));
  EXPECT_THAT(refusal([&] { product({{Kind::ring, 0, cable}}); }), HasSubstr("'size' is 0"));
  EXPECT_THAT(refusal([&] { grid_of({}, true); }), HasSubstr("'dimensions' has 0 entries"));
  EXPECT_THAT(refusal([&] { product({{Kind::ring, 4, {}}}); }), HasSubstr("the bandwidth is 0"));
  EXPECT_THAT(refusal([&] { fully_connected({0, cable}); }), HasSubstr("'hosts' is 0"));
  EXPECT_THAT(refusal([&] { leaf_spine({0, 1, 1, 1, 1, cable, cable}); }), HasSubstr("'leaves'"));
  EXPECT_THAT(refusal([&] {
                leaf_spine({6, 1, 1, 1, 4, cable, cable});
              }),
              HasSubstr("'leaves' is 6, expected a multiple of the 4 'rails'"));
  EXPECT_THAT(refusal([&] { leaf_spine({4, 1, 1, 1, 1, cable, {}}); }), HasSubstr("links.spine"));
  EXPECT_THAT(refusal([&] {
                dragonfly({9, 4, 2, 1, cable, cable, cable});
              }),
              HasSubstr("'global_links' is 1: 4 routers reach 4 other groups, expected 8"));
  EXPECT_THAT(refusal([&] { machine({.devices = 4, .nics = 65}); }), HasSubstr("'nics' is 65"));
  EXPECT_THAT(refusal([&] { machine({.devices = 4}); }), HasSubstr("links.device: the bandwidth"));
}

TEST(Fabrics, HugeFiguresAreRefusedBeforeAnythingIsBuilt) {
  const std::vector<std::function<void()>> builds = {
      [] {
        star({billion, cable});
      },
      [] {
        fully_connected({maximum_hosts, cable});
      },
      [] {
        grid_of({billion, billion}, true);
      },
      [] { grid_of(std::vector<int>(1000, 1 << 20), true); },
      [] { grid_of(std::vector<int>(20, 1 << 20), false); },
      [] { k_ary_fat_tree(billion, 1, {cable}); },
      [] {
        fat_tree({{maximum_hosts, 1}, {8, maximum_hosts}, {}, {cable}});
      },
      [] {
        fat_tree({{billion, billion}, {1, billion}, {billion, billion}, {cable}});
      },
      [] {
        const std::vector<int> largest(20, maximum_hosts);
        fat_tree({std::vector<int>(20, 1), largest, largest, {cable}});
      },
      [] {
        leaf_spine({billion, billion, billion, billion, billion, cable, cable});
      },
      [] {
        leaf_spine({maximum_hosts, maximum_hosts, 1, maximum_hosts, 1, cable, cable});
      },
      [] {
        dragonfly({billion, billion, billion, billion, cable, cable, cable});
      },
      [] {
        dragonfly({1, maximum_hosts, 1, maximum_hosts, cable, cable, cable});
      },
      [] {
        dragonfly({2, 1, 1, maximum_hosts * 8, cable, cable, cable});
      },
      [] {
        product({{ProductDimension::Kind::fully_connected, maximum_hosts, cable}});
      },
      [] { machine({.devices = billion, .device = cable}); },
      [] {
        compose(star({maximum_hosts, cable}), machine({4, 1, 0, {}, cable, cable}));
      },
      [] {
        compose(star({1 << 17, cable}),
                machine({8, 1, 4, MachineSpec::Interconnect::mesh, cable, cable}));
      }};
  for (std::size_t index = 0; index < builds.size(); ++index) {
    EXPECT_NE(refusal(builds[index]), "") << index;
  }
}

}  // namespace
}  // namespace tutti
