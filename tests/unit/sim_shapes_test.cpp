// Simulated times on every kind of shape, against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "sim/platform_shape.hpp"
#include "sim/replay_world.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

// Times are sums of at most thousands of terms below a second in double precision.
constexpr double rounding_seconds = 1e-12;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr LinkSpec cable{.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-6};
constexpr LinkSpec fast{.bandwidth_bytes_per_second = 100e9, .latency_seconds = 0.2e-6};

Block ghost(std::size_t bytes) {
  return {nullptr, bytes, DType::uint8};
}

/// Simulated seconds of `program` on the shape's first `size` ranks.
template <typename Engine = SimWorld>
double seconds_of(const Shape& shape, int size, const Program& program, SimOptions options = {}) {
  Engine world(shape, size, std::move(options));
  world.run(program);
  return world.seconds();
}

struct Pair {
  int from;
  int to;
};

/// Every pair sends one message of `bytes` at once.
template <typename Engine = SimWorld>
double seconds_of_pairs(const Shape& shape, const std::vector<Pair>& pairs, std::size_t bytes) {
  return seconds_of<Engine>(shape, shape.size(), [&](Rank& rank) {
    std::vector<Request> requests;
    for (const Pair pair : pairs) {
      if (pair.from == rank.index()) {
        requests.push_back(rank.channel().isend(pair.to, ghost(bytes)));
      } else if (pair.to == rank.index()) {
        requests.push_back(rank.channel().irecv(pair.from, ghost(bytes)));
      }
    }
    for (const Request request : requests) rank.channel().wait(request);
  });
}

double ring_seconds(const Shape& shape, std::size_t bytes) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  return seconds_of(shape, shape.size(),
                    [&](Rank& rank) { run(ring, rank.channel(), ghost(bytes)); });
}

MachineSpec two_gpus(int nics) {
  return {.devices = 2, .nics = nics, .device = fast, .pcie = fast};
}

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  shapes.push_back(build_shape(star({8, cable})));
  shapes.push_back(build_shape(fully_connected({5, cable})));
  shapes.push_back(build_shape(grid({.dimensions = {6}, .links = {cable}, .kind = "ring"})));
  shapes.push_back(build_shape(grid({.dimensions = {4, 3, 2}, .links = {cable}})));
  shapes.push_back(
      build_shape(grid({.dimensions = {3, 3}, .wraps = false, .links = {cable}, .kind = "mesh"})));
  shapes.push_back(
      build_shape(grid({.dimensions = {2, 2, 2}, .links = {cable}, .kind = "hypercube"})));
  shapes.push_back(build_shape(fat_tree({.down = {4, 4}, .up = {1, 2}, .links = {cable}})));
  shapes.push_back(build_shape(
      leaf_spine({.leaves = 3, .spines = 2, .hosts_per_leaf = 4, .host = cable, .spine = fast})));
  shapes.push_back(build_shape(dragonfly({.groups = 3,
                                          .routers = 2,
                                          .hosts = 2,
                                          .global_links = 2,
                                          .host = cable,
                                          .local = fast,
                                          .global = fast})));
  shapes.push_back(build_shape(product(
      {{ProductDimension::Kind::ring, 4, fast}, {ProductDimension::Kind::switched, 3, cable}})));
  shapes.push_back(build_shape(compose(star({8, cable}), machine(two_gpus(2)))));
  return shapes;
}

TEST(SimulatedShape, AMessageTakesLatencyPlusBytesOverBandwidthOfItsRoute) {
  for (const Shape& shape : shapes()) {
    const int size = shape.size();
    for (const Pair pair : {Pair{0, 1}, {0, size - 1}, {size - 1, 0}, {size / 2, 1}}) {
      const double expected = shape.latency_seconds(pair.from, pair.to) +
                              mebibyte / shape.bandwidth_bytes_per_second(pair.from, pair.to);
      EXPECT_NEAR(seconds_of_pairs(shape, {pair}, mebibyte), expected, rounding_seconds)
          << shape.name << ": " << pair.from << " to " << pair.to;
    }
  }
}

