// The importers of text formats: what they take from a file, what they say about it, what they
// refuse. Bandwidths and latencies are checked on the shape that the written YAML gives.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "topologies/fabric.hpp"
#include "topologies/import.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

constexpr auto ignored = ImportNote::Kind::ignored;
constexpr auto assumed = ImportNote::Kind::assumed;
constexpr auto suspicious = ImportNote::Kind::suspicious;

// A hundredth of a picosecond, beyond which sums of decimal fractions differ.
constexpr double rounding_seconds = 1e-14;

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file << " cannot be read";
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string fixture(const std::string& name) {
  return read_text("tests/fixtures/topologies/" + name);
}

Shape shape_of(const Import& import) {
  SCOPED_TRACE(import.yaml);
  return parse_shape(import.yaml, "imported.yaml");
}

Import import_text(const std::string& text, std::string_view name) {
  return import_topology(text, "file", name);
}

std::string refusal(const std::string& text, std::string_view name) {
  try {
    return "imported: " + import_text(text, name).yaml;
  } catch (const ShapeError& error) {
    return error.what();
  }
}

auto note(ImportNote::Kind kind, const std::string& text) {
  return Contains(AllOf(Field(&ImportNote::kind, kind), Field(&ImportNote::text, HasSubstr(text))));
}

auto note_at(ImportNote::Kind kind, int line, const std::string& text) {
  return Contains(AllOf(Field(&ImportNote::kind, kind), Field(&ImportNote::line, line),
                        Field(&ImportNote::text, HasSubstr(text))));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

int host_named(const Shape& shape, const std::string& name) {
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    if (shape.hosts[host].name == name) return static_cast<int>(host);
  }
  ADD_FAILURE() << "no host " << name;
  return 0;
}

/// The nodes on the way between two hosts.
std::vector<std::string> way(const Shape& shape, const std::string& from, const std::string& to) {
  std::vector<std::string> nodes = {from};
  int at = host_named(shape, from);
  for (const int index : shape.route(at, host_named(shape, to))) {
    const Link& link = shape.links[static_cast<std::size_t>(index)];
    at = link.from == at ? link.to : link.from;
    nodes.push_back(shape.nodes[static_cast<std::size_t>(at)].name);
  }
  return nodes;
}

void expect_pair(const Shape& shape, int from, int to, double bandwidth, double latency) {
  SCOPED_TRACE(fmt::format("from {} to {} of {}", from, to, shape.name));
  EXPECT_NEAR(shape.bandwidth_bytes_per_second(from, to), bandwidth, 1e-9 * bandwidth);
  EXPECT_NEAR(shape.latency_seconds(from, to), latency, rounding_seconds);
}

TEST(ImportAstra, DimensionsBecomeAProductOfTheirBandwidthsAndLatencies) {
  const Import import = import_topology(fixture("astra_three_dimensions.yml"), "net.yml");
  EXPECT_EQ(import.kind, "ASTRA-sim network YAML");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 24U);
  expect_pair(shape, 0, 1, 150e9, 200e-9);
  expect_pair(shape, 0, 2, 150e9, 400e-9);
  expect_pair(shape, 0, 4, 75e9, 400e-9);
  expect_pair(shape, 0, 16, 12.5e9, 3000e-9);
  expect_pair(shape, 0, 23, 12.5e9, 200e-9 + 400e-9 + 3000e-9);
}

TEST(ImportAstra, ListsInBlocksAreListsToo) {
  const Import import = import_topology(fixture("astra_blocks.yml"), "net.yml");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 16U);
  expect_pair(shape, 0, 7, 300e9, 501e-9);
  expect_pair(shape, 0, 8, 50e9, 8000e-9);
  EXPECT_THAT(import.notes, note_at(ignored, 13, "scheduling-policy"));
  EXPECT_THAT(import.notes, note_at(assumed, 5, "each of its two links"));
  EXPECT_THAT(import.notes, note(assumed, "GB/s are 1e9"));
}

TEST(ImportAstra, OneDimensionBecomesAStarARingOrAFullyConnectedShape) {
  const std::string text =
      "topology: [ {} ]\nnpus_count: [ 6 ]\nbandwidth: [ 40 ]\nlatency: [ 500 ]";
  for (const auto& [theirs, ours, links] :
       {std::tuple("Switch", "star", 2), std::tuple("Ring", "ring", 3),
        std::tuple("FullyConnected", "fully_connected", 1)}) {
    const Import import = import_text(replaced(text, "{}", theirs), "astra-sim");
    EXPECT_THAT(import.yaml, HasSubstr(fmt::format("shape: {}\n", ours)));
    expect_pair(shape_of(import), 0, 3, 40e9, links * 500e-9);
  }
}

