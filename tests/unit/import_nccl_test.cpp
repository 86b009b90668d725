// NCCL's and RCCL's topologies: regular ones are machines, others graphs, and odd values are said.
#include <string>

#include "tests/unit/import_checks.hpp"
#include "topologies/fabric.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto ignored = ImportNote::Kind::ignored;
constexpr auto assumed = ImportNote::Kind::assumed;
constexpr auto suspicious = ImportNote::Kind::suspicious;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ImportNccl, GpusOnAnNvswitchAreAMachine) {
  const Import import = import_file(own_topology("nccl_nvswitch.xml"));
  EXPECT_EQ(import.kind, "NCCL topology XML");
  EXPECT_THAT(import.yaml, AllOf(HasSubstr("shape: machine\ndevices: 4\nnics: 4\npcie_switches: 2"),
                                 HasSubstr("interconnect: switch")));
  // 18 NVLinks of Hopper, of 20.6 GB/s each.
  expect_way(shape_of(import), "gpu-0", "gpu-3", 18 * 20.6e9, 0.6e-6);
  EXPECT_EQ(notes_of(import, suspicious), 0);
}

TEST(ImportNccl, AMachineCanBeAHostOfACluster) {
  const Import import = import_file(own_topology("nccl_nvswitch.xml"));
  std::string host;
  for (const char c : import.yaml) host += c == '\n' ? std::string("\n  ") : std::string(1, c);
  const Shape shape = parse_shape(
      "shape: star\nhosts: 8\nlink: {bandwidth: 40GBps, latency: 2us}\nhost:\n  " + host, "y");
  ASSERT_EQ(shape.hosts.size(), 8U);
  // Over PCIe to the NIC, through the star, and over PCIe again.
  EXPECT_NEAR(shape.latency_seconds(0, 7), 2e-6 + 4 * 0.5e-6, 1e-12);
  EXPECT_NEAR(shape.bandwidth_bytes_per_second(0, 7), 40e9, 1.0);
}

TEST(ImportNccl, RingsAndMeshesAreFoundByWhatGpusAreLinkedTo) {
  const Import ring = import_file(own_topology("nccl_ring.xml"));
  EXPECT_THAT(ring.yaml, HasSubstr("interconnect: ring"));
  expect_way(shape_of(ring), "gpu-0", "gpu-1", 2 * 20e9, 0.6e-6);
  expect_way(shape_of(ring), "gpu-3", "gpu-0", 2 * 20e9, 0.6e-6);
  EXPECT_THAT(ring.notes, has_note(suspicious, 27, "4 GPUs share one NIC"));
  const Import mesh = import_file(own_topology("rccl_mesh.xml"));
  EXPECT_EQ(mesh.kind, "RCCL topology XML");
  EXPECT_THAT(mesh.yaml, HasSubstr("interconnect: mesh"));
  expect_way(shape_of(mesh), "gpu-0", "gpu-3", 48e9, 0.6e-6);
}

TEST(ImportNccl, OddValuesAreTakenAndSaid) {
  const Import import = import_file(own_topology("nccl_traps.xml"));
  EXPECT_THAT(import.notes, has_note(suspicious, 3, "has 6 GB/s, less than the 48 GB/s"));
  EXPECT_THAT(import.notes, has_note(suspicious, 4, "expected '32 GT/s' or '32.0 GT/s PCIe'"));
  EXPECT_THAT(import.notes, has_note(suspicious, 5, "gpu-0 and gpu-1 differ by direction"));
  EXPECT_THAT(import.notes, has_note(suspicious, 6, "leads to itself"));
  EXPECT_THAT(import.notes, has_note(suspicious, 8, "'0000:99:00.0', which is no GPU"));
  EXPECT_THAT(import.notes, has_note(suspicious, 11, "'Unknown speed': 8 GT/s is taken"));
  EXPECT_THAT(import.notes, has_note(assumed, 16, "16 lanes"));
  EXPECT_THAT(import.notes, has_note(suspicious, 18, "25000 GB/s"));
  EXPECT_THAT(import.notes, has_note(suspicious, 21, "busid '0000:13:00.0' is given twice"));
  EXPECT_THAT(import.notes, has_note(assumed, 23, "10 Gb/s"));
  EXPECT_THAT(import.notes, has_note(ignored, 23, "slower than other NICs"));
  EXPECT_THAT(import.notes, has_note(suspicious, 34, "2 GPUs share one NIC"));
  EXPECT_THAT(import.notes, has_note(suspicious, 0, "no 'dev' or the same"));
  EXPECT_THAT(import.yaml, HasSubstr("gateways: [mlx5_0, mlx5_1]"));
  const Shape shape = shape_of(import);
  expect_way(shape, "gpu-0", "gpu-1", 80e9, 0.6e-6);
  expect_way(shape, "gpu-1", "gpu-0", 40e9, 0.6e-6);
  expect_way(shape, "gpu-0", "gpu-2", 6e9, 2e-6);
  expect_way(shape, "gpu-2", "gpu-3", 24e9, 1e-6);
}

