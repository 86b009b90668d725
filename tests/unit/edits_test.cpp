#include "topologies/edits.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "topologies/load.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* leaf_spine =
    "shape: leaf_spine\nleaves: 2\nspines: 2\nhosts_per_leaf: 2\nlinks:\n"
    "  host: {bandwidth: 10GBps, latency: 1us}\n  spine: {bandwidth: 20GBps, latency: 2us}\n"
    "host: {reduction: 8GBps, send_overhead: 1us, receive_overhead: 2us}\n";

constexpr const char* ring = "shape: ring\nhosts: 5\nbandwidth: 10GBps\nlatency: 1us\n";

Shape load(const char* text, const std::vector<std::string>& settings = {},
           const std::vector<std::string>& failures = {}) {
  return parse_shape(text, "FILE", settings, failures);
}

std::string refusal(const char* text, const std::vector<std::string>& settings,
                    const std::vector<std::string>& failures = {}) {
  try {
    load(text, settings, failures);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

const Link& link_named(const Shape& shape, const std::string& name) {
  const auto found = std::find_if(shape.links.begin(), shape.links.end(),
                                  [&](const Link& link) { return link.name == name; });
  if (found == shape.links.end()) throw ShapeError("no link " + name);
  return *found;
}

std::vector<std::string> names_of(const Shape& shape, int from, int to) {
  std::vector<std::string> names;
  for (const int link : shape.route(from, to)) {
    names.push_back(shape.links[static_cast<std::size_t>(link)].name);
  }
  return names;
}

TEST(Edits, APercentageOrFactorScalesAllLinksOfAClass) {
  for (const char* half : {"50%", "0.5x"}) {
    const Shape shape = load(leaf_spine, {std::string("links.spine.bandwidth=") + half});
    EXPECT_EQ(link_named(shape, "leaf0-spine1").bandwidth_bytes_per_second, 10e9);
    EXPECT_EQ(link_named(shape, "spine1-leaf0").bandwidth_bytes_per_second, 10e9);
    EXPECT_EQ(link_named(shape, "host-0-leaf0").bandwidth_bytes_per_second, 10e9);
  }
  const Shape slower = load(leaf_spine, {"links.host.latency=3x"});
  EXPECT_EQ(link_named(slower, "leaf1-host-3").latency_seconds, 3 * 1e-6);
}

TEST(Edits, AValueForAClassIsTheSameAsTheKeyOfTheFile) {
  const Shape set = load(leaf_spine, {"links.spine.latency=7us", "links.spine.bandwidth=5GBps"});
  Shape edited = load(leaf_spine);
  apply_edit(edited, "links.spine.latency=7us");
  apply_edit(edited, "links.spine.bandwidth=5GBps");
  ASSERT_EQ(set.links.size(), edited.links.size());
  for (std::size_t i = 0; i < set.links.size(); ++i) {
    EXPECT_EQ(set.links[i].latency_seconds, edited.links[i].latency_seconds);
    EXPECT_EQ(set.links[i].bandwidth_bytes_per_second, edited.links[i].bandwidth_bytes_per_second);
  }
}

TEST(Edits, AKeyOfAFileKeepsItsMeaning) {
  // From device to device, over two links of half the latency.
  const Shape shape = load(
      "shape: machine\ndevices: 4\ninterconnect: switch\nlinks:\n  device: {bandwidth: 1GBps, "
      "latency: 1us}\n  pcie: {bandwidth: 1GBps, latency: 1us}\n",
      {"links.device.latency=4us"});
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 1), 4e-6);
}

TEST(Edits, EditsAreAppliedInOrder) {
  const Shape shape =
      load(leaf_spine, {"links.spine.bandwidth=50%", "links[leaf0-spine0].bandwidth=30GBps",
                        "links[leaf0-spine0].bandwidth=0.1x"});
  EXPECT_EQ(link_named(shape, "leaf0-spine0").bandwidth_bytes_per_second, 3e9);
  EXPECT_EQ(link_named(shape, "leaf0-spine1").bandwidth_bytes_per_second, 10e9);
}