TEST(SimulatedShape, EightSendersToOneReceiverTakeEightTimesOneFlow) {
  const Shape shape = build_shape(
      leaf_spine({.leaves = 2, .spines = 9, .hosts_per_leaf = 9, .host = cable, .spine = cable}));
  std::vector<Pair> incast;
  for (int from = 9; from < 17; ++from) incast.push_back({from, 0});
  EXPECT_NEAR(seconds_of_pairs(shape, incast, mebibyte), 4e-6 + 8 * mebibyte / 10e9,
              rounding_seconds);
}

TEST(SimulatedShape, TwoPairsThatShareANicTakeTwiceAsLongAsThoseWithOneEach) {
  const std::vector<Pair> pairs = {{0, 2}, {1, 3}};
  // Two machines of two devices; a star of as many ports as they have NICs.
  const Shape shared = build_shape(compose(star({2, cable}), machine(two_gpus(1))));
  const Shape own = build_shape(compose(star({4, cable}), machine(two_gpus(2))));
  const double one = mebibyte / 10e9;
  EXPECT_NEAR(seconds_of_pairs(own, pairs, mebibyte), own.latency_seconds(0, 2) + one,
              rounding_seconds);
  EXPECT_NEAR(seconds_of_pairs(shared, pairs, mebibyte), shared.latency_seconds(0, 2) + 2 * one,
              rounding_seconds);
}

/// 2(N-1) steps, all as long as the slowest hop where no two hops share a link.
double ring_closed_form(const Shape& shape, std::size_t bytes, double latency_seconds) {
  const int size = shape.size();
  return 2 * (size - 1) * (latency_seconds + static_cast<double>(bytes) / size / 10e9);
}

TEST(SimulatedShape, ARingOnAStarATorusAndAFatTreeTakesItsClosedForm) {
  const Shape star_shape = build_shape(star({16, cable}));
  EXPECT_NEAR(ring_seconds(star_shape, mebibyte), ring_closed_form(star_shape, mebibyte, 1e-6),
              rounding_seconds);
  // From the end of a row to the next one's beginning is two links, none of which others use.
  const Shape torus = build_shape(grid({.dimensions = {4, 4}, .links = {cable}}));
  EXPECT_NEAR(ring_seconds(torus, mebibyte), ring_closed_form(torus, mebibyte, 2e-6),
              rounding_seconds);
  // Up two levels and down again.
  const Shape tree = build_shape(fat_tree({.down = {4, 4}, .up = {1, 4}, .links = {cable}}));
  EXPECT_NEAR(ring_seconds(tree, mebibyte), ring_closed_form(tree, mebibyte, 4e-6),
              rounding_seconds);
}

template <typename Engine>
void expect_overhead_of_each_message() {
  // A multiple of the time of a byte, of which SimGrid's messages have whole numbers.
  constexpr double overhead_seconds = 0.5e-6;
  LinkSpec slow_start = cable;
  slow_start.overhead_seconds = overhead_seconds;
  const Shape shape = build_shape(star({4, slow_start}));
  for (const std::size_t bytes : {std::size_t{1}, mebibyte}) {
    const double one = overhead_seconds + static_cast<double>(bytes) / 10e9;
    EXPECT_NEAR(shape.latency_seconds(0, 1), 1e-6 + overhead_seconds, rounding_seconds);
    EXPECT_NEAR(seconds_of_pairs<Engine>(shape, {{0, 1}}, bytes), 1e-6 + one, rounding_seconds);
    // From one sender, one after another and all at once, and to one receiver.
    EXPECT_NEAR(seconds_of_pairs<Engine>(shape, {{0, 1}, {0, 1}, {0, 1}}, bytes), 1e-6 + 3 * one,
                rounding_seconds);
    EXPECT_NEAR(seconds_of_pairs<Engine>(shape, {{0, 1}, {0, 2}, {0, 3}}, bytes), 1e-6 + 3 * one,
                rounding_seconds);
    EXPECT_NEAR(seconds_of_pairs<Engine>(shape, {{1, 0}, {2, 0}, {3, 0}}, bytes), 1e-6 + 3 * one,
                rounding_seconds);
    // Two pairs that share no link pay it at the same time.
    EXPECT_NEAR(seconds_of_pairs<Engine>(shape, {{0, 1}, {2, 3}}, bytes), 1e-6 + one,
                rounding_seconds);
  }
}