TEST(ImportNccl, PciSpeedsAreThoseOfNcclsTable) {
  const std::string ring = text_of(own_topology("nccl_ring.xml"));
  const auto bandwidth_of_nic = [&](const std::string& speed, const std::string& width) {
    std::string text = ring;
    for (std::size_t at = 0;
         (at = text.find("8 GT/s\" link_width=\"16\"", at)) != std::string::npos;) {
      text.replace(at, std::string("8 GT/s\" link_width=\"16\"").size(),
                   speed + "\" link_width=\"" + width + "\"");
      at += speed.size();
    }
    const std::string yaml = import_topology(text, "f").yaml;
    return yaml.substr(yaml.find("pcie: "), yaml.find(", latency: 500ns") - yaml.find("pcie: "));
  };
  EXPECT_EQ(bandwidth_of_nic("2.5 GT/s PCIe", "16"), "pcie: {bandwidth: 3GBps");
  EXPECT_EQ(bandwidth_of_nic("16 GT/s", "8"), "pcie: {bandwidth: 12GBps");
  EXPECT_EQ(bandwidth_of_nic("64.0 GT/s PCIe", "16"), "pcie: {bandwidth: 96GBps");
  EXPECT_EQ(bandwidth_of_nic("32.0 GT/s", "16"), "pcie: {bandwidth: 48GBps");
}

TEST(ImportNccl, ANvlinkToTheCpuMakesAGraph) {
  const std::string text =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"arm64\">"
      "<pci busid=\"0009:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\"><gpu dev=\"0\" sm=\"90\"><nvlink target=\"0009:00:00.0\" count=\"5\" "
      "tclass=\"0x068001\"/><c2c bw=\"44712\" count=\"5\"/></gpu></pci>"
      "<nic><net name=\"veth\" speed=\"100000\"/></nic></cpu></system>";
  const Import import = import_topology(text, "f");
  EXPECT_THAT(import.yaml, AllOf(HasSubstr("between: [gpu-0, cpu-0], bandwidth: 103GBps"),
                                 HasSubstr("gateways: [veth]")));
  EXPECT_THAT(import.notes, has_note(ignored, 1, "<c2c>"));
  EXPECT_EQ(shape_of(import).hosts.size(), 1U);
}

TEST(ImportNccl, RefusalsSayLineFindingAndExpectation) {
  EXPECT_THAT(refusal_of("<system version=\"1\"/>"),
              StartsWith("file.xml:1:2: <system>: has no GPU, expected one at least"));
  const std::string text = text_of(own_topology("nccl_ring.xml"));
  EXPECT_THAT(refusal_of(replaced(text, "busid=\"0000:01:00.0\"", "")),
              StartsWith("file.xml:9:6: <pci>: the attribute 'busid' is missing"));
  EXPECT_THAT(refusal_of(replaced(text, "target=\"0000:03:00.0\"", "")),
              StartsWith("file.xml:6:10: <nvlink>: the attribute 'target' is missing"));
}

TEST(ImportNcclRealFiles, TreesWithoutNvlinksAreGraphsOfPcie) {
  TUTTI_NEED_FILE(real_topology("aws__p4d-24xl-topo.xml"));
  const Import aws = import_file(real_topology("aws__p4d-24xl-topo.xml"));
  EXPECT_EQ(notes_of(aws, suspicious), 4);
  EXPECT_THAT(aws.notes, has_note(suspicious, 20, "2 GPUs share one NIC"));
  EXPECT_THAT(aws.notes, has_note(assumed, 18, "a GPU by its class only"));
  expect_way(shape_of(aws), "gpu-0", "gpu-1", 12e9, 1e-6);
  expect_way(shape_of(aws), "gpu-0", "gpu-7", 10e9, 2.5e-6);
  const Import azure = import_file(real_topology("azure__ndv4-topo.xml"));
  EXPECT_EQ(notes_of(azure, suspicious), 0);
  expect_way(shape_of(azure), "gpu-0", "gpu-7", 16e9, 2.5e-6);
}

TEST(ImportNcclRealFiles, SlowBridgesOfAnH100AreSaidAndKept) {
  TUTTI_NEED_FILE(real_topology("oci__H100-topology.xml"));
  const Import import = import_file(real_topology("oci__H100-topology.xml"));
  EXPECT_EQ(notes_of(import, suspicious), 8);
  EXPECT_THAT(import.notes, has_note(suspicious, 4, "'0000:08:00.0' has 6 GB/s"));
  expect_way(shape_of(import), "gpu-0", "gpu-7", 18 * 20.6e9, 0.6e-6);
}

TEST(ImportNcclRealFiles, AnMi300xIsAMachineWithAMesh) {
  TUTTI_NEED_FILE(real_topology("rccl__topo_8p_940.xml"));
  const Import import = import_file(real_topology("rccl__topo_8p_940.xml"));
  EXPECT_THAT(import.yaml, AllOf(HasSubstr("devices: 8\nnics: 8\npcie_switches: 8"),
                                 HasSubstr("interconnect: mesh"), Not(HasSubstr("suspicious"))));
  expect_way(shape_of(import), "gpu-0", "gpu-7", 48e9, 0.6e-6);
}

}  // namespace
}  // namespace tutti