TEST(Edits, ANamedCableIsChangedInBothDirections) {
  const Shape shape = load(leaf_spine, {"links[spine0-leaf1].latency=9us"});
  EXPECT_EQ(link_named(shape, "spine0-leaf1").latency_seconds, 9e-6);
  EXPECT_EQ(link_named(shape, "leaf1-spine0").latency_seconds, 9e-6);
  EXPECT_EQ(link_named(shape, "leaf1-spine1").latency_seconds, 2e-6);
}

TEST(Edits, APatternChangesEachCableOnce) {
  const Shape shape = load(leaf_spine, {"links.leaf1-*.bandwidth=50%"});
  EXPECT_EQ(link_named(shape, "leaf1-spine0").bandwidth_bytes_per_second, 10e9);
  EXPECT_EQ(link_named(shape, "spine0-leaf1").bandwidth_bytes_per_second, 10e9);
  EXPECT_EQ(link_named(shape, "host-2-leaf1").bandwidth_bytes_per_second, 5e9);
  EXPECT_EQ(link_named(shape, "leaf0-spine0").bandwidth_bytes_per_second, 20e9);
  const Shape slow =
      load(leaf_spine, {"links.spine.overhead=2us", "links[leaf0-spine0].overhead=2x"});
  EXPECT_EQ(link_named(slow, "leaf0-spine0").overhead_seconds, 4e-6);
  EXPECT_EQ(link_named(slow, "leaf1-spine0").overhead_seconds, 2e-6);
  const Shape all = load(leaf_spine, {"links[*spine*].bandwidth=50%"});
  EXPECT_EQ(link_named(all, "leaf1-spine0").bandwidth_bytes_per_second, 10e9);
}

TEST(Edits, HostsAreChangedByNumberRangeOrAll) {
  const Shape shape = load(leaf_spine, {"host[3].speed=0.5x", "host[0-1].reduction=25%",
                                        "host[*].send_overhead=3us", "host[2].cores=4"});
  EXPECT_EQ(shape.hosts[3].speed, 0.5);
  EXPECT_EQ(shape.hosts[2].speed, 1.0);
  EXPECT_EQ(shape.hosts[1].reduction_bytes_per_second.value(), 2e9);
  EXPECT_EQ(shape.hosts[2].reduction_bytes_per_second.value(), 8e9);
  for (const Host& host : shape.hosts) EXPECT_EQ(host.send_overhead_seconds, 3e-6);
  EXPECT_EQ(shape.hosts[2].cores, 4);
  EXPECT_EQ(shape.size(), 4);
  EXPECT_FALSE(load(leaf_spine, {"host[0].reduction=free"}).hosts[0].reduction_bytes_per_second);
  EXPECT_EQ(load(leaf_spine, {"host[0].speed=2"}).hosts[0].speed, 2.0);
  EXPECT_EQ(load(leaf_spine, {"host[0].receive_overhead=2x"}).hosts[0].receive_overhead_seconds,
            4e-6);
}

TEST(Edits, WhatNamesNothingIsRefusedWithTheNearest) {
  EXPECT_EQ(refusal(leaf_spine, {"links.spin.bandwidth=50%"}),
            "--set links.spin.bandwidth=50%: no class of links is named 'spin', the nearest valid "
            "one is 'spine' (all: host, spine)");
  EXPECT_THAT(refusal(leaf_spine, {"links[leaf0-spine7].bandwidth=50%"}),
              AllOf(StartsWith("--set links[leaf0-spine7].bandwidth=50%: no link is named"),
                    HasSubstr("nearest valid one is 'leaf0-spine0'")));
  EXPECT_THAT(refusal(leaf_spine, {"links.spine.bandwith=50%"}),
              AllOf(StartsWith("--set links.spine.bandwith=50%: unknown attribute"),
                    HasSubstr("'bandwidth'")));
  EXPECT_EQ(refusal(leaf_spine, {"host[4].speed=0.5x"}),
            "--set host[4].speed=0.5x: '4' is not a whole number from 0 to 3");
  EXPECT_THAT(refusal(leaf_spine, {"host[3-1].speed=0.5x"}), HasSubstr("from 3 to 3"));
  EXPECT_THAT(refusal(leaf_spine, {"host[0].sped=0.5x"}), HasSubstr("'speed'"));
}

