// Shapes in other tools' formats: what is written, and that reading it back gives the same routes.
#include "topologies/export.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topologies/import.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* star = "shape: star\nhosts: 6\nbandwidth: 12.5GBps\nlatency: 5us\n";
constexpr const char* product =
    "shape: product\ndimensions:\n"
    "  - {kind: ring, size: 4, bandwidth: 150GBps, latency: 200ns}\n"
    "  - {kind: fully_connected, size: 4, bandwidth: 75GBps, latency: 400ns}\n"
    "  - {kind: switch, size: 3, bandwidth: 12.5GBps, latency: 3us}\n";
constexpr const char* fat_tree =
    "shape: fat_tree\ndown: [4, 2, 2]\nup: [1, 2, 1]\ncables: [1, 1, 2]\n"
    "link: {bandwidth: 10GBps, latency: 1us}\n";
constexpr const char* graph =
    "shape: graph\nnodes: [a, b, {name: s, kind: switch}]\nlinks:\n"
    "  - {between: [a, s], bandwidth: 1GBps, latency: 1us}\n"
    "  - {between: [b, s], bandwidth: 2GBps, latency: 2us, duplex: shared}\n"
    "  - {between: [a, b], bandwidth: 3GBps, latency: 9us, duplex: one_way}\n";
constexpr const char* machines =
    "shape: star\nhosts: 4\nbandwidth: 50GBps\nlatency: 4us\n"
    "host:\n"
    "  shape: machine\n  devices: 4\n  nics: 2\n  pcie_switches: 2\n  interconnect: switch\n"
    "  links:\n    device: {bandwidth: 400GBps, latency: 1us}\n"
    "    pcie: {bandwidth: 50GBps, latency: 500ns}\n";

/// Latency and bandwidth between all pairs; hosts are the same by number.
void expect_same_routes(const Shape& shape, const Shape& copy) {
  ASSERT_EQ(copy.hosts.size(), shape.hosts.size());
  const int hosts = static_cast<int>(shape.hosts.size());
  for (int from = 0; from < hosts; ++from) {
    for (int to = 0; to < hosts; ++to) {
      if (from == to) continue;
      SCOPED_TRACE(fmt::format("from {} to {} of {}", from, to, shape.name));
      // Decimal texts and sums in another order: some last bits of the seconds.
      EXPECT_NEAR(copy.latency_seconds(from, to), shape.latency_seconds(from, to), 1e-14);
      EXPECT_DOUBLE_EQ(copy.bandwidth_bytes_per_second(from, to),
                       shape.bandwidth_bytes_per_second(from, to));
    }
  }
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++times;
  }
  return times;
}

TEST(ExportAstra, WhatItWritesIsImportedAsTheSameShape) {
  for (const std::string& yaml :
       {std::string(star), std::string(product),
        std::string("shape: ring\nhosts: 7\nbandwidth: 3GBps\nlatency: 936.25ns\n"),
        std::string("shape: ring\nhosts: 3\nbandwidth: 3GBps\nlatency: 1us\n"),
        std::string("shape: fully_connected\nhosts: 5\nbandwidth: 1GBps\nlatency: 1us\n"),
        std::string("shape: torus\ndimensions: [4, 2, 3]\nbandwidth: 1GBps\nlatency: 1us\n"),
        std::string("shape: hypercube\ndimensions: 4\nbandwidth: 1GBps\nlatency: 1us\n")}) {
    const Shape shape = parse_shape(yaml, "shape.yaml");
    const std::string text = export_astra(shape);
    SCOPED_TRACE(text);
    const Import import = import_topology(text, "net.yml");
    EXPECT_EQ(import.kind, "ASTRA-sim network YAML");
    expect_same_routes(shape, parse_shape(import.yaml, "imported.yaml"));
  }
}

TEST(ExportAstra, WritesOneEntryForEachDimension) {
  EXPECT_THAT(export_astra(parse_shape(product, "shape.yaml")),
              HasSubstr("topology: [ Ring, FullyConnected, Switch ]\n"
                        "npus_count: [ 4, 4, 3 ]\n"
                        "bandwidth: [ 150, 75, 12.5 ]  # GB/s\n"
                        "latency: [ 200, 400, 1500 ]  # ns\n"));
}

