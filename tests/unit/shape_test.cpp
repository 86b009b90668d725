#include "topologies/shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Shape eight() {
  return star_shape(8, 12.5e9, 5e-6);
}

Shape four(const HostSpec& host, const Placement& placement = {}) {
  return build_shape(star({4, {12.5e9, 5e-6}}), host, placement);
}

/// What the error of building says; empty if there is none.
std::string refusal(const HostSpec& host, const Placement& placement = {}) {
  try {
    four(host, placement);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

TEST(Shape, EveryRouteOfAStarHasTheFiguresFromHostToHost) {
  const Shape shape = eight();
  ASSERT_EQ(shape.size(), 8);
  for (int from = 0; from < shape.size(); ++from) {
    for (int to = 0; to < shape.size(); ++to) {
      if (from == to) continue;
      EXPECT_DOUBLE_EQ(shape.latency_seconds(from, to), 5e-6);
      EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(from, to), 12.5e9);
    }
  }
}

TEST(Shape, AStarIsFullDuplex) {
  const Shape shape = eight();
  const Route forth = shape.route(2, 5), back = shape.route(5, 2);
  for (const int link : forth) EXPECT_EQ(std::count(back.begin(), back.end(), link), 0);
}

TEST(Shape, FlowsToOneHostShareOnlyItsOwnCable) {
  const Shape shape = eight();
  EXPECT_EQ(shape.route(1, 0).back(), shape.route(2, 0).back());
  EXPECT_NE(shape.route(1, 0).front(), shape.route(2, 0).front());
}

TEST(Shape, TheNameTellsWhatTheStarIsMadeOf) {
  EXPECT_EQ(eight().name, "star(8, 12.5 GB/s, 5 us)");
  EXPECT_EQ(star_shape(8, 12.5e9, 5e-6, 1e10).name, "star(8, 12.5 GB/s, 5 us, reducing 10 GB/s)");
}

TEST(Shape, TheLargestStarNeedsNoTableOfRoutes) {
  const Shape shape = star_shape(maximum_hosts, 12.5e9, 5e-6);
  EXPECT_EQ(shape.route(0, maximum_hosts - 1), (Route{0, 2 * maximum_hosts - 1}));
}

TEST(Shape, AStarThatCannotBeIsRefused) {
  for (const int hosts : {-1, 0, maximum_hosts + 1}) {
    EXPECT_THROW(star_shape(hosts, 12.5e9, 5e-6), ShapeError) << hosts;
  }
  for (const double value : {-1.0, 0.0, infinite, not_a_number}) {
    EXPECT_THROW(star_shape(8, value, 5e-6), ShapeError) << value;
    EXPECT_THROW(star_shape(8, 12.5e9, 5e-6, value), ShapeError) << value;
  }
  for (const double value : {-1e-9, infinite, not_a_number}) {
    EXPECT_THROW(star_shape(8, 12.5e9, value), ShapeError) << value;
  }
}

TEST(Shape, AHostHasNoRouteToItselfUnlessItHasALoopback) {
  EXPECT_THAT(four({}).route(2, 2), IsEmpty());
  const Shape shape = four({.loopback = LinkSpec{50e9, 1e-7}});
  EXPECT_DOUBLE_EQ(shape.latency_seconds(2, 2), 1e-7);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(2, 2), 50e9);
  EXPECT_NE(shape.route(1, 1), shape.route(2, 2));
  EXPECT_EQ(shape.route(0, 3), four({}).route(0, 3));
}

TEST(Shape, EveryHostGetsTheAttributes) {
  const Shape shape = four({.cores = 2,
                            .reduction_bytes_per_second = 1e10,
                            .send_overhead_seconds = 1e-6,
                            .receive_overhead_seconds = 2e-6,
                            .loopback = LinkSpec{50e9, 1e-7}});
  ASSERT_EQ(shape.hosts.size(), 4u);
  for (int host = 0; host < 4; ++host) {
    const Host& built = shape.hosts[static_cast<std::size_t>(host)];
    EXPECT_EQ(built.cores, 2);
    EXPECT_EQ(built.reduction_bytes_per_second, 1e10);
    EXPECT_EQ(built.send_overhead_seconds, 1e-6);
    EXPECT_EQ(built.receive_overhead_seconds, 2e-6);
    EXPECT_EQ(built.machine, host);
  }
}

