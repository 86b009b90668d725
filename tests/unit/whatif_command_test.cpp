#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run_tutti.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<nlohmann::json> rows_of(const std::string& text) {
  std::vector<nlohmann::json> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

class WhatifCommand : public testing::Test {
 protected:
  ~WhatifCommand() override {
    std::filesystem::remove(file_);
    for (const char* part : {".part0", ".part1"}) std::filesystem::remove(file_ + part);
  }

  const std::string file_ = fmt::format("{}tutti_whatif_{}.jsonl", testing::TempDir(), getpid());
};

constexpr auto study =
    "whatif allreduce,broadcast --algo ring,tree,binomial --resize "
    "--topology topologies/ring.yaml --topology topologies/torus_2d.yaml "
    "--vary ranks=4,8 --vary bytes=1K..1M*32 ";

TEST_F(WhatifCommand, PrintsWinnersAndScalingForEachTopology) {
  const CommandResult result = run_tutti(study);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("# tutti whatif: 36 points on 4 clusters"),
                    HasSubstr("# engine and model: SimGrid"),
                    HasSubstr("allreduce, ring.yaml: the fastest, and its margin over the second"),
                    HasSubstr("broadcast, torus_2d.yaml: binomial, time"),
                    HasSubstr("allreduce of 1M bytes: the best time"), Not(HasSubstr("\x1b"))));
}

TEST_F(WhatifCommand, RowsAreThoseOfSimulate) {
  const CommandResult result = run_tutti(
      "whatif allreduce --topology topologies/star.yaml --vary hosts=4,8 --vary bytes=1M "
      "--algo ring --json");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto rows = rows_of(result.output);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["varied"]["hosts"], "4");
  EXPECT_EQ(rows[1]["ranks"], 8);
  const CommandResult same =
      run_tutti("simulate allreduce --topology topologies/star.yaml --sizes 1M --algo ring --json");
  const nlohmann::json simulated = nlohmann::json::parse(same.output);
  for (const auto& [key, value] : simulated.items()) EXPECT_EQ(rows[1][key], value) << key;
}

TEST_F(WhatifCommand, FinishedPointsAreKeptAndSkipped) {
  ASSERT_EQ(run_tutti(study + ("-o " + file_)).exit_code, 0);
  auto lines = rows_of(read_text(file_));
  EXPECT_EQ(lines.size(), 36u);
  // A time that no simulation gives shows that the point is not computed again.
  std::string changed;
  for (auto& line : lines) {
    nlohmann::ordered_json row = {{"key", line["key"]}};
    row.update(line);
    row["time_us"] = 123456.0;
    changed += row.dump() + "\n";
  }
  changed.resize(changed.size() - 10);  // The last one is torn, and is.
  std::ofstream(file_) << changed;
  const CommandResult again = run_tutti(study + ("--json -o " + file_));
  ASSERT_EQ(again.exit_code, 0) << again.errors;
  const auto rows = rows_of(again.output);
  EXPECT_EQ(rows.size(), 36u);
  EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                          [](const auto& row) { return row["time_us"] == 123456.0; }),
            35);
  EXPECT_EQ(rows_of(read_text(file_)).size(), 36u);
}

TEST_F(WhatifCommand, AFailedPointIsReportedAndTheOthersGoOn) {
  const std::string command =
      "whatif allreduce --topology topologies/star.yaml --algo ring --vary bytes=1K,1G "
      "--timeout 1 -o " +
      file_;
  const CommandResult result = run_tutti(command);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("1 of 2 points failed, the first is allreduce_ring of "
                                       "1073741824 bytes on star.yaml: allreduce_ring: rank "));
  EXPECT_THAT(result.output, AllOf(HasSubstr("1K  70.14 us"), HasSubstr("1G    failed")));
  const auto rows = rows_of(read_text(file_));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].contains("error") + rows[1].contains("error"), 1);
  const CommandResult again =
      run_tutti(command.substr(0, command.find("--timeout")) + "-o " + file_);
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.output, Not(HasSubstr("failed")));
}

TEST_F(WhatifCommand, ASignalLeavesAValidFileFromWhichTheStudyGoesOn) {
  const CommandResult result = run_tutti(fmt::format(
      "whatif allreduce --topology topologies/star.yaml --algo ring --vary bytes=1K..512M*2 "
      "--jitter message=uniform:1us --repetitions 400 -o {0} & while [ ! -s {0} ]; do sleep 0.02; "
      "done; kill -TERM $!; wait $!",
      file_));
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_THAT(result.errors, HasSubstr("the same command goes on"));
  const auto rows = rows_of(read_text(file_));
  EXPECT_GE(rows.size(), 1u);
  EXPECT_LT(rows.size(), 20u);
}

