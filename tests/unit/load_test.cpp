#include "topologies/load.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A file in the temporary folder for as long as the object lives.
class StarFile : public testing::Test {
 protected:
  ~StarFile() override { std::filesystem::remove(path_); }

  const std::string& write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }

  /// The error of loading a file with this text; the file's name is written FILE.
  std::string refusal(const std::string& text, const std::vector<std::string>& settings = {}) {
    write(text);
    try {
      load_shape(path_, settings);
    } catch (const ShapeError& error) {
      std::string what = error.what();
      const std::size_t at = what.find(path_);
      return at == std::string::npos ? what : what.replace(at, path_.size(), "FILE");
    }
    return "no error";
  }

  std::string refusal_of_star(const std::string& text) { return refusal(text + "shape: star\n"); }

  const std::string path_ =
      std::filesystem::temp_directory_path() / fmt::format("tutti-load-test-{}.yaml", getpid());
};

constexpr const char* good = "hosts: 4\nbandwidth: 10GBps\nlatency: 2us\nshape: star\n";

TEST_F(StarFile, TheShippedStarIsTheOneOfTheKnownValues) {
  const Shape shape = load_shape("topologies/star.yaml");
  EXPECT_EQ(shape.name, "star(8, 12.5 GB/s, 5 us)");
  EXPECT_EQ(shape.file, "topologies/star.yaml");
  EXPECT_FALSE(shape.hosts[0].reduction_bytes_per_second.has_value());
}

TEST_F(StarFile, AllKeysAreRead) {
  const Shape shape = load_shape(write(std::string(good) + "reduction: 8GBps\n"));
  EXPECT_EQ(shape.size(), 4);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 1), 10e9);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 1), 2e-6);
  EXPECT_DOUBLE_EQ(shape.hosts[3].reduction_bytes_per_second.value(), 8e9);
}

TEST_F(StarFile, SettingsReplaceTheFilesValuesAndTheLastWins) {
  const Shape shape =
      load_shape(write(good), {"hosts=9", "hosts=16", "bandwidth=100Gbps", "reduction=1GBps"});
  EXPECT_EQ(shape.size(), 16);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 15), 12.5e9);
  EXPECT_DOUBLE_EQ(shape.hosts[0].reduction_bytes_per_second.value(), 1e9);
}

TEST_F(StarFile, ASettingMayMendAFile) {
  EXPECT_EQ(
      load_shape(write("hosts: many\nbandwidth: 1GBps\nlatency: 1us\nshape: star\n"), {"hosts=2"})
          .size(),
      2);
}

TEST_F(StarFile, ANumberWithoutUnitIsRefusedWithFileAndLine) {
  EXPECT_EQ(refusal_of_star("hosts: 4\nbandwidth: 10\nlatency: 2us\n"),
            "FILE:2:12: bandwidth: '10' has no unit, expected for example 12.5GBps or 100Gbps");
  EXPECT_EQ(refusal_of_star("hosts: 4\nbandwidth: 10GBps\nlatency: 0\n"),
            "FILE:3:10: latency: '0' has no unit, expected for example 5us");
}

TEST_F(StarFile, AnUnknownUnitIsRefusedWithTheValidOnes) {
  EXPECT_THAT(refusal_of_star("hosts: 4\nbandwidth: 10GB\nlatency: 2us\n"),
              AllOf(StartsWith("FILE:2:12: "), HasSubstr("'GB'"), HasSubstr("Bps")));
  EXPECT_THAT(refusal_of_star("hosts: 4\nbandwidth: 1GBps\nlatency: 2 min\n"),
              AllOf(StartsWith("FILE:3:10: "), HasSubstr("'min'"), HasSubstr("ns, us, ms or s")));
}

TEST_F(StarFile, AnUnknownKeyIsRefusedWithTheNearestValidOne) {
  EXPECT_EQ(refusal_of_star("hosts: 4\nbandwith: 10GBps\n"),
            "FILE:2:1: unknown key 'bandwith', the nearest valid one is 'bandwidth' "
            "(all: shape, hosts, link, bandwidth, latency, overhead, duplex, host, reduction, "
            "placement, gateways, name, source)");
}

TEST_F(StarFile, AKeyThatResemblesNoValidOneIsRefusedWithTheValidOnesOnly) {
  EXPECT_EQ(refusal_of_star("foo: 4\n"),
            "FILE:1:1: unknown key 'foo', expected shape, hosts, link, bandwidth, latency, "
            "overhead, duplex, host, reduction, placement, gateways, name, source");
}