TEST(Edits, ValuesThatCannotBeUnderstoodAreRefused) {
  for (const char* setting : {"links[leaf0-spine0].bandwidth=",
                              "links.host.bandwidth=0%",
                              "links.host.bandwidth=-50%",
                              "links[leaf0-spine0].bandwidth=5",
                              "links.host.latency=5",
                              "links.host.bandwidth=1e308x",
                              "links.host",
                              "links.host=3",
                              "links[",
                              "links[a",
                              "links[a]=3",
                              "links.=5us",
                              "host[",
                              "host[]=1",
                              "host[0]",
                              "host[0].speed",
                              "host[0].speed=",
                              "host[0].speed=-1",
                              "host[0].speed=0",
                              "host[0].speed=inf",
                              "host[0].cores=0",
                              "host[0].reduction=0GBps",
                              "host[0].send_overhead=1",
                              "host[x].speed=1",
                              "host[-1].speed=1",
                              "links..latency=1us"}) {
    EXPECT_THAT(refusal(leaf_spine, {setting}), StartsWith("--set ")) << setting;
  }
  EXPECT_THAT(refusal(ring, {"host[0].reduction=50%"}), HasSubstr("are free"));
  EXPECT_LT(refusal(leaf_spine, {"links." + std::string(100000, 'x') + ".latency=1us"}).size(),
            400u);
}

TEST(Failures, RoutesThatDoNotCrossTheFailureStayAsTheyWere) {
  const Shape whole = load(leaf_spine);
  const Shape broken = load(leaf_spine, {}, {"link:leaf1-spine0"});
  EXPECT_TRUE(link_named(broken, "leaf1-spine0").failed);
  EXPECT_TRUE(link_named(broken, "spine0-leaf1").failed);
  EXPECT_EQ(std::count_if(broken.links.begin(), broken.links.end(),
                          [](const Link& link) { return link.failed; }),
            2);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      Route expected = whole.route(from, to);
      const auto crosses = [&](int link) {
        return broken.links[static_cast<std::size_t>(link)].failed;
      };
      const Route route = broken.route(from, to);
      if (std::none_of(expected.begin(), expected.end(), crosses)) {
        EXPECT_EQ(route, expected);
      }
      EXPECT_TRUE(std::none_of(route.begin(), route.end(), crosses)) << from << " to " << to;
    }
  }
  EXPECT_THAT(names_of(broken, 0, 2),
              ElementsAre("host-0-leaf0", "leaf0-spine1", "spine1-leaf1", "leaf1-host-2"));
}

