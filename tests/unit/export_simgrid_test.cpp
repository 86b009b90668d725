// SimGrid itself reads what export_simgrid() writes, and finds the same routes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "topologies/export.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

void expect_same_in_simgrid(const std::string& yaml) {
  const Shape shape = parse_shape(yaml, "shape.yaml");
  // Tests run at the same time.
  const std::string file =
      testing::TempDir() + "tutti_exported_" + std::to_string(getpid()) + ".xml";
  std::ofstream(file) << export_simgrid(shape);
  int count = 0;
  simgrid::s4u::Engine engine(&count, nullptr);
  engine.load_platform(file);
  ASSERT_EQ(engine.get_host_count(), shape.hosts.size());
  for (std::size_t from = 0; from < shape.hosts.size(); ++from) {
    for (std::size_t to = 0; to < shape.hosts.size(); ++to) {
      if (from == to) continue;
      const auto* source = engine.host_by_name(shape.hosts[from].name);
      const auto* destination = engine.host_by_name(shape.hosts[to].name);
      std::vector<simgrid::s4u::Link*> links;
      double latency = 0.0;
      source->route_to(destination, links, &latency);
      double bandwidth = links.at(0)->get_bandwidth();
      for (const auto* link : links) bandwidth = std::min(bandwidth, link->get_bandwidth());
      const int a = static_cast<int>(from), b = static_cast<int>(to);
      EXPECT_EQ(links.size(), shape.route(a, b).size());
      EXPECT_NEAR(latency, shape.latency_seconds(a, b), 1e-14);
      EXPECT_DOUBLE_EQ(bandwidth, shape.bandwidth_bytes_per_second(a, b));
    }
  }
}

TEST(ExportSimgrid, SimgridFindsTheRoutesOfAFatTree) {
  expect_same_in_simgrid(
      "shape: fat_tree\ndown: [4, 2, 2]\nup: [1, 2, 1]\ncables: [1, 1, 2]\n"
      "link: {bandwidth: 10GBps, latency: 1us}\n");
}

TEST(ExportSimgrid, SimgridFindsTheRoutesOverSharedAndOneWayLinks) {
  expect_same_in_simgrid(
      "shape: graph\nnodes: [a, b, {name: s, kind: switch}]\nlinks:\n"
      "  - {between: [a, s], bandwidth: 1GBps, latency: 1us}\n"
      "  - {between: [b, s], bandwidth: 2GBps, latency: 2us, duplex: shared}\n"
      "  - {between: [a, b], bandwidth: 3GBps, latency: 9us, duplex: one_way}\n");
}

TEST(ExportSimgrid, SimgridFindsTheRoutesOfATorus) {
  expect_same_in_simgrid("shape: torus\ndimensions: [4, 3]\nbandwidth: 1GBps\nlatency: 1us\n");
}

}  // namespace
}  // namespace tutti
