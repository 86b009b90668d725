#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topologies/fabric.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

Node host(const char* name) {
  return {name, Node::Kind::host};
}

Node bridge(const char* name) {
  return {name, Node::Kind::bridge};
}

Link one_way(int from, int to, double latency_seconds = 1e-6) {
  return {.name = "link",
          .link_class = "link",
          .from = from,
          .to = to,
          .bandwidth_bytes_per_second = 1e9,
          .latency_seconds = latency_seconds};
}

Link shared(int from, int to, int self) {
  Link link = one_way(from, to);
  link.opposite = self;
  return link;
}

std::string error_of(const RouteFunction& route, int from, int to) {
  try {
    route(from, to);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

TEST(ShortestRoutes, CrossTheFewestLinks) {
  const RouteFunction route =
      shortest_routes({host("a"), host("b"), bridge("s"), bridge("t")},
                      {one_way(0, 2), one_way(2, 3), one_way(3, 1), one_way(2, 1)});
  EXPECT_THAT(route(0, 1), ElementsAre(0, 3));
}

TEST(ShortestRoutes, TakeTheEarlierLinksOfEqualWays) {
  const RouteFunction route =
      shortest_routes({host("a"), host("b"), bridge("s"), bridge("t")},
                      {one_way(3, 1), one_way(0, 2), one_way(0, 3), one_way(2, 1), one_way(2, 1)});
  EXPECT_THAT(route(0, 1), ElementsAre(1, 3));
}

TEST(ShortestRoutes, OfSuccessiveNumbersGoByAllNeighboursThenByAllParallelCables) {
  const std::vector<Node> nodes = {host("a"), host("b"), bridge("s"), bridge("t"), bridge("far")};
  const std::vector<Link> links = {one_way(0, 2), one_way(0, 2), one_way(0, 3), one_way(0, 3),
                                   one_way(2, 1), one_way(3, 1), one_way(2, 1), one_way(3, 1),
                                   one_way(0, 4), one_way(4, 2)};
  std::uint64_t number = 0;
  const RouteFunction route =
      shortest_routes(nodes, links, Metric::hops, [&](int, int) { return number; });
  std::vector<Route> routes;
  for (number = 0; number < 5; ++number) routes.push_back(route(0, 1));
  EXPECT_THAT(routes, ElementsAre(Route{0, 4}, Route{2, 5}, Route{1, 6}, Route{3, 7}, Route{0, 4}));
}

TEST(ShortestRoutes, OfAnyNumberAreAsShortAsThoseWithoutANumber) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Node> nodes;
    std::vector<Link> links;
    for (int node = 0; node < 16; ++node) {
      nodes.push_back(
          {std::to_string(node), node % 4 == 0 ? Node::Kind::host : Node::Kind::fabric});
    }
    for (int link = 0; link < 48; ++link) {
      const int from = static_cast<int>(random() % 16), to = static_cast<int>(random() % 16);
      links.push_back(one_way(from, to, 1e-6 * static_cast<double>(random() % 3)));
      if (link % 8 == 0) links.back().opposite = link;
    }
    const auto seconds = [&](const Route& route) {
      double sum = 0.0;
      for (const int link : route) sum += links[static_cast<std::size_t>(link)].latency_seconds;
      return sum;
    };
    const RouteFunction first = shortest_routes(nodes, links, Metric::latency);
    const RouteFunction other =
        shortest_routes(nodes, links, Metric::latency, [&](int, int) { return random(); });
    for (int from = 0; from < 16; ++from) {
      for (int to = 0; to < 16; ++to) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_EQ(error_of(other, from, to), error_of(first, from, to));
        if (!error_of(first, from, to).empty()) continue;
        EXPECT_EQ(other(from, to).size(), first(from, to).size());
        // Sums of a dozen whole microseconds.
        EXPECT_NEAR(seconds(other(from, to)), seconds(first(from, to)), 1e-15);
      }
    }
  }
}

TEST(ShortestRoutes, AreByLatencyWhereThatIsAsked) {
  const std::vector<Node> nodes = {host("a"), host("b"), bridge("s"), bridge("t")};
  const std::vector<Link> links = {one_way(0, 2, 1e-6), one_way(2, 1, 9e-6), one_way(2, 3, 3e-6),
                                   one_way(3, 1, 4e-6)};
  EXPECT_THAT(shortest_routes(nodes, links, Metric::hops)(0, 1), ElementsAre(0, 1));
  EXPECT_THAT(shortest_routes(nodes, links, Metric::latency)(0, 1), ElementsAre(0, 2, 3));
}

TEST(ShortestRoutes, TakeTheFewestLinksOfEqualLatency) {
  const RouteFunction route = shortest_routes(
      {host("a"), host("b"), bridge("s"), bridge("t")},
      {one_way(0, 2, 1e-7), one_way(2, 3, 2e-7), one_way(3, 1, 6e-7), one_way(2, 1, 8e-7)},
      Metric::latency);
  EXPECT_THAT(route(0, 1), ElementsAre(0, 3));
}