TEST(Placement, BlockFillsOneHostAfterTheOther) {
  EXPECT_THAT(four({.cores = 2, .loopback = LinkSpec{50e9, 0}}).placement,
              ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(Placement, CyclicPutsOneRankOnEachHostFirst) {
  const Placement cyclic = {.kind = Placement::Kind::cyclic};
  EXPECT_THAT(four({.cores = 2, .loopback = LinkSpec{50e9, 0}}, cyclic).placement,
              ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST(Placement, CyclicGoesRoundTheMachinesThenTheirDevicesThenTheCores) {
  const Fabric fabric =
      compose(star({3, {12.5e9, 5e-6}}),
              machine({.devices = 2, .nics = 1, .device = {400e9, 1e-6}, .pcie = {50e9, 5e-7}}));
  const Placement cyclic = {.kind = Placement::Kind::cyclic};
  EXPECT_THAT(build_shape(fabric, {}, cyclic).placement, ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(build_shape(fabric, {.cores = 2, .loopback = LinkSpec{50e9, 0}}, cyclic).placement,
              ElementsAre(0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5));
  EXPECT_THAT(build_shape(fabric).placement, IsEmpty());
}

TEST(Placement, OneRankAHostNeedsNoTable) {
  EXPECT_THAT(four({}).placement, IsEmpty());
  EXPECT_THAT(four({}, {.kind = Placement::Kind::cyclic}).placement, IsEmpty());
}

TEST(Placement, AListIsTakenAsItIs) {
  const Shape shape = four({}, {.kind = Placement::Kind::list, .hosts = {3, 0, 2}});
  EXPECT_EQ(shape.size(), 3);
  EXPECT_EQ(shape.host_of(0), 3);
  EXPECT_EQ(shape.route_of_ranks(0, 1), shape.route(3, 0));
}

TEST(Placement, RandomIsAPermutationOfTheSlotsThatTheSeedFixes) {
  const HostSpec host = {.cores = 64, .loopback = LinkSpec{50e9, 0}};
  const auto placed = [&](std::uint64_t seed) {
    return four(host, {.kind = Placement::Kind::random, .seed = seed}).placement;
  };
  std::vector<int> first = placed(7);
  EXPECT_EQ(first, placed(7));
  EXPECT_NE(first, placed(8));
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, four(host).placement);
}

TEST(Placement, TheOrderOfASeedIsTheSameEverywhere) {
  EXPECT_THAT(four({}, {.kind = Placement::Kind::random, .seed = 1}).placement,
              ElementsAre(1, 2, 3, 0));
}

TEST(Placement, WhatCannotBeIsRefusedWithTheFigure) {
  const auto list = [](std::vector<int> hosts) {
    return Placement{.kind = Placement::Kind::list, .hosts = std::move(hosts)};
  };
  EXPECT_THAT(refusal({}, list({0, 4})), HasSubstr("puts rank 1 on host 4, expected 0 to 3"));
  EXPECT_THAT(refusal({}, list({-1})), HasSubstr("puts rank 0 on host -1"));
  EXPECT_THAT(refusal({}, list({})), HasSubstr("lists no hosts"));
  EXPECT_THAT(refusal({}, list({1, 0, 1})),
              AllOf(HasSubstr("ranks 0 and 2 both on host-1"), HasSubstr("loopback")));
  EXPECT_THAT(refusal({.cores = 2}), HasSubstr("loopback"));
  EXPECT_THAT(refusal({.cores = 0}), HasSubstr("'cores' is 0"));
  EXPECT_THAT(refusal({.cores = maximum_hosts, .loopback = LinkSpec{1e9, 0}}),
              HasSubstr("4194304 ranks"));
}

TEST(Host, ImpossibleAttributesAreRefused) {
  for (const double value : {-1.0, infinite, not_a_number}) {
    EXPECT_THAT(refusal({.send_overhead_seconds = value}), HasSubstr("overhead")) << value;
    EXPECT_THAT(refusal({.receive_overhead_seconds = value}), HasSubstr("overhead")) << value;
    EXPECT_THAT(refusal({.reduction_bytes_per_second = value}), HasSubstr("reduction")) << value;
    EXPECT_THAT(refusal({.loopback = LinkSpec{value, 0}}), HasSubstr("loopback")) << value;
  }
}

TEST(FabricBuilder, ParallelCablesHaveNamesOfTheirOwn) {
  FabricBuilder builder("two");
  builder.add_terminal("a");
  builder.add_terminal("b");
  for (int cable = 0; cable < 3; ++cable) builder.add_cable(0, 1, {1e9, 0}, "link");
  const Fabric fabric = std::move(builder).build([](int, int) { return Route{0}; });
  std::vector<std::string> names;
  for (const Link& link : fabric.links) names.push_back(link.name);
  EXPECT_THAT(names, ElementsAre("a-b", "b-a", "a-b#2", "b-a#2", "a-b#3", "b-a#3"));
}

TEST(FabricBuilder, NamesAreUniqueEvenWhereDifferentEndsSpellTheSame) {
  FabricBuilder builder("dashes");
  for (const char* name : {"a", "b-c", "a-b", "c", "b-c#2"}) builder.add_terminal(name);
  builder.add_one_way(0, 1, {1e9, 0}, "link");
  builder.add_one_way(2, 3, {1e9, 0}, "link");
  builder.add_one_way(0, 4, {1e9, 0}, "link");
  const Fabric fabric = std::move(builder).build([](int, int) { return Route{0}; });
  std::set<std::string> names;
  for (const Link& link : fabric.links) names.insert(link.name);
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(fabric.links[0].name, "a-b-c");
}

TEST(FabricBuilder, ACableHasTwoDirectionsThatKnowEachOtherOrOneThatIsShared) {
  FabricBuilder builder("cables");
  builder.add_terminal("a");
  builder.add_terminal("b");
  const int full = builder.add_cable(0, 1, {1e9, 1e-6, 2e-6}, "link");
  const int shared = builder.add_cable(0, 1, {1e9, 0, 0, true}, "bus");
  const int one_way = builder.add_one_way(0, 1, {1e9, 0}, "link");
  EXPECT_EQ(builder.opposite(full), full + 1);
  EXPECT_EQ(builder.opposite(full + 1), full);
  EXPECT_EQ(builder.opposite(shared), shared);
  EXPECT_EQ(builder.opposite(one_way), -1);
  EXPECT_DOUBLE_EQ(builder.links()[0].latency_seconds, 1e-6);
  EXPECT_DOUBLE_EQ(builder.links()[0].overhead_seconds, 2e-6);
}

TEST(FabricBuilder, ImpossibleLinksAreRefusedByName) {
  FabricBuilder builder("bad");
  builder.add_terminal("a");
  builder.add_terminal("b");
  for (const LinkSpec& spec :
       {LinkSpec{0, 0}, LinkSpec{infinite, 0}, LinkSpec{1e9, -1}, LinkSpec{1e9, 0, not_a_number}}) {
    try {
      builder.add_cable(0, 1, spec, "link");
      ADD_FAILURE() << "no error";
    } catch (const ShapeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("a-b: the "));
    }
  }
}

TEST(BuildShape, HostsThatCannotReachEachOtherAreNamed) {
  GraphSpec spec;
  spec.nodes = {{"a"}, {"b"}, {"c"}};
  spec.cables = {{"a", "b", {1e9, 0}}, {"c", "a", {1e9, 0}, "link", true}};
  try {
    build_shape(graph(spec));
    ADD_FAILURE() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "there is no way from a to c");
  }
}

}  // namespace
}  // namespace tutti