TEST_F(StarFile, ANegativeValueIsRefusedWithFileAndLine) {
  EXPECT_THAT(refusal_of_star("hosts: 4\nbandwidth: -1GBps\nlatency: 2us\n"),
              AllOf(StartsWith("FILE:2:12: bandwidth: "), HasSubstr("negative")));
  EXPECT_THAT(refusal_of_star("hosts: 4\nbandwidth: 1GBps\nlatency: -2us\n"),
              AllOf(StartsWith("FILE:3:10: latency: "), HasSubstr("negative")));
  EXPECT_THAT(refusal_of_star("hosts: -4\nbandwidth: 1GBps\nlatency: 2us\n"),
              AllOf(StartsWith("FILE:1:8: hosts: '-4'"), HasSubstr("from 1 to")));
}

TEST_F(StarFile, AnImpossibleNumberOfHostsIsRefused) {
  for (const char* hosts :
       {"0", "1048577", "1000000000", "99999999999999999999", "8.5", "eight", "''"}) {
    EXPECT_THAT(refusal_of_star(fmt::format("hosts: {}\nbandwidth: 1GBps\nlatency: 2us\n", hosts)),
                AllOf(StartsWith("FILE:1:8: hosts: "), HasSubstr("from 1 to 1048576")));
  }
}

TEST_F(StarFile, AnInfiniteOrZeroBandwidthIsRefused) {
  for (const char* bandwidth : {"inf GBps", "nan GBps", "1e999GBps", "0GBps"}) {
    EXPECT_THAT(refusal_of_star(fmt::format("hosts: 4\nbandwidth: {}\nlatency: 2us\n", bandwidth)),
                StartsWith("FILE:2:12: bandwidth: "));
  }
}

TEST_F(StarFile, AValueIsRefusedForWhatIsWrongWithIt) {
  const auto refusal_of = [&](const char* key, const char* value) {
    const bool is_latency = key == std::string("latency");
    return refusal_of_star(fmt::format("hosts: 4\n{}: {}\n{}\n", key, value,
                                       is_latency ? "bandwidth: 1GBps" : "latency: 2us"));
  };
  EXPECT_THAT(refusal_of("bandwidth", "0x10GBps"),
              StartsWith("FILE:2:12: bandwidth: '0x10GBps' has the unknown unit 'x10GBps'"));
  EXPECT_THAT(refusal_of("bandwidth", "0GBps"),
              StartsWith("FILE:2:12: bandwidth: '0GBps' is zero, expected for example"));
  constexpr const char* beyond = "is beyond the numbers that a double can hold";
  for (const char* value : {"1e308GBps", "1e999GBps", "5e-324bps", "1e-999GBps"}) {
    EXPECT_EQ(refusal_of("bandwidth", value),
              fmt::format("FILE:2:12: bandwidth: '{}' {}", value, beyond));
  }
  for (const char* value : {"1e999s", "5e-324ns"}) {
    EXPECT_EQ(refusal_of("latency", value),
              fmt::format("FILE:2:10: latency: '{}' {}", value, beyond));
  }
}

TEST_F(StarFile, AMissingKeyIsNamed) {
  EXPECT_EQ(refusal("hosts: 4\nbandwidth: 10GBps\nlatency: 2us\n"),
            "FILE:1:1: the key 'shape' is missing");
  EXPECT_EQ(refusal_of_star("hosts: 4\nlatency: 2us\n"),
            "FILE:1:1: the key 'bandwidth' is missing");
}

TEST_F(StarFile, ARepeatedKeyIsRefusedWithBothLines) {
  EXPECT_EQ(refusal(std::string(good) + "hosts: 5\n"),
            "FILE:5:1: hosts is given twice, first at " + path_ + ":1:1");
}

TEST_F(StarFile, AnythingButOneMapIsRefusedWithItsPlace) {
  EXPECT_EQ(refusal_of_star("hosts: [1, 2]\n"), "FILE:1:8: hosts: a list, expected a single value");
  EXPECT_EQ(refusal_of_star("hosts:\nlatency: 5us\n"),
            "FILE:1:1: hosts: nothing, expected a single value");
  EXPECT_EQ(refusal("hosts: 4\n? [a]\n: 5\n"), "FILE:2:3: a key is not a word");
  EXPECT_EQ(refusal("- hosts\n- 4\n"), "FILE:1:1: a list, expected 'key: value' lines");
  EXPECT_EQ(refusal("four\n"), "FILE:1:1: a single value 'four', expected 'key: value' lines");
  EXPECT_EQ(refusal(""), "FILE:1:1: nothing, expected 'key: value' lines");
  EXPECT_THAT(refusal("hosts: 4\n---\nhosts: 5\n"),
              AllOf(StartsWith("FILE:2:1: "), HasSubstr("second document")));
  EXPECT_THAT(refusal("hosts: 4\nbandwidth: {1GBps\n"),
              AllOf(StartsWith("FILE:"), HasSubstr("not valid YAML")));
}

