// hwloc's matrices of bandwidths and latencies.
#include <string>

#include "tests/unit/import_checks.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto ignored = ImportNote::Kind::ignored;
constexpr auto assumed = ImportNote::Kind::assumed;
constexpr auto suspicious = ImportNote::Kind::suspicious;

std::string topology(const std::string& matrix) {
  return "<topology version=\"2.0\">\n<object type=\"Machine\" gp_index=\"1\">\n"
         "<object type=\"OSDev\" gp_index=\"7\" name=\"gpu7\"/>\n"
         "<object type=\"OSDev\" gp_index=\"8\" name=\"gpu8\"/>\n</object>\n" +
         matrix + "\n</topology>\n";
}

std::string bandwidths(const std::string& values, const std::string& indexes = "7 8") {
  return topology(
      "<distances2 type=\"OSDev\" nbobjs=\"2\" kind=\"9\" name=\"XGMIBandwidth\" "
      "indexing=\"gp\"><indexes>" +
      indexes + "</indexes><u64values>" + values + "</u64values></distances2>");
}

TEST(ImportHwloc, SwitchesWithTheSameDevicesAreOne) {
  const Import import = import_file(own_topology("hwloc_nvswitches.xml"));
  EXPECT_EQ(import.kind, "hwloc XML");
  const Shape shape = shape_of(import);
  EXPECT_EQ(shape.nodes.size(), 3U);
  expect_way(shape, "nvml0", "nvml1", 75e9, 0.6e-6);
  EXPECT_THAT(import.notes, has_note(ignored, 16, "NUMALatency"));
  EXPECT_THAT(import.notes, has_note(assumed, 20, "2 switches are 1 here"));
}

TEST(ImportHwloc, LatenciesAloneNeedABandwidth) {
  const Import import = import_file(own_topology("hwloc_numa.xml"));
  expect_way(shape_of(import), "NUMANode-0", "NUMANode-1", 20e9, 160e-9);
  expect_way(shape_of(import), "NUMANode-2", "NUMANode-1", 20e9, 320e-9);
  EXPECT_THAT(import.notes, has_note(suspicious, 9, "latencies only"));
}

TEST(ImportHwloc, DevicesAreLinkedAsFastAsTheMatrixSays) {
  expect_way(shape_of(import_topology(bandwidths("0 100000 100000 0"), "f")), "gpu7", "gpu8", 100e9,
             0.6e-6);
  const Import uneven = import_topology(bandwidths("5 100000 50000 0"), "f");
  expect_way(shape_of(uneven), "gpu8", "gpu7", 50e9, 0.6e-6);
  EXPECT_THAT(uneven.notes, has_note(suspicious, 6, "'gpu7' has a link to itself"));
  EXPECT_THAT(uneven.notes, has_note(suspicious, 6, "not as fast as back"));
}

TEST(ImportHwloc, RefusalsSayLineFindingAndExpectation) {
  EXPECT_THAT(refusal_of(topology("")),
              AllOf(StartsWith("file.xml:1:2: <topology>"), HasSubstr("has no <distances2>")));
  EXPECT_THAT(refusal_of(bandwidths("0 0 0 0")), HasSubstr("no links lead from 'gpu7' to 'gpu8'"));
  EXPECT_THAT(refusal_of(bandwidths("0 1 1")),
              StartsWith("file.xml:6:2: <distances2>: 3 values for 2 objects, expected 4"));
  EXPECT_THAT(refusal_of(bandwidths("0 x 1 0")), HasSubstr("'x' is not a number"));
  EXPECT_THAT(refusal_of(bandwidths("0 -1 1 0")), HasSubstr("'-1' is not a number"));
  EXPECT_THAT(refusal_of(bandwidths("0 1 1 0", "7")), HasSubstr("but there are 1 indexes"));
  EXPECT_THAT(refusal_of(bandwidths("0 1 1 0", "7 7")), HasSubstr("two objects are named 'gpu7'"));
}

TEST(ImportHwlocRealFiles, ADgx2HasTwoBoardsThatHwlocSeesApart) {
  TUTTI_NEED_FILE(real_topology("hwloc__nvidiaDGX2.xml"));
  const Import import = import_file(real_topology("hwloc__nvidiaDGX2.xml"));
  const Shape shape = shape_of(import);
  ASSERT_EQ(shape.hosts.size(), 16U);
  expect_way(shape, "nvml0", "nvml7", 150e9, 0.6e-6);
  expect_way(shape, "nvml0", "nvml15", 150e9, 0.6e-6);
  EXPECT_THAT(import.notes, has_note(suspicious, 346, "no way between 'nvml0' and 'nvml8'"));
}

}  // namespace
}  // namespace tutti