TEST(ExportAstra, SaysWhatIsLost) {
  EXPECT_THAT(export_astra(parse_shape(std::string(star) + "reduction: 10GBps\n", "shape.yaml")),
              HasSubstr("Lost: reduction speeds.\n"));
}

TEST(ExportAstra, RefusesWhatIsNoProductAndSaysWhy) {
  const auto refusal = [](const std::string& yaml) -> std::string {
    try {
      return "exported: " + export_astra(parse_shape(yaml, "shape.yaml"));
    } catch (const ShapeError& error) {
      return error.what();
    }
  };
  const std::string ends = "bandwidth: 1GBps\nlatency: 1us\n";
  EXPECT_THAT(refusal(fat_tree), HasSubstr("the dimensions have 4 hosts, the shape has 16"));
  EXPECT_THAT(refusal(graph), HasSubstr("is one-way, shared or has failed"));
  EXPECT_THAT(refusal(machines), HasSubstr("class"));
  EXPECT_THAT(refusal("shape: mesh\ndimensions: [4]\n" + ends), HasSubstr("none of these"));
  EXPECT_THAT(refusal("shape: graph\nnodes: [a, b, c, d]\nlinks:\n"
                      "  - {between: [a, b], bandwidth: 1GBps, latency: 1us}\n"
                      "  - {between: [b, c], bandwidth: 1GBps, latency: 1us}\n"
                      "  - {between: [c, d], bandwidth: 1GBps, latency: 2us}\n"
                      "  - {between: [d, a], bandwidth: 1GBps, latency: 1us}\n"),
              HasSubstr("of class 'link' differ"));
}

TEST(ExportSimgrid, WhatItWritesIsImportedAsTheSameShape) {
  for (const char* yaml : {star, product, fat_tree, graph, machines}) {
    const Shape shape = parse_shape(yaml, "shape.yaml");
    const Import import = import_topology(export_simgrid(shape), "platform.xml");
    EXPECT_THAT(import.kind, HasSubstr("SimGrid"));
    expect_same_routes(shape, parse_shape(import.yaml, "imported.yaml"));
  }
}

TEST(ExportSimgrid, CablesAreSplitDuplexAndRoutesThatAreMirroredAreListedOnce) {
  const std::string xml = export_simgrid(parse_shape(star, "shape.yaml"));
  EXPECT_EQ(count(xml, "sharing_policy=\"SPLITDUPLEX\""), 6U);
  EXPECT_EQ(count(xml, "<route "), 15U);
  EXPECT_EQ(count(xml, "direction=\"UP\""), 15U);
  EXPECT_EQ(count(xml, "direction=\"DOWN\""), 15U);
  EXPECT_EQ(count(xml, "symmetrical"), 0U);
}

TEST(ExportSimgrid, SharedAndOneWayLinksAreSharedLinks) {
  const std::string xml = export_simgrid(parse_shape(graph, "shape.yaml"));
  EXPECT_EQ(count(xml, "sharing_policy=\"SPLITDUPLEX\""), 1U);
  EXPECT_EQ(count(xml, "sharing_policy=\"SHARED\""), 2U);
  EXPECT_EQ(count(xml, "symmetrical=\"NO\""), 2U);
}

TEST(ExportSimgrid, SaysWhatIsLost) {
  const std::string xml = export_simgrid(
      parse_shape(std::string(star) + "reduction: 10GBps\nplacement: [0, 2]\n", "-"));
  EXPECT_THAT(xml, HasSubstr("Lost: reduction speeds, the placement of ranks."));
}

TEST(ExportLosses, AreWhatTheFormatHasNoPlaceFor) {
  using testing::ElementsAre;
  const Shape plain = parse_shape(star, "-");
  EXPECT_THAT(export_losses(plain, ExportFormat::simgrid), testing::IsEmpty());
  EXPECT_THAT(export_losses(plain, ExportFormat::astra), testing::IsEmpty());
  Shape shape = parse_shape(std::string(star) +
                                "host: {reduction: 10GBps, send_overhead: 1us, cores: 2, "
                                "loopback: {bandwidth: 50GBps, latency: 1us}}\n",
                            "-");
  shape.hosts[3].speed = 0.5;
  shape.links[0].overhead_seconds = 1e-6;
  EXPECT_THAT(export_losses(shape, ExportFormat::simgrid),
              ElementsAre("reduction speeds", "overheads of messages", "overheads of links",
                          "the placement of ranks"));
  EXPECT_THAT(export_losses(shape, ExportFormat::astra),
              ElementsAre("reduction speeds", "overheads of messages", "overheads of links",
                          "cores of hosts", "speeds of hosts", "the placement of ranks"));
}

