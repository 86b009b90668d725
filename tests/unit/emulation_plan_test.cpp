// What a shape becomes in an emulation: no rights are needed, as nothing is made.
#include "emulation/emulation_plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "collectives/error.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Shape load(const std::string& name, const std::vector<std::string>& settings = {}) {
  return load_shape(fmt::format("topologies/{}.yaml", name), settings);
}

EmulationPlan plan_of(const std::string& name, const std::vector<std::string>& settings = {},
                      const EmulationOptions& options = {}) {
  return plan_emulation(load(name, settings), options);
}

struct GoldenCase {
  const char* name;
  std::vector<std::string> settings;
};

class EmulationGolden : public testing::TestWithParam<GoldenCase> {};

// After a change that is meant, TUTTI_WRITE_GOLDEN=1 writes the files anew.
TEST_P(EmulationGolden, IsTheOneOnFile) {
  const std::string path = fmt::format("{}/{}.txt", TUTTI_GOLDEN_FOLDER, GetParam().name);
  const std::string text = to_text(plan_of(GetParam().name, GetParam().settings));
  if (std::getenv("TUTTI_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str());
}

INSTANTIATE_TEST_SUITE_P(Shapes, EmulationGolden,
                         testing::Values(GoldenCase{"emulated_star", {"hosts=3"}},
                                         GoldenCase{"emulated_racks", {"hosts_per_leaf=2"}},
                                         GoldenCase{"emulated_ring", {"hosts=4"}}),
                         [](const auto& entry) { return std::string(entry.param.name); });

// The cable by which the kernel sends a packet on: the source's own table comes first.
int cable_at(const EmulationPlan& plan, int node, int source, int destination) {
  int found = -1;
  for (const EmulatedRoute& route : plan.routes) {
    if (route.node != node || route.destination != destination) continue;
    if (route.source == source) return route.cable;
    if (route.source < 0) found = route.cable;
  }
  return found;
}

int other_end(const EmulatedCable& cable, int node) {
  return cable.ends[cable.ends[0].node == node ? 1 : 0].node;
}

double bandwidth_from(const EmulatedCable& cable, int node) {
  return cable.ends[cable.ends[0].node == node ? 0 : 1].bandwidth_bytes_per_second;
}

void expect_same_route(const Shape& shape, const EmulationPlan& plan, int from, int to) {
  int node = plan.node_of_rank[static_cast<std::size_t>(from)];
  const int source = node, destination = plan.node_of_rank[static_cast<std::size_t>(to)];
  int at = shape.host_of(from);
  for (const int index : shape.route_of_ranks(from, to)) {
    const Link& link = shape.links[static_cast<std::size_t>(index)];
    const int cable_index = cable_at(plan, node, source, destination);
    ASSERT_GE(cable_index, 0) << from << " to " << to;
    const EmulatedCable& cable = plan.cables[static_cast<std::size_t>(cable_index)];
    EXPECT_EQ(bandwidth_from(cable, node), link.bandwidth_bytes_per_second);
    at = link.from == at ? link.to : link.from;
    node = other_end(cable, node);
    ASSERT_EQ(plan.nodes[static_cast<std::size_t>(node)].name,
              shape.nodes[static_cast<std::size_t>(at)].name)
        << from << " to " << to;
  }
  EXPECT_EQ(node, destination);
}

TEST(EmulationPlan, SendsEveryPacketAlongTheRouteOfTheShape) {
  const GoldenCase cases[] = {
      {"emulated_star", {}}, {"emulated_racks", {"spines=3"}},
      {"emulated_ring", {}}, {"torus_3d", {}},
      {"hypercube", {}},     {"hgx_8", {}},
      {"two_site_wan", {}},  {"leaf_spine_100g", {"hosts_per_leaf=4"}},
  };
  for (const GoldenCase& shape_case : cases) {
    SCOPED_TRACE(shape_case.name);
    const Shape shape = load(shape_case.name, shape_case.settings);
    const EmulationPlan plan = plan_emulation(shape, {});
    for (int from = 0; from < shape.size(); ++from) {
      for (int to = 0; to < shape.size(); ++to) {
        if (from != to) expect_same_route(shape, plan, from, to);
      }
    }
  }
}

// Hosts 0 and 1 on one leaf, host 2 on another, and a way between the leaves for each source.
Shape parting_shape() {
  Shape shape;
  shape.name = "parting";
  shape.hosts.resize(3);
  for (const char* name : {"h0", "h1", "h2", "near", "upper", "lower", "far"}) {
    shape.nodes.push_back({.name = name});
  }
  const int cables[][2] = {{0, 3}, {1, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}, {6, 2}};
  for (const auto& [from, to] : cables) {
    const int index = static_cast<int>(shape.links.size());
    for (const bool back : {false, true}) {
      shape.links.push_back({.name = fmt::format("{}-{}", back ? to : from, back ? from : to),
                             .link_class = "cable",
                             .from = back ? to : from,
                             .to = back ? from : to,
                             .bandwidth_bytes_per_second = 1e7 + index + (back ? 1 : 0),
                             .latency_seconds = 0.0,
                             .opposite = back ? index : index + 1});
    }
  }
  shape.route = [](int from, int to) -> Route {
    if (from == 2) return to == 0 ? Route{13, 9, 5, 1} : Route{13, 11, 7, 3};
    if (to == 2) return from == 0 ? Route{0, 4, 8, 12} : Route{2, 6, 10, 12};
    return from == 0 ? Route{0, 3} : Route{2, 1};
  };
  return shape;
}

TEST(EmulationPlan, TakesTheSourceIntoAccountWhereRoutesToAHostPart) {
  const Shape shape = parting_shape();
  const EmulationPlan plan = plan_emulation(shape, {});
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) expect_same_route(shape, plan, from, to);
    }
  }
  std::string batches;
  for (int node = 0; node < static_cast<int>(plan.nodes.size()); ++node) {
    batches += route_batch(plan, node);
  }
  EXPECT_THAT(batches, AllOf(HasSubstr("route add 10.0.0.3/32 dev c5 table 1001\n"),
                             HasSubstr("rule add from 10.0.0.2 lookup 1001\n")));
}