TEST_F(WhatifCommand, PartsShareThePointsAndTheWholeGathersThem) {
  const std::string command = study + ("-o " + file_);
  for (const char* rank : {"0", "1"}) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    const CommandResult part = run_tutti(command);
    EXPECT_EQ(part.exit_code, 0) << part.errors;
    EXPECT_THAT(part.errors, HasSubstr("18 points computed"));
  }
  EXPECT_EQ(run_tutti(study).exit_code, 2);  // Without a file their work would be lost.
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(rows_of(read_text(file_ + ".part1")).size(), 18u);
  const CommandResult whole = run_tutti(command);
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_EQ(rows_of(read_text(file_)).size(), 36u);
  EXPECT_FALSE(std::filesystem::exists(file_ + ".part1"));
}

TEST_F(WhatifCommand, WhyNamesTheSharedUplink) {
  const CommandResult result = run_tutti(
      "whatif alltoall --topology topologies/leaf_spine_100g.yaml --vary ranks=48 --algo pairwise "
      "--vary bytes=16M --why --json");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto why = rows_of(result.output)[0]["why"];
  // 24 hosts of a leaf share 8 uplinks.
  EXPECT_THAT(why["hint"].get<std::string>(),
              AllOf(HasSubstr("the uplink leaf"), HasSubstr("is shared by 3 flows")));
  EXPECT_EQ(why["busiest_links"].size(), 10u);
  for (const auto& link : why["busiest_links"]) EXPECT_LE(link["utilisation"], 1.0);
  EXPECT_TRUE(why["class_bytes"].contains("spine"));
  EXPECT_GT(why["times_bound"], 1.0);
}

TEST_F(WhatifCommand, CsvHasAColumnForWhatVaries) {
  const CommandResult result = run_tutti(
      "whatif allreduce --topology topologies/star.yaml --vary latency=1us,5us --vary bytes=1K "
      "--algo ring --format csv");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr(",vary.latency,error\n"), HasSubstr(",\"1us\",\n")));
}

TEST_F(WhatifCommand, TakesWhatSimulateTakes) {
  for (const char* flags :
       {"allreduce --algo hierarchical --group 2 --inner direct --outer ring --members 3,1,2,0",
        "allgather --algo ring --members 3,1,2 --counts 300,0,500",
        "allreduce --algo ring,tree --groups 0-4,5-6 --repeat 3"}) {
    const std::string common = std::string(flags) + " --topology topologies/star.yaml --json ";
    const std::string size = common.find("--counts") == std::string::npos ? "1M" : "";
    const CommandResult points =
        run_tutti("whatif " + common + (size.empty() ? "" : "--vary bytes=" + size));
    const CommandResult single =
        run_tutti("simulate " + common + (size.empty() ? "" : "--sizes " + size));
    ASSERT_EQ(points.exit_code, 0) << points.errors;
    ASSERT_EQ(single.exit_code, 0) << single.errors;
    std::istringstream rows(points.output), expected_rows(single.output);
    for (std::string line, expected; std::getline(expected_rows, expected);) {
      ASSERT_TRUE(std::getline(rows, line)) << flags;
      const auto row = nlohmann::json::parse(line);
      EXPECT_EQ(row["time_us"], nlohmann::json::parse(expected)["time_us"]) << flags;
      EXPECT_EQ(row["repetitions"], 1);
      EXPECT_EQ(row["topology_hash"].get<std::string>().size(), 16u);
    }
  }
}

TEST_F(WhatifCommand, WhatCouldNotRunIsAUsageErrorBeforeAnythingRuns) {
  for (const char* arguments :
       {"--vary ranks=0,4", "--vary ranks=4,16", "--vary links.sipne.bandwidth=50%",
        "--vary algo=rnig", "--vary bytes=1K..1G", "--jitter compute=normal:5%",
        "--groups 0-3,3-7"}) {
    const CommandResult result = run_tutti(
        fmt::format("whatif allreduce --topology topologies/star.yaml {} -o {}", arguments, file_));
    EXPECT_EQ(result.exit_code, 2) << arguments << ": " << result.errors;
    EXPECT_FALSE(std::filesystem::exists(file_)) << arguments;
  }
}

}  // namespace
}  // namespace tutti