TEST_F(StarFile, AnUnknownShapeIsRefusedWithTheNearest) {
  EXPECT_THAT(refusal("hosts: 4\nbandwidth: 10GBps\nlatency: 2us\nshape: tours\n"),
              AllOf(StartsWith("FILE:4:8: shape: unknown value 'tours', the nearest valid one is "
                               "'torus' (all: star, fully_connected, ring, torus, mesh, hypercube, "
                               "fat_tree, leaf_spine, dragonfly, product, machine, graph)")));
  EXPECT_EQ(refusal("hosts: 4\nshap: star\n").substr(0, 67),
            "FILE:2:1: unknown key 'shap', the nearest valid one is 'shape' (all");
}

TEST_F(StarFile, AFileThatCannotBeReadIsRefusedWithTheReason) {
  EXPECT_THROW(load_shape("no/such/file.yaml"), ShapeError);
  EXPECT_THROW(load_shape("topologies"), ShapeError);
  try {
    load_shape("no/such/file.yaml");
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "no/such/file.yaml: cannot be opened: No such file or directory");
  }
}

TEST_F(StarFile, WhatIsNoRegularFileIsRefusedWithoutWaitingForIt) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const std::string& file : {path_, std::string("topologies"), std::string("/dev/zero")}) {
    try {
      load_shape(file);
      FAIL() << file << ": no error";
    } catch (const ShapeError& error) {
      EXPECT_EQ(error.what(), file + ": cannot be read, is it a file?");
    }
  }
}

TEST_F(StarFile, HostileTextEndsInABoundedError) {
  EXPECT_THAT(refusal(std::string((16 << 20) + 1, 'a')), HasSubstr("larger than 16777216 bytes"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("more than 32 values in each other"));
  EXPECT_THAT(refusal(std::string("hosts: 4\n\0\x01\xff", 12)), StartsWith("FILE:"));
  EXPECT_LT(refusal(std::string(500000, 'k') + ": 1\n").size(), 400u);
  EXPECT_LT(refusal("hosts: " + std::string(500000, '9') + "\n").size(), 400u);
  EXPECT_LT(refusal(good, {"hosts=" + std::string(500000, '9')}).size(), 400u);
  EXPECT_LT(refusal(good, {std::string(500000, '9')}).size(), 400u);
  try {
    load_shape(std::string(3000, 'd') + "/file.yaml");
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_LT(std::string(error.what()).size(), 400u);
  }
}

TEST_F(StarFile, ABadSettingIsNamedInTheFilesPlace) {
  EXPECT_EQ(refusal(good, {"latency=5"}),
            "--set latency=5: latency: '5' has no unit, expected for example 5us");
  EXPECT_THAT(refusal(good, {"host=5"}),
              StartsWith("--set host=5: host: a single value '5', expected 'key: value' lines"));
  EXPECT_THAT(refusal(good, {"host5=5"}),
              AllOf(StartsWith("--set host5=5: unknown key 'host5'"), HasSubstr("'hosts'")));
  EXPECT_THAT(refusal(good, {"hosts"}), StartsWith("--set hosts: expected KEY=VALUE"));
}

TEST(LoadShape, WhatAGraphsPartsDoWrongIsToldAtTheirPlace) {
  const auto error_of = [](const std::string& text) {
    try {
      parse_shape(text, "test");
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string link = "{between: [a, b], bandwidth: 1GBps, latency: 1us}";
  EXPECT_THAT(error_of("shape: graph\nnodes:\n  - a\n  - a\n"), StartsWith("test:4:5: "));
  EXPECT_THAT(error_of("shape: graph\nnodes: [a, b]\nlinks:\n  - " + link +
                       "\n  - {between: [a, a], bandwidth: 1GBps, latency: 1us}\n"),
              StartsWith("test:5:5: "));
  EXPECT_THAT(error_of("shape: graph\nnodes: [a, b]\nlinks: [" + link +
                       "]\nroutes:\n  - [a, b]\n  - [a, b]\n"),
              StartsWith("test:6:5: "));
  EXPECT_THAT(error_of("shape: star\nhosts: 2\nbandwidth: 1GBps\nlatency: 1us\n"
                       "placement: [0, 0]\n"),
              StartsWith("test:5:12: "));
}

}  // namespace
}  // namespace tutti