TEST(SimulatedShape, EachMessagePaysTheOverheadOfALinkThoughItHasOneByte) {
  expect_overhead_of_each_message<SimWorld>();
  expect_overhead_of_each_message<ReplayWorld>();
}

TEST(SimulatedShape, OnARouteOfSeveralLinksTheLargestOverheadCountsOnce) {
  LinkSpec edge = cable, core = cable;
  edge.overhead_seconds = 0.2e-6;
  core.overhead_seconds = 0.7e-6;
  const Shape shape = build_shape(
      leaf_spine({.leaves = 2, .spines = 1, .hosts_per_leaf = 4, .host = edge, .spine = core}));
  const double one = mebibyte / 10e9;
  EXPECT_NEAR(seconds_of_pairs(shape, {{0, 1}}, mebibyte), 2e-6 + 0.2e-6 + one, rounding_seconds);
  EXPECT_NEAR(seconds_of_pairs(shape, {{0, 4}}, mebibyte), 4e-6 + 0.7e-6 + one, rounding_seconds);
  EXPECT_NEAR(seconds_of_pairs(shape, {{0, 4}, {1, 5}}, mebibyte), 4e-6 + 2 * (0.7e-6 + one),
              rounding_seconds);
}

TEST(SimulatedShape, FourFlowsThroughAnUplinkOfFourToOneTakeFourTimesOneFlow) {
  const Shape shape = build_shape(
      leaf_spine({.leaves = 2, .spines = 1, .hosts_per_leaf = 4, .host = cable, .spine = cable}));
  const std::vector<Pair> across = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_NEAR(seconds_of_pairs(shape, across, mebibyte), 4e-6 + 4 * mebibyte / 10e9,
              rounding_seconds);
}

TEST(SimulatedShape, BothDirectionsOfASharedCableTakeTurns) {
  LinkSpec bus = cable;
  bus.shared = true;
  const Shape shape = build_shape(fully_connected({2, bus}));
  EXPECT_NEAR(seconds_of(shape, 2,
                         [](Rank& rank) {
                           const int peer = 1 - rank.index();
                           rank.channel().sendrecv(peer, ghost(mebibyte), peer, ghost(mebibyte));
                         }),
              1e-6 + 2 * mebibyte / 10e9, rounding_seconds);
}

TEST(SimulatedShape, AMessageKeepsBothHostsBusyForTheirOverheads) {
  const Shape shape = build_shape(
      star({2, cable}), {.send_overhead_seconds = 2e-6, .receive_overhead_seconds = 3e-6});
  EXPECT_NEAR(seconds_of_pairs(shape, {{0, 1}}, mebibyte), 2e-6 + 1e-6 + mebibyte / 10e9 + 3e-6,
              rounding_seconds);
  // A second message leaves once the sender is done with the first.
  const Shape free_receiver = build_shape(star({3, fast}), {.send_overhead_seconds = 2e-6});
  EXPECT_NEAR(seconds_of_pairs(free_receiver, {{0, 1}, {0, 2}}, 1), 4e-6 + 0.2e-6 + 1 / 100e9,
              rounding_seconds);
}

TEST(SimulatedShape, ARankMayBeginLater) {
  const Shape shape = build_shape(star({4, cable}));
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  const Program program = [&](Rank& rank) { run(ring, rank.channel(), ghost(mebibyte)); };
  SimOptions late;
  late.start_seconds = {0.0, 0.0, 200e-6};
  EXPECT_NEAR(seconds_of(shape, 4, program, late), 200e-6 + seconds_of(shape, 4, program),
              rounding_seconds);
}