TEST(ImportAstra, DimensionsOfOneAreLeftOut) {
  const Import import = import_text(
      "topology: [Ring, Switch]\nnpus_count: [1, 4]\nbandwidth: [1, 2]\nlatency: [3, 4]",
      "astra-sim");
  EXPECT_THAT(import.notes, note(ignored, "dimensions of 1 NPU"));
  EXPECT_EQ(shape_of(import).hosts.size(), 4U);
}

TEST(ImportAstra, SaysAtWhichLineSomethingElseWasExpected) {
  const std::string good = fixture("astra_three_dimensions.yml");
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(replaced(good, from, to), "astra-sim");
  };
  EXPECT_THAT(with("[ Ring", "[ Torus2D"),
              AllOf(HasSubstr("file:2:13: topology: found 'Torus2D'"),
                    HasSubstr("expected Ring, FullyConnected or Switch")));
  EXPECT_THAT(with("[ 4, 2, 3 ]", "[ 4, 2 ]"),
              HasSubstr("file:3:13: npus_count has 2 entries, expected 3 as topology has"));
  EXPECT_THAT(with("4, 2, 3", "4, 0, 3"), HasSubstr("file:3:18: npus_count: found '0', expected"));
  EXPECT_THAT(with("12.5 ]", "12.5GB/s ]"), HasSubstr("file:4:25: bandwidth: found '12.5GB/s'"));
  EXPECT_THAT(with("12.5 ]", "-1 ]"), HasSubstr("file:4:25: bandwidth: found '-1'"));
  EXPECT_THAT(with("200, ", "nan, "), HasSubstr("file:5:12: latency: found 'nan'"));
  EXPECT_THAT(with("latency:", "latencies:"),
              HasSubstr("file:5:1: no key latency but 'latencies', expected the keys"));
  EXPECT_THAT(with("[ 150.0, 75, 12.5 ]", "{a: 1}"), HasSubstr("file:4:12: bandwidth is no list"));
  EXPECT_THAT(with("4, 2, 3", "1000000, 2, 3"), HasSubstr("6e+06 hosts with"));
  EXPECT_THAT(with("bandwidth", "latency"), HasSubstr("latency"));
}

TEST(ImportAstra, ANicOf25TerabytesPerSecondIsSuspicious) {
  const Import import = import_text(
      replaced(fixture("astra_three_dimensions.yml"), "12.5 ]", "25000 ]"), "astra-sim");
  EXPECT_THAT(import.notes, note_at(suspicious, 4, "25TBps"));
}

TEST(ImportNvidiaSmi, NvlinksAreCablesBetweenTheirGpusAndTheRestIsTheTreeOfPcie) {
  const Import import = import_topology(fixture("nvidia_smi_chain.txt"), "topo.txt");
  EXPECT_EQ(import.kind, "nvidia-smi topo -m");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 4U);
  expect_pair(shape, 0, 1, 40e9, 0.6e-6);
  expect_pair(shape, 0, 3, 20e9, 0.6e-6);
  // Not over the NVLinks of another GPU, but over both sockets.
  EXPECT_THAT(way(shape, "GPU0", "GPU2"),
              ElementsAre("GPU0", "pcie-0", "cpu-0", "cpu-1", "pcie-upper-0", "GPU2"));
  expect_pair(shape, 0, 2, 10e9, 2.5e-6);
  EXPECT_THAT(import.notes, note(assumed, "20 GB/s and direction for each NVLink"));
  EXPECT_THAT(import.notes, note(assumed, "12 GB/s for each PCIe cable"));
  EXPECT_THAT(import.yaml, HasSubstr("gateways: [mlx5_0, mlx5_1]"));
  EXPECT_THAT(import.notes, note_at(suspicious, 6, "GPU0, GPU1 share mlx5_0"));
}