TEST(EmulationPlan, HoldsOnlyWhatLiesBetweenItsRanks) {
  const EmulationPlan plan = plan_of("emulated_racks", {}, {.ranks = 2});
  EXPECT_EQ(plan.nodes.size(), 3u);
  EXPECT_EQ(plan.cables.size(), 2u);
  EXPECT_EQ(plan_of("emulated_star", {}, {.ranks = 1}).nodes.size(), 1u);
}

TEST(EmulationPlan, PutsRanksOfAHostIntoOneNamespace) {
  const EmulationPlan plan =
      plan_of("emulated_star",
              {"placement=[1, 0, 1, 3]", "host={loopback: {bandwidth: 1GBps, latency: 1us}}"});
  EXPECT_THAT(plan.node_of_rank, ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(plan.nodes[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(plan.nodes[0].address, "10.0.0.1");
  ASSERT_EQ(plan.omissions.size(), 1u);
  EXPECT_THAT(plan.omissions[0], HasSubstr("same host"));
}

TEST(EmulationPlan, PassesTheBandwidthAsPayload) {
  const EmulationPlan plan = plan_of("emulated_star");
  // A segment of 1448 bytes has 52 of headers and 14 of its frame.
  EXPECT_DOUBLE_EQ(plan.bytes_per_payload_byte(), 1514.0 / 1448.0);
  EXPECT_THAT(bucket_batch(plan, 0), HasSubstr(" rate 13069751bps burst 3028 "));
}

TEST(EmulationPlan, HasLargerPacketsOnFasterLinks) {
  EXPECT_EQ(plan_of("emulated_star").mtu_bytes, 1500);
  EXPECT_EQ(plan_of("emulated_star", {"bandwidth=1Gbps"}).mtu_bytes, 9000);
  EXPECT_EQ(plan_of("emulated_star", {"bandwidth=100Gbps"}).mtu_bytes, 65535);
  EXPECT_EQ(plan_of("emulated_star", {}, {.mtu_bytes = 4000}).mtu_bytes, 4000);
  EXPECT_THROW(plan_of("emulated_star", {}, {.mtu_bytes = 500}), Error);
  EXPECT_THROW(plan_of("emulated_star", {}, {.mtu_bytes = 65536}), Error);
}

TEST(EmulationPlan, HasQueuesThatHoldAllThatIsUnderWay) {
  const EmulationPlan plan = plan_of("emulated_racks");
  std::int64_t longest = 0;
  for (const EmulatedCable& cable : plan.cables) {
    for (const EmulatedEnd& end : cable.ends) longest = std::max(longest, end.queue_bytes);
  }
  // 4 x 4 pairs cross the link between the racks.
  EXPECT_GE(longest, 16 * plan.window_bytes);
}

TEST(EmulationPlan, SaysWhatOfTheShapeIsMissing) {
  const EmulationPlan plan = plan_of("leaf_spine_100g", {"hosts_per_leaf=2"}, {.ranks = 4});
  EXPECT_NEAR(plan.longest_latency_seconds, 2.5e-6, 1e-9);
  ASSERT_EQ(plan.omissions.size(), 1u);
  EXPECT_THAT(plan.omissions[0], HasSubstr("overheads"));
}

std::string refusal(const std::string& name, const std::vector<std::string>& settings,
                    const EmulationOptions& options) {
  try {
    plan_of(name, settings, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(EmulationPlan, RefusesWhatIsTooLargeOrTooSlow) {
  EXPECT_THAT(refusal("emulated_star", {}, {.ranks = 5}), HasSubstr("has room for 1 to 4"));
  EXPECT_THAT(refusal("emulated_star", {"bandwidth=1kbps"}, {}), HasSubstr("at least 1kBps"));
  EXPECT_THAT(refusal("dragonfly", {}, {}), HasSubstr("more than 1024 hosts and switches"));
}

}  // namespace
}  // namespace tutti