TEST(SimulatedShape, TwoSitesFarApartSlowALargeRingOnlyWhereFlowsHaveAWindow) {
  // Hosts A1 A2 B1 B2, every site on a switch, 12.5 GB/s and 5 us from host to host.
  const auto seconds = [](double between_sites_seconds, NetworkModel model) {
    const LinkSpec near{.bandwidth_bytes_per_second = 12.5e9, .latency_seconds = 2.5e-6};
    const LinkSpec far{.bandwidth_bytes_per_second = 12.5e9,
                       .latency_seconds = between_sites_seconds};
    GraphSpec sites;
    for (const char* host : {"A1", "A2", "B1", "B2"}) {
      sites.nodes.push_back({.name = host});
      sites.cables.push_back({.from = host, .to = std::string(host, 1), .spec = near});
    }
    for (const char* site : {"A", "B"}) sites.nodes.push_back({.name = site, .is_host = false});
    sites.cables.push_back({.from = "A", .to = "B", .spec = far});
    const Shape shape = build_shape(graph(sites));
    const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
    return seconds_of(shape, 4,
                      [&](Rank& rank) { run(ring, rank.channel(), ghost(1024 * mebibyte)); },
                      {.model = model});
  };
  const double bytes_seconds = 6 * 256.0 * mebibyte / 12.5e9;
  EXPECT_NEAR(seconds(0.0, NetworkModel::alpha_beta), bytes_seconds + 6 * 5e-6, rounding_seconds);
  EXPECT_NEAR(seconds(495e-6, NetworkModel::alpha_beta), bytes_seconds + 6 * 500e-6,
              rounding_seconds);
  // 4 MiB in a round trip of 1 ms.
  EXPECT_NEAR(seconds(495e-6, NetworkModel::window), 6 * (256 * 1e-3 / 4 + 500e-6), 1e-9);
}

TEST(SimulatedShape, RanksOfOneHostTalkThroughItsLoopbackAndShareItsCores) {
  const HostSpec host{.cores = 2, .reduction_bytes_per_second = 1e9, .loopback = fast};
  const Shape block = build_shape(star({2, cable}), host);
  ASSERT_EQ(block.size(), 4);
  EXPECT_NEAR(seconds_of_pairs(block, {{0, 1}}, mebibyte), 0.2e-6 + mebibyte / 100e9,
              rounding_seconds);
  EXPECT_NEAR(seconds_of_pairs(block, {{1, 2}}, mebibyte), 1e-6 + mebibyte / 10e9,
              rounding_seconds);
  const Shape cyclic = build_shape(star({2, cable}), host, {.kind = Placement::Kind::cyclic});
  EXPECT_NEAR(seconds_of_pairs(cyclic, {{0, 2}}, mebibyte), 0.2e-6 + mebibyte / 100e9,
              rounding_seconds);

  const Placement three_on_one{.kind = Placement::Kind::list, .hosts = {0, 0, 0}};
  const Shape crowded = build_shape(star({2, cable}), host, three_on_one);
  const Program reduce = [](Rank& rank) {
    rank.channel().charge({Work::Kind::reduce, 0.0, ghost(mebibyte), ghost(mebibyte)});
  };
  EXPECT_NEAR(seconds_of(block, 2, reduce), mebibyte / 1e9, rounding_seconds);
  EXPECT_NEAR(seconds_of(crowded, 3, reduce), 1.5 * mebibyte / 1e9, rounding_seconds);
}

TEST(SimGridPlatform, RoutesAndTimesAreThoseOfSimGrid) {
  const Shape shape = load_platform("tests/fixtures/topologies/two_clusters.simgrid.xml").shape;
  ASSERT_EQ(shape.size(), 8);
  EXPECT_EQ(shape.hosts[0].name, "left-0");
  EXPECT_EQ(shape.hosts[7].name, "right-3");
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 1), 20e-6);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 7), 120e-6);
  EXPECT_NEAR(seconds_of_pairs(shape, {{0, 7}}, mebibyte), 120e-6 + mebibyte / 1.25e9,
              rounding_seconds);
  const std::vector<Pair> across = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_NEAR(seconds_of_pairs(shape, across, mebibyte), 120e-6 + 2 * mebibyte / 1.25e9,
              rounding_seconds);
}

TEST(SimGridPlatform, HostsAreInTheOrderOfTheFileNotOfTheirNames) {
  const Shape shape = load_platform("tests/fixtures/topologies/twelve_hosts.simgrid.xml").shape;
  ASSERT_EQ(shape.size(), 12);
  for (int rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(shape.hosts[static_cast<std::size_t>(rank)].name, "node-" + std::to_string(rank));
  }
}

TEST(SimGridPlatform, WhatSimGridRefusesIsAnErrorWithItsReason) {
  try {
    load_platform("tests/fixtures/topologies/no_such_file.xml");
    FAIL() << "a file that is not there was loaded";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("no_such_file.xml"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tutti