TEST(ShortestRoutes, HostsForwardOnlyWhatHasNoOtherWay) {
  const std::vector<Node> nodes = {host("a"), host("b"), host("c"), bridge("s"), bridge("t")};
  std::vector<Link> links = {one_way(0, 1), one_way(1, 2), one_way(0, 3), one_way(3, 4),
                             one_way(4, 2)};
  EXPECT_THAT(shortest_routes(nodes, links)(0, 2), ElementsAre(2, 3, 4));
  links[3].failed = true;
  EXPECT_THAT(shortest_routes(nodes, links)(0, 2), ElementsAre(0, 1));
}

TEST(ShortestRoutes, CrossASharedLinkBothWaysAndAOneWayLinkForthOnly) {
  const RouteFunction route = shortest_routes({host("a"), host("b"), bridge("s")},
                                              {shared(2, 0, 0), shared(2, 1, 1), one_way(1, 0)});
  EXPECT_THAT(route(0, 1), ElementsAre(0, 1));
  EXPECT_THAT(route(1, 0), ElementsAre(2));
}

TEST(ShortestRoutes, NameBothNodesWhereThereIsNoWay) {
  Link failed = one_way(0, 1);
  failed.failed = true;
  const RouteFunction route = shortest_routes({host("a"), host("b")}, {failed, one_way(1, 0)});
  EXPECT_EQ(error_of(route, 0, 1), "there is no way from a to b");
  EXPECT_THAT(route(1, 0), ElementsAre(1));
}

TEST(ShortestRoutes, FromANodeToItselfCrossNothing) {
  EXPECT_THAT(shortest_routes({host("a")}, {})(0, 0), ElementsAre());
}

/// Lengths by Floyd and Warshall, as an oracle that shares nothing with the search.
std::vector<std::vector<double>> all_distances(std::size_t nodes, const std::vector<Link>& links) {
  std::vector<std::vector<double>> distance(nodes, std::vector<double>(nodes, 1e9));
  for (std::size_t node = 0; node < nodes; ++node) distance[node][node] = 0;
  for (const Link& link : links) {
    double& here = distance[static_cast<std::size_t>(link.from)][static_cast<std::size_t>(link.to)];
    here = std::min(here, link.latency_seconds * 1e6);
  }
  for (std::size_t middle = 0; middle < nodes; ++middle) {
    for (std::size_t from = 0; from < nodes; ++from) {
      for (std::size_t to = 0; to < nodes; ++to) {
        distance[from][to] =
            std::min(distance[from][to], distance[from][middle] + distance[middle][to]);
      }
    }
  }
  return distance;
}

TEST(ShortestRoutes, AreAsShortAsFloydAndWarshallFindInRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Node> nodes;
    std::vector<Link> links;
    for (int node = 0; node < 24; ++node)
      nodes.push_back({std::to_string(node), Node::Kind::fabric});
    for (int link = 0; link < 60; ++link) {
      const int from = static_cast<int>(random() % 24), to = static_cast<int>(random() % 24);
      links.push_back(one_way(from, to, 1e-6 * static_cast<double>(random() % 9)));
    }
    const auto distance = all_distances(nodes.size(), links);
    const RouteFunction route = shortest_routes(nodes, links, Metric::latency);
    for (int from = 0; from < 24; ++from) {
      for (int to = 0; to < 24; ++to) {
        const double expected =
            distance[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
        if (expected > 1e8) {
          EXPECT_NE(error_of(route, from, to), "") << "seed " << seed;
          continue;
        }
        double found = 0.0;
        for (const int link : route(from, to)) {
          found += links[static_cast<std::size_t>(link)].latency_seconds * 1e6;
        }
        // Sums of at most some dozens of whole microseconds.
        EXPECT_NEAR(found, expected, 1e-9) << "seed " << seed << ", " << from << " to " << to;
      }
    }
  }
}

TEST(ShortestRoutes, DoNotDependOnWhatWasAskedBefore) {
  // So many nodes that not all results are kept: some of these sources take others' place.
  constexpr int count = 10000, half = 5000;
  std::vector<Node> nodes;
  std::vector<Link> links;
  for (int node = 0; node < count; ++node) nodes.push_back({std::to_string(node)});
  for (int node = 0; node < count; ++node) links.push_back(one_way(node, (node + 1) % count));
  const RouteFunction route = shortest_routes(nodes, links);
  for (int source = 0; source < count; source += 43) {
    EXPECT_THAT(route(source, (source + 1) % count), ElementsAre(source));
  }
  EXPECT_THAT(route(half, half + 2), ElementsAre(half, half + 1));
  EXPECT_THAT(route(0, 2), ElementsAre(0, 1));
}

}  // namespace
}  // namespace tutti