TEST(ImportNvidiaSmi, MoreNvlinksThanAGpuHasLeadToASwitch) {
  const Import import = import_topology(fixture("nvidia_smi_nvswitch.txt"), "topo.txt");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 8U);
  for (const int to : {1, 7}) expect_pair(shape, 0, to, 18 * 20.6e9, 0.6e-6);
  EXPECT_THAT(way(shape, "GPU0", "GPU5"), ElementsAre("GPU0", "nvswitch", "GPU5"));
  EXPECT_THAT(import.notes, note(assumed, "lead to a switch"));
  EXPECT_THAT(import.yaml, HasSubstr("gateways: [NIC0, NIC1, NIC2, NIC3, NIC4, NIC5, NIC6, NIC7]"));
  EXPECT_THAT(import.notes, note(assumed, "by the NIC that is nearest"));
  EXPECT_THAT(import.notes, note(ignored, "NIC8 as a way out"));
  EXPECT_THAT(import.notes, note(ignored, "the names of the NICs"));
  EXPECT_THAT(import.notes, Each(Field(&ImportNote::kind, Not(suspicious))));
}

TEST(ImportNvidiaSmi, WhatTheTerminalAndPastingAddedOrLostIsUnderstoodAndNoted) {
  const Import import = import_topology(fixture("nvidia_smi_pasted.txt"), "topo.txt");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 4U);
  EXPECT_THAT(way(shape, "GPU0", "GPU1"), ElementsAre("GPU0", "pcie-0", "GPU1"));
  EXPECT_THAT(way(shape, "GPU1", "GPU2"), ElementsAre("GPU1", "pcie-0", "cpu-0", "pcie-1", "GPU2"));
  EXPECT_THAT(import.notes, note_at(suspicious, 2, "'GPU1GPU2' has no blanks"));
  EXPECT_THAT(import.notes, note_at(suspicious, 3, "'PIXPHB' has no blanks"));
  EXPECT_THAT(import.notes, note_at(suspicious, 6, "'PHB0-7' has no blanks"));
  EXPECT_THAT(import.notes, note_at(suspicious, 7, "GPU0, GPU1, GPU2, GPU3 share NIC0"));
}

TEST(ImportNvidiaSmi, TheFirstCharacterOfAnEscapeSequenceMayBeLost) {
  const std::string text = replaced(fixture("nvidia_smi_pasted.txt"), "\x1b[4m", "[4m");
  EXPECT_EQ(shape_of(import_topology(text, "topo.txt")).hosts.size(), 4U);
}

TEST(ImportNvidiaSmi, AsTheHostOfAnotherShapeGpusLeaveByTheirNics) {
  std::string yaml = "shape: star\nhosts: 4\nbandwidth: 25GBps\nlatency: 2us\nhost:\n";
  std::string imported = import_topology(fixture("nvidia_smi_chain.txt"), "topo.txt").yaml;
  for (std::size_t at = 0; (at = imported.find('\n', at)) != std::string::npos; at += 3) {
    imported.replace(at, 1, "\n  ");
  }
  const Shape shape = parse_shape(yaml + "  " + imported, "cluster.yaml");
  ASSERT_EQ(shape.hosts.size(), 8U);
  const std::vector<std::string> nodes = way(shape, shape.hosts[0].name, shape.hosts[4].name);
  EXPECT_THAT(nodes[2], HasSubstr("mlx5_0")) << "after the PCIe switch";
  EXPECT_THAT(nodes[nodes.size() - 3], HasSubstr("mlx5_0"));
  EXPECT_THAT(way(shape, shape.hosts[2].name, shape.hosts[7].name), Contains(HasSubstr("mlx5_1")));
}

TEST(ImportNvidiaSmi, AMachineOfOneGpuIsAMachine) {
  const Import import =
      import_topology("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-31\t\tN/A\n", "topo.txt");
  EXPECT_EQ(shape_of(import).hosts.size(), 1U);
}

