#include "topologies/analysis.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topologies/edits.hpp"
#include "topologies/fabrics.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

constexpr LinkSpec cable{.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-6};

Shape torus(std::vector<int> dimensions) {
  return build_shape(grid({.dimensions = std::move(dimensions), .links = {cable}}));
}

TEST(Summary, AStarHasFullBisectionBandwidth) {
  const ShapeSummary summary = summarise(build_shape(star({8, cable})));
  EXPECT_EQ(summary.hosts, 8);
  EXPECT_EQ(summary.machines, 8);
  EXPECT_EQ(summary.switches, 1);
  EXPECT_EQ(summary.diameter_links, 2);
  EXPECT_DOUBLE_EQ(summary.mean_links, 2.0);
  EXPECT_DOUBLE_EQ(summary.largest_latency_seconds, 1e-6);
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 4 * 10e9);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 1.0);
  EXPECT_EQ(summary.path_diversity, 1);
  ASSERT_EQ(summary.classes.size(), 1u);
  EXPECT_EQ(summary.classes[0].link_class, "host");
  EXPECT_EQ(summary.classes[0].cables, 8);
}

TEST(Summary, ATorusIsBisectedAcrossItsLongestDimension) {
  // Diameter: the sum of half of each dimension. Bisection: two cuts of the other dimensions' area.
  const ShapeSummary cube = summarise(torus({4, 4, 4}));
  EXPECT_EQ(cube.diameter_links, 6);
  EXPECT_DOUBLE_EQ(cube.bisection_bytes_per_second, 2 * 16 * 10e9);
  for (const std::vector<int>& dimensions : {std::vector{8, 4}, {4, 8}, {2, 8, 2}, {8, 2, 4}}) {
    int area = 1;
    for (const int size : dimensions) area *= size;
    EXPECT_DOUBLE_EQ(summarise(torus(dimensions)).bisection_bytes_per_second, 2 * area / 8 * 10e9);
  }
  EXPECT_FALSE(cube.oversubscription.has_value());
  EXPECT_EQ(cube.path_diversity, 6);
}

TEST(Summary, AMeshHasHalfOfATorus) {
  const Shape mesh =
      build_shape(grid({.dimensions = {4, 6}, .wraps = false, .links = {cable}, .kind = "mesh"}));
  EXPECT_EQ(summarise(mesh).diameter_links, 3 + 5);
  EXPECT_DOUBLE_EQ(summarise(mesh).bisection_bytes_per_second, 4 * 10e9);
  EXPECT_EQ(summarise(mesh).path_diversity, 2);
}

TEST(Summary, AHypercubeHasHalfOfItsHostsLinksAcross) {
  const Shape cube =
      build_shape(grid({.dimensions = {2, 2, 2, 2}, .links = {cable}, .kind = "hypercube"}));
  EXPECT_EQ(summarise(cube).diameter_links, 4);
  EXPECT_DOUBLE_EQ(summarise(cube).bisection_bytes_per_second, 8 * 10e9);
  EXPECT_EQ(summarise(cube).path_diversity, 4);
}

TEST(Summary, AFatTreeOfSwitchesHasFullBisectionAndAllPathsOfItsCore) {
  for (const int radix : {4, 6, 8}) {
    const ShapeSummary summary =
        summarise(build_shape(fat_tree(k_ary_fat_tree(radix, 1, {cable}))));
    const int hosts = radix * radix * radix / 4;
    EXPECT_EQ(summary.hosts, hosts);
    EXPECT_EQ(summary.diameter_links, 6);
    EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, hosts / 2 * 10e9);
    EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 1.0);
    EXPECT_EQ(summary.path_diversity, radix / 2);
  }
  EXPECT_DOUBLE_EQ(
      summarise(build_shape(fat_tree(k_ary_fat_tree(8, 4, {cable})))).oversubscription.value(),
      4.0);
}

TEST(Summary, LeavesWithFewUplinksAreOversubscribed) {
  const LeafSpineSpec spec{
      .leaves = 4, .spines = 2, .hosts_per_leaf = 8, .host = cable, .spine = cable};
  const ShapeSummary summary = summarise(build_shape(leaf_spine(spec)));
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2 * 2 * 10e9);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 4.0);
  EXPECT_EQ(summary.path_diversity, 2);
}

TEST(Summary, MachinesAreNotCutInTwo) {
  const MachineSpec box{.devices = 4,
                        .nics = 1,
                        .device = {.bandwidth_bytes_per_second = 100e9},
                        .pcie = {.bandwidth_bytes_per_second = 50e9}};
  const ShapeSummary summary = summarise(build_shape(compose(star({4, cable}), machine(box))));
  EXPECT_EQ(summary.hosts, 16);
  EXPECT_EQ(summary.machines, 4);
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2 * 10e9);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 1.0);
}