/// How many of the flows from hosts first_from, ... to as many hosts first_to, ..., one each, cross
/// the links of one direction between two sorts of nodes, sorted. Failed links are left out.
std::vector<int> loads(const Shape& shape, int first_from, int first_to, int flows,
                       const std::string& from_pattern, const std::string& to_pattern) {
  std::vector<int> crossings(shape.links.size(), 0);
  for (int flow = 0; flow < flows; ++flow) {
    for (const int link : shape.route(first_from + flow, first_to + flow)) {
      ++crossings[static_cast<std::size_t>(link)];
    }
  }
  std::vector<int> result;
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    const auto matches = [&](int node, const std::string& pattern) {
      return matches_pattern(shape.nodes[static_cast<std::size_t>(node)].name, pattern);
    };
    if (link.failed || !matches(link.from, from_pattern) || !matches(link.to, to_pattern)) continue;
    result.push_back(crossings[index]);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string leaf_spine_of_eight(int spines, int uplinks) {
  return fmt::format(
      "shape: leaf_spine\nleaves: 3\nspines: {}\nhosts_per_leaf: 8\nuplinks: {}\n"
      "links:\n  host: {{bandwidth: 10GBps, latency: 1us}}\n"
      "  spine: {{bandwidth: 10GBps, latency: 1us}}\n",
      spines, uplinks);
}

TEST(Failures, DetoursAreSpreadOverTheSpinesAndParallelCablesThatAreLeft) {
  const std::string four_spines = leaf_spine_of_eight(4, 1), with_pairs = leaf_spine_of_eight(4, 2);
  const std::vector<std::string> two = {"node:spine0", "node:spine1"};
  for (const int leaf : {1, 2}) {
    const std::string name = fmt::format("leaf{}", leaf);
    Shape shape = load(with_pairs.c_str(), {}, two);
    EXPECT_THAT(loads(shape, 0, 8 * leaf, 8, "leaf0", "spine*"), ElementsAre(2, 2, 2, 2));
    EXPECT_THAT(loads(shape, 0, 8 * leaf, 8, "spine*", name), ElementsAre(2, 2, 2, 2));
    EXPECT_THAT(loads(shape, 8 * leaf, 0, 8, name, "spine*"), ElementsAre(2, 2, 2, 2));
    shape = load(four_spines.c_str(), {}, two);
    EXPECT_THAT(loads(shape, 0, 8 * leaf, 8, "leaf0", "spine*"), ElementsAre(4, 4));
    shape = load(four_spines.c_str(), {}, {"node:spine2"});
    EXPECT_THAT(loads(shape, 0, 8 * leaf, 8, "leaf0", "spine*"), ElementsAre(2, 3, 3));
    shape = load(four_spines.c_str(), {}, {"link:leaf0-spine3"});
    EXPECT_THAT(loads(shape, 0, 8 * leaf, 8, "leaf0", "spine*"), ElementsAre(2, 3, 3));
    EXPECT_THAT(loads(shape, 8 * leaf, 0, 8, "spine*", "leaf0"), ElementsAre(2, 3, 3));
  }
}

TEST(Failures, DetoursAreSpreadOverTheSwitchesOfAFatTree) {
  constexpr const char* fat_tree =
      "shape: fat_tree\nradix: 8\nlink: {bandwidth: 10GBps, latency: 1us}\n";
  // Pods of four switches of the first level and as many of the second, with 16 hosts; from the
  // first pod to the second, and to the last.
  for (const int other : {16, 112}) {
    Shape shape = load(fat_tree, {}, {"node:switch-2-1"});
    EXPECT_THAT(loads(shape, 0, other, 4, "switch-1-0", "switch-2-*"), ElementsAre(1, 1, 2));
    EXPECT_THAT(loads(shape, 0, other, 16, "switch-2-*", "switch-3-*").back(), 2);
    shape = load(fat_tree, {}, {"node:switch-3-0"});
    EXPECT_THAT(loads(shape, 0, other, 16, "switch-2-*", "switch-3-*").back(), 2);
    shape = load(fat_tree, {}, {"node:switch-3-0", "node:switch-3-1"});
    EXPECT_THAT(loads(shape, 0, other, 16, "switch-2-*", "switch-3-*").back(), 2);
  }
}

TEST(Failures, DetoursDoNotDependOnWhatWasAskedBefore) {
  const Shape forth = load(leaf_spine_of_eight(4, 2).c_str(), {}, {"node:spine1"});
  const Shape back = load(leaf_spine_of_eight(4, 2).c_str(), {}, {"node:spine1"});
  std::vector<Route> routes;
  for (int pair = 0; pair < 24 * 24; ++pair) routes.push_back(forth.route(pair / 24, pair % 24));
  for (int pair = 24 * 24 - 1; pair >= 0; --pair) {
    EXPECT_EQ(back.route(pair / 24, pair % 24), routes[static_cast<std::size_t>(pair)]);
  }
}

TEST(Failures, ABrokenRingIsALine) {
  const Shape shape = load(ring, {}, {"link:host-4-host-0"});
  EXPECT_EQ(shape.route(0, 4).size(), 4u);
  EXPECT_EQ(shape.route(4, 0).size(), 4u);
  EXPECT_EQ(shape.route(0, 1).size(), 1u);
}

TEST(Failures, ANodeFailsWithAllItsCables) {
  const Shape shape = load(leaf_spine, {}, {"node:spine0"});
  for (int from = 0; from < 2; ++from) {
    for (int to = 2; to < 4; ++to) {
      EXPECT_THAT(names_of(shape, from, to)[1], HasSubstr("spine1"));
    }
  }
}

TEST(Failures, RanksThatCannotReachEachOtherAreNamed) {
  EXPECT_EQ(refusal(ring, {}, {"link:host-0-*", "link:host-4-host-0"}),
            "--fail: rank 0 on host-0 has no way left to rank 1 on host-1");
  EXPECT_EQ(refusal(leaf_spine, {}, {"node:spine*"}),
            "--fail: rank 0 on host-0 has no way left to rank 2 on host-2");
  EXPECT_EQ(refusal(ring, {}, {"node:host-3"}),
            "--fail: rank 0 on host-0 has no way left to rank 3 on host-3");
}

TEST(Failures, HostsWithoutRanksMayBeCutOff) {
  const Shape shape = load(ring, {"placement=[0, 1, 2]"}, {"node:host-3"});
  EXPECT_EQ(shape.size(), 3);
  EXPECT_EQ(shape.route(0, 2).size(), 2u);
}

TEST(Failures, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(refusal(leaf_spine, {}, {"link:leaf1-spin0"}),
              AllOf(StartsWith("--fail link:leaf1-spin0: no link is named 'leaf1-spin0', "),
                    HasSubstr("'leaf1-spine0'")));
  EXPECT_THAT(refusal(leaf_spine, {}, {"node:spine9"}), HasSubstr("'spine0'"));
  EXPECT_THAT(refusal(leaf_spine, {}, {"node:host-9"}), HasSubstr("one is 'host-0' (all: leaf0"));
  for (const char* failure : {"leaf1-spine0", "", "link", "link:", "node:", "host:1", ":"}) {
    EXPECT_THAT(refusal(leaf_spine, {}, {failure}), StartsWith("--fail ")) << failure;
  }
}

TEST(Failures, SwitchesAreOfferedBeforeHosts) {
  constexpr const char* fat_tree =
      "shape: fat_tree\nradix: 4\nlink: {bandwidth: 10GBps, latency: 1us}\n";
  EXPECT_EQ(refusal(fat_tree, {}, {"node:core0"}),
            "--fail node:core0: no node is named 'core0', expected switch-1-0, switch-2-0, "
            "switch-3-0, switch-1-1, switch-1-2, switch-1-3, ...");
  EXPECT_THAT(refusal(fat_tree, {}, {"link:core0"}),
              HasSubstr("expected switch-1-0-switch-2-0, switch-2-0-switch-3-0, "));
  EXPECT_EQ(refusal(ring, {}, {"node:x"}),
            "--fail node:x: no node is named 'x', expected host-0, host-1, host-2, host-3, host-4");
}

TEST(Failures, EditsAndFailuresGoTogether) {
  const Shape shape = load(leaf_spine, {"links.spine.bandwidth=50%"}, {"link:leaf1-spine0"});
  EXPECT_EQ(shape.bandwidth_bytes_per_second(0, 2), 10e9);
}

}  // namespace
}  // namespace tutti