TEST(ImportNvidiaSmi, ContradictionsAreSuspicious) {
  const std::string good = fixture("nvidia_smi_chain.txt");
  const auto notes_with = [&](const std::string& from, const std::string& to) {
    const Import import = import_text(replaced(good, from, to), "nvidia-smi");
    shape_of(import);
    return import.notes;
  };
  EXPECT_THAT(notes_with("GPU0\t X", "GPU0\tNV4"),
              note_at(suspicious, 2, "GPU0 is connected to itself by NVLink"));
  EXPECT_THAT(notes_with("GPU1\tNV2", "GPU1\tNV1"),
              note_at(suspicious, 3, "GPU0 and GPU1 disagree"));
  EXPECT_THAT(notes_with("\tGPU1\tGPU2", "\tGPU1\tGPU1"),
              note_at(suspicious, 1, "GPU1 comes twice"));
  EXPECT_THAT(notes_with("X \tNV2\t SYS", "X \tNV112\t SYS"),
              note(suspicious, "NVLinks, more than any"));
  EXPECT_THAT(notes_with("GPU3\tNV1", "gone\tNV1"), note(suspicious, "no row of GPU3"));
  EXPECT_THAT(notes_with("GPU2\tSYS", "GPU1\tSYS\nGPU2\tSYS"),
              note_at(suspicious, 4, "another row of 'GPU1'"));
  EXPECT_THAT(notes_with("\t X \tSYS\t\t\n", "\t X \tPIX\t\t\n"),
              note(suspicious, "mlx5_0 and mlx5_1"));
}

TEST(ImportNvidiaSmi, SaysAtWhichLineSomethingElseWasExpected) {
  const std::string good = fixture("nvidia_smi_chain.txt");
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(replaced(good, from, to), "nvidia-smi");
  };
  EXPECT_THAT(
      with("PIX\tNODE\tSYS", "PIX\tNOD\tSYS"),
      HasSubstr("file:6:12: found 'NOD' in the row of mlx5_0 and the column of GPU1, expected "
                "X, NV#, PIX, PXB, PHB, NODE or SYS"));
  EXPECT_THAT(with("SYS\tSYS\tPXB\tPHB\tSYS\t X", "SYS\tSYS\tPXB\tPHB"),
              HasSubstr("file:7:20: 4 cells in the row of mlx5_1, expected 6"));
  EXPECT_THAT(with("GPU0\t X \tNV2", "GPU0\t NV2 \tX"),
              HasSubstr("file:2:12: an X between GPU0 and GPU1"));
  EXPECT_THAT(refusal("nothing of the kind", "nvidia-smi"), HasSubstr("no line that names GPU0"));
}

TEST(ImportSimai, NvswitchesAndSwitchesConnectTheGpus) {
  const Import import = import_topology(fixture("simai_two_servers.txt"), "topo");
  EXPECT_EQ(import.kind, "SimAI topology");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 4U);
  expect_pair(shape, 0, 1, 450e9, 50e-9);
  EXPECT_THAT(way(shape, "gpu-0", "gpu-1"), ElementsAre("gpu-0", "nvswitch-4", "gpu-1"));
  expect_pair(shape, 0, 2, 50e9, 1e-6);
  // Over the spine, not over the other GPU of a server.
  EXPECT_THAT(way(shape, "gpu-0", "gpu-3"),
              ElementsAre("gpu-0", "switch-6", "switch-8", "switch-7", "gpu-3"));
  EXPECT_THAT(import.notes, note(ignored, "H100"));
  EXPECT_EQ(shape.links[0].link_class, "nvlink");
}

TEST(ImportSimai, ASwitchMayStandOnALineOfItsOwnAndTheHeaderMayHaveASeventhWord) {
  const std::string text = replaced(replaced(fixture("simai_two_servers.txt"), "H100", "H100 2"),
                                    "4 5 6 7 8", "4 5\n6 7 8");
  EXPECT_EQ(shape_of(import_topology(text, "topo")).hosts.size(), 4U);
}

TEST(ImportNs3, WithoutSwitchesHostsForward) {
  const Import import = import_topology(fixture("ns3_square.txt"), "topo");
  EXPECT_EQ(import.kind, "ns-3 physical topology");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 4U);
  expect_pair(shape, 0, 2, 25e9, 500e-9);
  expect_pair(shape, 1, 3, 12.5e9, 2e-6);
  EXPECT_THAT(import.notes, note(assumed, "hosts forward"));
}

TEST(ImportNs3, SwitchesErrorRatesParallelLinksAndTextBehindAreUnderstood) {
  const Import import = import_topology(fixture("ns3_switched.txt"), "topo");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 3U);
  expect_pair(shape, 0, 2, 6.25e9, 4e-6);
  EXPECT_THAT(import.notes, note_at(ignored, 4, "error rates"));
  EXPECT_THAT(import.notes, note_at(suspicious, 7, "another link between nodes 3 and 4"));
  EXPECT_THAT(import.notes, note_at(ignored, 8, "behind the links"));
}

