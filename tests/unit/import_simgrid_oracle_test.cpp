// Imported platforms against SimGrid itself: the same latencies and bandwidths, over links that
// stand for SimGrid's, one for one, each of which the same messages share.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/platform_shape.hpp"
#include "tests/unit/import_checks.hpp"

namespace tutti {
namespace {

/// Messages between two hosts.
using Pairs = std::set<std::pair<std::string, std::string>>;

/// A link by what it carries: the messages, in MB/s and nanoseconds, whole ones.
using Carried = std::tuple<Pairs, long long, long long>;

/// All links that messages cross but the joints, which SimGrid does not have. In which order
/// routes cross them is of no consequence.
std::multiset<Carried> carried_by_links(const Shape& shape) {
  std::map<int, Pairs> pairs;
  const int count = static_cast<int>(shape.hosts.size());
  const auto name = [&](int host) { return shape.hosts[static_cast<std::size_t>(host)].name; };
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      if (from == to) continue;
      for (const int link : shape.route(from, to)) pairs[link].emplace(name(from), name(to));
    }
  }
  std::multiset<Carried> carried;
  for (auto& [index, messages] : pairs) {
    const Link& link = shape.links[static_cast<std::size_t>(index)];
    if (link.link_class == "joint") continue;
    carried.emplace(std::move(messages), std::llround(link.bandwidth_bytes_per_second / 1e6),
                    std::llround(link.latency_seconds * 1e9));
  }
  return carried;
}

void expect_same(const std::filesystem::path& file) {
  SCOPED_TRACE(file);
  const Shape ours = shape_of(import_file(file));
  const Shape theirs = load_platform(file.string()).shape;
  ASSERT_EQ(ours.hosts.size(), theirs.hosts.size());
  EXPECT_TRUE(carried_by_links(ours) == carried_by_links(theirs));
  const int count = static_cast<int>(ours.hosts.size());
  for (int host = 1; host < count; ++host) {
    const std::string& name = ours.hosts[static_cast<std::size_t>(host)].name;
    const std::string& first = ours.hosts[0].name;
    const int from = host_of_name(theirs, first);
    const int to = host_of_name(theirs, name);
    expect_way(ours, first, name, theirs.bandwidth_bytes_per_second(from, to),
               theirs.latency_seconds(from, to));
  }
}

TEST(ImportSimgridOracle, AStarOfRoutes) {
  expect_same(own_topology("simgrid_star.xml"));
}

TEST(ImportSimgridOracle, ABackboneOnAllRoutes) {
  expect_same(own_topology("simgrid_backbone.xml"));
}

TEST(ImportSimgridOracle, RoutesThatAreNotTheShortest) {
  expect_same(own_topology("simgrid_detour.xml"));
}

TEST(ImportSimgridOracle, ZonesInZones) {
  expect_same(own_topology("simgrid_zones.xml"));
}

TEST(ImportSimgridOracle, ClusterZones) {
  expect_same(own_topology("simgrid_cluster_zone.xml"));
}

TEST(ImportSimgridOracle, ARealGridOfCabinets) {
  TUTTI_NEED_FILE(real_topology("simgrid__griffon.xml"));
  expect_same(real_topology("simgrid__griffon.xml"));
}

TEST(ImportSimgridOracle, ARealClusterWithABackbone) {
  TUTTI_NEED_FILE(real_topology("simgrid__cluster_backbone.xml"));
  expect_same(real_topology("simgrid__cluster_backbone.xml"));
}

}  // namespace
}  // namespace tutti