TEST(ExportSimgrid, TheLargestFatTreeIsNoMoreThanCanBeRead) {
  const std::string yaml = fmt::format(
      "shape: fat_tree\ndown: [4, 4, {}]\nup: [1, 4, 4]\nlink: {{bandwidth: 10GBps, latency: "
      "1us}}\n",
      maximum_exported_hosts / 16);
  const Shape shape = parse_shape(yaml, "shape.yaml");
  EXPECT_EQ(shape.size(), maximum_exported_hosts);
  EXPECT_LT(export_simgrid(shape).size(), maximum_import_bytes);
}

TEST(ExportSimgrid, RefusesWhatWouldBeLongerThanCanBeRead) {
  Shape shape =
      parse_shape("shape: star\nhosts: 40\nbandwidth: 1GBps\nlatency: 1us\n", "shape.yaml");
  for (Link& link : shape.links) link.name.insert(0, std::string(50000, 'x'));
  try {
    export_simgrid(shape);
    FAIL() << "exported";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the routes between 40 hosts would be "),
                                    HasSubstr("expected at most 67108864")));
  }
}

TEST(ExportSimgrid, RefusesShapesWithTooManyRoutes) {
  const Shape shape =
      parse_shape("shape: star\nhosts: 321\nbandwidth: 1GBps\nlatency: 1us\n", "shape.yaml");
  try {
    export_simgrid(shape);
    FAIL() << "exported";
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("321 hosts, expected at most 320"));
  }
}

TEST(ExportDot, HostsAndSwitchesAreNodesAndEachCableIsOneLine) {
  const std::string dot = export_dot(parse_shape(star, "shape.yaml"));
  EXPECT_EQ(count(dot, "[shape=box,"), 6U);
  EXPECT_EQ(count(dot, "[shape=ellipse,"), 1U);
  EXPECT_EQ(count(dot, " -- "), 6U);
  EXPECT_THAT(dot,
              AllOf(HasSubstr("\"host-0\" -- \"switch\" [tooltip="), Not(HasSubstr("subgraph"))));
}

TEST(ExportDot, CablesThatAreAlikeAreDescribedOnceInALegend) {
  Shape shape = parse_shape(star, "shape.yaml");
  EXPECT_EQ(count(export_dot(shape), ">12.5 GB/s, 2.5 us<"), 1U);
  EXPECT_EQ(count(export_dot(shape), ", label=\"12.5 GB/s"), 0U);
  shape.links[0].latency_seconds = 7e-6;
  EXPECT_EQ(count(export_dot(shape), ">12.5 GB/s, 2.5 us<"), 0U);
  EXPECT_EQ(count(export_dot(shape), ", label=\"12.5 GB/s, 2.5 us\""), 5U);
  EXPECT_EQ(count(export_dot(shape), ", label=\"12.5 GB/s, 7 us\""), 1U);
}

TEST(ExportDot, MachinesAreFramesAroundTheirDevicesAndNics) {
  const std::string dot = export_dot(parse_shape(machines, "shape.yaml"));
  EXPECT_EQ(count(dot, "subgraph cluster_"), 2U);
  EXPECT_EQ(count(dot, "[shape=house,"), 4U);
  EXPECT_EQ(count(dot, "\n    \""), count(dot, "[shape=") - 1) << "only the switch is outside";
}

TEST(ExportDot, ArrowsAndDashesTellOneWayAndSharedLinks) {
  const std::string dot = export_dot(parse_shape(graph, "shape.yaml"));
  EXPECT_EQ(count(dot, "dir=forward"), 1U);
  EXPECT_EQ(count(dot, "style=dashed"), 1U);
}

TEST(ExportDot, QuotesInNamesAreEscaped) {
  Shape shape = parse_shape(star, "shape.yaml");
  shape.nodes[0].name = "a\"b";
  EXPECT_THAT(export_dot(shape), HasSubstr("\"a\\\"b\""));
}

}  // namespace
}  // namespace tutti