TEST(ImportNs3, WhatIsProbablyNotMeantIsSuspicious) {
  const std::string good = fixture("ns3_square.txt");
  const auto notes_with = [&](const std::string& from, const std::string& to) {
    const Import import = import_text(replaced(good, from, to), "ns3");
    shape_of(import);
    return import.notes;
  };
  EXPECT_THAT(notes_with("200Gbps", "25000000000"), note_at(suspicious, 7, "has no unit"));
  EXPECT_THAT(notes_with("500ns", "0.0000005"), note_at(suspicious, 7, "has no unit"));
  EXPECT_THAT(notes_with("200Gbps", "200000Gbps"), note_at(suspicious, 7, "25TBps, more than any"));
  EXPECT_THAT(notes_with("200Gbps", "200bps"), note_at(suspicious, 7, "less than any"));
  EXPECT_THAT(notes_with("0 2 200", "2 2 200"), note_at(suspicious, 7, "node 2 to itself"));
  EXPECT_THAT(notes_with("0 2 200", "0 1 200"), note_at(suspicious, 7, "another link"));
  EXPECT_THAT(notes_with("4 0 5", "4 0 6"), note_at(suspicious, 1, "says 6 links, there are 5"));
  EXPECT_THAT(notes_with("4 0 5", "4 0 4"), note_at(suspicious, 7, "more links than the 4"));
}

TEST(ImportNs3, SaysAtWhichLineSomethingElseWasExpected) {
  const std::string good = fixture("ns3_switched.txt");
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(replaced(good, from, to), "ns3");
  };
  EXPECT_THAT(with("0 3 50Gbps", "0 9 50Gbps"),
              HasSubstr("file:3:3: found '9', expected the number of a node from 0 to 4"));
  EXPECT_THAT(with("50Gbps 1us 0\n", "50Gbps 1us\n"), HasSubstr("file:3:1: 4 words, expected 5"));
  EXPECT_THAT(with("50Gbps", "50Gb"),
              HasSubstr("file:3:5: found '50Gb', expected a bandwidth such"));
  EXPECT_THAT(with("50Gbps", "0Gbps"), HasSubstr("file:3:5: found '0Gbps'"));
  EXPECT_THAT(with("50Gbps", "-5Gbps"), HasSubstr("file:3:5: found '-5Gbps'"));
  EXPECT_THAT(with("1us", "1h"), HasSubstr("file:3:12: found '1h', expected a latency such"));
  EXPECT_THAT(with("0.01", "none"), HasSubstr("file:4:16: found 'none', expected an error rate"));
  EXPECT_THAT(with("5 2 5", "1000000 2 5"),
              HasSubstr("file:1:1: 1000000 nodes, expected from 1 to"));
  EXPECT_THAT(with("5 2 5", "5 5 5"), HasSubstr("expected at least one host"));
  EXPECT_THAT(with("5 2 5", "5 2 5000000"), HasSubstr("5000000 links, expected at most"));
  EXPECT_THAT(with("0 3 50Gbps", "1 3 50Gbps"), HasSubstr("no links lead from host 0 to host 1"));
  EXPECT_THAT(with("3 4\n", "3 4 4\n"), HasSubstr("file:2:5: found '4', expected 2 switches"));
  EXPECT_THAT(refusal("5 2 5\n3\n", "ns3"), HasSubstr("the end, expected 1 more switches"));
  EXPECT_THAT(refusal("", "ns3"), HasSubstr("expected the counts of nodes, switches and links"));
}

TEST(ImportHtsim, TiersBecomeTheLevelsOfAFatTree) {
  const Import import = import_topology(fixture("htsim_three_tiers.topo"), "a.topo");
  EXPECT_EQ(import.kind, "htsim topology");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 16U);
  EXPECT_THAT(import.yaml, AllOf(HasSubstr("down: [4, 2, 2]"), HasSubstr("up: [1, 2, 1]"),
                                 HasSubstr("cables: [1, 1, 2]")));
  // Links of 500, 1000 and 2000 ns, and switches of 100, 200 and 300 ns.
  expect_pair(shape, 0, 1, 12.5e9, 2 * 500e-9 + 100e-9);
  expect_pair(shape, 0, 4, 12.5e9, 2 * (500e-9 + 1000e-9) + 2 * 100e-9 + 200e-9);
  expect_pair(shape, 0, 8, 12.5e9, 2 * 3500e-9 + 2 * (100e-9 + 200e-9) + 300e-9);
  EXPECT_THAT(import.notes, note_at(ignored, 12, "queues"));
  EXPECT_THAT(import.notes, Each(Field(&ImportNote::kind, Not(suspicious))));
}