TEST(Summary, EachRailOfAMachineIsARouteOfItsOwn) {
  const MachineSpec box{.devices = 4,
                        .nics = 4,
                        .device = {.bandwidth_bytes_per_second = 100e9},
                        .pcie = {.bandwidth_bytes_per_second = 50e9}};
  const LeafSpineSpec rails{
      .leaves = 4, .spines = 2, .hosts_per_leaf = 2, .rails = 4, .host = cable, .spine = cable};
  EXPECT_EQ(summarise(build_shape(compose(leaf_spine(rails), machine(box)))).path_diversity, 4);
}

TEST(Summary, FullyConnectedHostsHaveAsManyRoutesAsCables) {
  const ShapeSummary summary = summarise(build_shape(fully_connected({5, cable})));
  EXPECT_EQ(summary.path_diversity, 4);
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2 * 3 * 10e9);
}

TEST(Summary, AFailedSpineIsMissed) {
  Shape shape = build_shape(
      leaf_spine({.leaves = 4, .spines = 2, .hosts_per_leaf = 2, .host = cable, .spine = cable}));
  apply_failures(shape, {"node:" + shape.nodes.back().name});
  const ShapeSummary summary = summarise(shape);
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2 * 10e9);
  EXPECT_DOUBLE_EQ(summary.oversubscription.value(), 2.0);
  EXPECT_EQ(summary.path_diversity, 1);
}

TEST(Summary, ALargeShapeIsSampled) {
  const ShapeSummary summary = summarise(build_shape(star({5000, cable})));
  EXPECT_TRUE(summary.sampled);
  EXPECT_EQ(summary.diameter_links, 2);
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2500 * 10e9);
}

TEST(Summary, OneHostHasNoRoutes) {
  const ShapeSummary summary = summarise(build_shape(star({1, cable})));
  EXPECT_EQ(summary.diameter_links, 0);
  EXPECT_EQ(summary.path_diversity, 0);
}

/// Hosts with cables of these GB/s to one switch.
Shape star_of_cables(const std::vector<int>& gigabytes_per_second) {
  std::string nodes = "{name: s, kind: switch}", links;
  for (std::size_t host = 0; host < gigabytes_per_second.size(); ++host) {
    nodes += ", h" + std::to_string(host);
    links += "  - {between: [h" + std::to_string(host) +
             ", s], latency: 1us, bandwidth: " + std::to_string(gigabytes_per_second[host]) +
             "GBps}\n";
  }
  return parse_shape("shape: graph\nnodes: [" + nodes + "]\nlinks:\n" + links, "test");
}

TEST(Summary, TheBisectionOfUnequalCablesIsThatOfTheNarrowestHalf) {
  for (const auto& cables : {std::vector{1, 10, 10, 1}, {10, 1, 1, 10, 10}}) {
    EXPECT_DOUBLE_EQ(summarise(star_of_cables(cables)).bisection_bytes_per_second, 2e9);
  }
  // More than are tried one by one.
  std::vector<int> cables(20, 10);
  for (std::size_t host = 0; host < cables.size(); host += 2) cables[host] = 1;
  EXPECT_DOUBLE_EQ(summarise(star_of_cables(cables)).bisection_bytes_per_second, 10e9);
}

TEST(Summary, WhatHasFailedIsNotCounted) {
  Shape shape = star_of_cables({1, 1, 1});
  EXPECT_EQ(summarise(shape).switches, 1);
  EXPECT_EQ(summarise(shape).classes.front().cables, 3);
  for (Link& link : shape.links) link.failed = true;
  shape.route = [](int, int) { return Route{}; };
  EXPECT_EQ(summarise(shape).switches, 0);
  EXPECT_TRUE(summarise(shape).classes.empty());
}

// The mean of all routes of so long a ring would take minutes.
TEST(Summary, AVeryLongRingIsSampledAndHasItsDiameter) {
  const ShapeSummary summary = summarise(torus({100'000}));
  EXPECT_TRUE(summary.sampled);
  EXPECT_EQ(summary.diameter_links, 50'000);
  EXPECT_NEAR(summary.mean_links, 25'000, 1'000);  // An even sample of some 4,000 of them.
  EXPECT_DOUBLE_EQ(summary.bisection_bytes_per_second, 2 * 10e9);
}

}  // namespace
}  // namespace tutti