TEST(ImportHtsim, KeysOfAnyCaseAndALatencyThatIsLeftOutAreUnderstood) {
  const Import import = import_topology(fixture("htsim_two_tiers.topo"), "a.topo");
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 32U);
  expect_pair(shape, 0, 1, 25e9, 2e-6);
  expect_pair(shape, 0, 31, 25e9, 3.2e-6);
  EXPECT_THAT(import.notes, note_at(assumed, 5, "1 us for the latency"));
  EXPECT_THAT(import.notes, note_at(suspicious, 5, "oversubscribed 2 to 1"));
}

TEST(ImportHtsim, SaysAtWhichLineSomethingElseWasExpected) {
  const std::string good = fixture("htsim_three_tiers.topo");
  const auto with = [&](const std::string& from, const std::string& to) {
    return refusal(replaced(good, from, to), "htsim");
  };
  EXPECT_THAT(with("Radix_Down 2\n", "Radix_Down 3\n"),
              HasSubstr("file:15: radix_down 3, expected 2 for 2 switches below"));
  EXPECT_THAT(with("Bundle 2", "Bundle 3"),
              HasSubstr("file:22: radix_up 2 is no multiple of bundle 3"));
  EXPECT_THAT(with("Podsize 8", "Podsize 5"),
              HasSubstr("podsize 5 is no multiple of radix_down 4"));
  EXPECT_THAT(with("Nodes 16", "Nodes sixteen"), HasSubstr("file:2:7: nodes: found 'sixteen'"));
  EXPECT_THAT(with("Nodes 16", "Nodes 99999999999"),
              HasSubstr("file:2:7: nodes: found '99999999999'"));
  EXPECT_THAT(with("Tiers 3", "Nodes 17"), HasSubstr("file:3:1: 'nodes' is given twice"));
  EXPECT_THAT(with("Tiers 3", "Tiers 2"), HasSubstr("3 tiers are described, expected 2"));
  EXPECT_THAT(with("Tier 1", "Tier 2"), HasSubstr("file:15:6: tier: found '2', expected 1"));
  EXPECT_THAT(with("Radix_Up 2", "Radix_Sideways 2"),
              HasSubstr("file:9:1: found 'radix_sideways'"));
  EXPECT_THAT(with("Downlink_speed_Gbps 100", ""), HasSubstr("no key downlink_speed_gbps"));
  EXPECT_THAT(
      refusal(replaced(fixture("htsim_two_tiers.topo"), "podsize 32", "podsize 16"), "htsim"),
      HasSubstr("2 pods of 2 tiers do not reach each other, expected podsize 32"));
}

// Real files of others lie beside the project where it is developed.
TEST(ImportText, TakesTheRealFilesThatAreThere) {
  const std::filesystem::path folder = "../shared/fixtures/topologies";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  struct Expected {
    std::string file;
    std::string kind;
    std::size_t hosts;
    double bandwidth;  ///< From the first to the last host.
    double latency;
  };
  const std::vector<Expected> all = {
      {"astra-net-analytical__Ring_FullyConnected_Switch.yml", "ASTRA-sim network YAML", 64, 50e9,
       50e-9 + 500e-9 + 4000e-9},
      {"astra-sim__HGX-H100-validated.yml", "ASTRA-sim network YAML", 8, 400e9, 2 * 936.25e-9},
      {"nvidia-smi__8xPCIe_PIX_PHB_SYS.txt", "nvidia-smi topo -m", 8, 10e9, 2.5e-6},
      {"nvidia-smi__8xV100_irregular_tabs.txt", "nvidia-smi topo -m", 8, 40e9, 0.6e-6},
      {"simai__DCN+DualToR_16g_8gps_200Gbps_A100", "SimAI topology", 16, 25e9, 1e-6},
  };
  for (const auto& [file, kind, hosts, bandwidth, latency] : all) {
    SCOPED_TRACE(file);
    const Import import = import_topology(read_text(folder / file), file);
    EXPECT_EQ(import.kind, kind);
    const Shape shape = shape_of(import);
    ASSERT_EQ(shape.hosts.size(), hosts);
    expect_pair(shape, 0, static_cast<int>(hosts) - 1, bandwidth, latency);
  }
}

}  // namespace
}  // namespace tutti
