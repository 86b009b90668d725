#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collectives/catalogue.hpp"
#include "run_tutti.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto star = "--topology topologies/star.yaml ";

nlohmann::json simulated_row(const std::string& arguments) {
  const CommandResult result = run_tutti(std::string("simulate --json ") + star + arguments);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

// Published: NVIDIA/nccl issue 1712's scenario on a star of 12.5 GB/s and 5 us.
TEST(SimulateCommand, TheRingsBusBandwidthAtOneMebibyteFallsWithTheRanks) {
  const std::pair<int, double> known[] = {{2, 11.17}, {4, 10.09}, {8, 8.46}, {16, 6.40}};
  for (const auto& [ranks, gigabytes_per_second] : known) {
    const auto row =
        simulated_row("allreduce --algo ring --sizes 1M --set hosts=" + std::to_string(ranks));
    // The known values are rounded to two digits.
    EXPECT_NEAR(row["busbw"], gigabytes_per_second, 0.005 + 1e-9) << ranks;
  }
}

TEST(SimulateCommand, TheRingsBusBandwidthAtOneGibibyteIsTheLinks) {
  for (const int ranks : {2, 4, 8, 16}) {
    const auto row =
        simulated_row("allreduce --algo ring --sizes 1G --set hosts=" + std::to_string(ranks));
    EXPECT_NEAR(row["busbw"], 12.5, 0.05) << ranks;  // The known value has one digit.
    EXPECT_EQ(row["note"], "bandwidth-bound");
  }
}

TEST(SimulateCommand, AJsonRowHasTheDocumentedKeysInOrder) {
  const CommandResult result =
      run_tutti(std::string("simulate reduce_scatter --algo ring --sizes 64 --json ") + star);
  const auto row = nlohmann::ordered_json::parse(result.output);
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "collective", "algo",     "ranks",   "bytes",  "count",    "dtype",
                      "op",         "root",     "time_us", "p50_us", "p99_us",   "algbw",
                      "busbw",      "wrong",    "engine",  "model",  "topology", "lower_bound_us",
                      "note",       "segments", "radix",   "group",  "inner",    "outer"}));
  EXPECT_EQ(row["ranks"], 8);
  EXPECT_EQ(row["time_us"], row["p50_us"]);
  EXPECT_EQ(row["time_us"], row["p99_us"]);
  EXPECT_TRUE(row["wrong"].is_null());
  EXPECT_EQ(row["note"], "latency-bound");
  EXPECT_THAT(row["model"].get<std::string>(), HasSubstr("CM02"));
  EXPECT_NEAR(row["lower_bound_us"], 5.0, 1e-9);  // One message: a rank may send to all at once.
}

TEST(SimulateCommand, NoAlgorithmBeatsTheLowerBound) {
  for (const char* collective : {"allreduce", "broadcast", "allgather", "reduce_scatter", "reduce",
                                 "gather", "scatter", "alltoall", "barrier"}) {
    for (const char* ranks : {"2", "3", "5", "8"}) {
      const CommandResult result = run_tutti(
          std::string("simulate --json --set reduction=10GBps --sizes 4,1K,1M,64M -r 1 ") + star +
          collective + " --ranks " + ranks);
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      std::istringstream lines(result.output);
      for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        // A part in a million for the rounding of SimGrid's clock.
        EXPECT_GE(row["time_us"].get<double>() * (1 + 1e-6), row["lower_bound_us"].get<double>())
            << line;
      }
    }
  }
}

// Hosts with several links, rails, devices, trees and rings: whatever ships.
TEST(SimulateCommand, NoAlgorithmBeatsTheLowerBoundOnAnyReadyShape) {
  for (const auto& entry : std::filesystem::directory_iterator("topologies")) {
    if (entry.path().extension() != ".yaml") continue;
    for (const char* collective : {"allreduce", "broadcast", "allgather", "reduce_scatter",
                                   "reduce", "gather", "scatter", "alltoall"}) {
      const std::string command = std::string("simulate --json --engine replay --sizes 4K,4M ") +
                                  collective + " --topology " + entry.path().string();
      CommandResult result = run_tutti(command + " --ranks 16");
      if (result.exit_code == 2) result = run_tutti(command);  // Of fewer hosts.
      ASSERT_EQ(result.exit_code, 0) << entry << ": " << result.errors;
      std::istringstream lines(result.output);
      for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        // A part in a million for rounding.
        EXPECT_GE(row["time_us"].get<double>() * (1 + 1e-6), row["lower_bound_us"].get<double>())
            << line;
      }
    }
  }
}

TEST(SimulateCommand, NoAlgorithmBeatsTheCutBelowASwitch) {
  // Four hosts below a leaf share two uplinks, which an alltoall fills.
  const std::string cluster =
      " --set leaves=4 --set spines=1 --set hosts_per_leaf=4 --topology "
      "topologies/leaf_spine_100g.yaml --sizes 4K,16M -r 5 --json";
  bool is_tight = false;
  for (const char* collective : {"allreduce", "broadcast", "allgather", "reduce_scatter", "reduce",
                                 "gather", "scatter", "alltoall"}) {
    for (const char* more :
         {" --ranks 16", " --ranks 7", " --set placement=random --engine replay"}) {
      const CommandResult result =
          run_tutti(std::string("simulate ") + collective + cluster + more);
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      std::istringstream lines(result.output);
      for (std::string line; std::getline(lines, line);) {
        const auto row = nlohmann::json::parse(line);
        const double time = row["time_us"], bound = row["lower_bound_us"];
        EXPECT_GE(time * (1 + 1e-6), bound) << line;
        is_tight = is_tight || time < 1.1 * bound;
      }
    }
  }
  EXPECT_TRUE(is_tight);
}

TEST(SimulateCommand, CheckingMovesRealDataInTheSameTime) {
  const auto ghosts = simulated_row("allreduce --algo ring --sizes 100K --ranks 5");
  const auto checked = simulated_row("allreduce --algo ring --sizes 100K --ranks 5 -c 1");
  EXPECT_EQ(checked["wrong"], 0);
  EXPECT_EQ(ghosts["time_us"], checked["time_us"]);
}

TEST(SimulateCommand, TheTableNamesTheModel) {
  const CommandResult result =
      run_tutti(std::string("simulate allreduce -e 1K --model lv08 -n 7 -w 1 ") + star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("LV08"), HasSubstr("bound"), HasSubstr("star(8")));
}

TEST(SimulateCommand, ATimeoutLimitsTheSimulatedTime) {
  const std::string flags = "simulate allreduce --algo ring --sizes 64M --json --timeout ";
  const CommandResult result = run_tutti(flags + "1 " + star);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("waited"));
  // It takes 9.5 ms.
  EXPECT_EQ(run_tutti(flags + "10 " + star).exit_code, 0);
  EXPECT_EQ(simulated_row("allreduce --algo ring --sizes 1T --ranks 2")["note"], "bandwidth-bound");
}

TEST(SimulateCommand, WiderAccumulationMovesTwiceTheBytes) {
  const std::string flags = "allreduce --algo ring --sizes 1G -d float16";
  const auto native = simulated_row(flags), wide = simulated_row(flags + " --accumulate float32");
  EXPECT_EQ(native["note"], "bandwidth-bound");
  EXPECT_EQ(wide["note"], "bandwidth-bound, float32 accumulation");
  // The latency of 14 steps of 5 us does not double, and is less than 0.1 % of either.
  EXPECT_NEAR(wide["time_us"].get<double>() / native["time_us"].get<double>(), 2.0, 0.002);
  EXPECT_EQ(wide["bytes"], native["bytes"]);
}

TEST(CrossoverCommand, SaysSoWhereTheModelFavoursTheOther) {
  // lv08's messages take 13 times the latency, so trees win where the closed forms favour rings.
  const CommandResult result =
      run_tutti(std::string("crossover --json --ranks 4 --model lv08 --sizes 200K ") + star);
  const auto row = nlohmann::json::parse(result.output)["simulated"]["rows"][0];
  EXPECT_EQ(row["winner"], "tree");
  EXPECT_EQ(row["reason"], "not in the model");
}

TEST(CrossoverCommand, AMarginThatIsNotShownIsATie) {
  const CommandResult result = run_tutti(
      std::string("crossover --ranks 5 --algo ring,ring_gloo --sizes 10M,1234567 ") + star);
  EXPECT_THAT(result.output, AllOf(HasSubstr("as fast as"), Not(HasSubstr("0.0%  bandwidth"))));
}

TEST(CrossoverCommand, ColumnsAreAsWideAsTheirHeaders) {
  const CommandResult result = run_tutti(
      std::string("crossover --ranks 4 --algo recursive_doubling,ring --sizes 1K ") + star);
  std::istringstream lines(result.output);
  std::string header, row;
  while (std::getline(lines, header) && header.find("size (B)") == std::string::npos) {
  }
  std::getline(lines, row);
  for (const char* name : {"recursive_doubling (us)", "ring (us)"}) {
    const std::size_t end = header.find(name) + std::string(name).size();
    ASSERT_LT(end, row.size());
    EXPECT_TRUE(std::isdigit(row[end - 1]) && row[end] == ' ') << result.output;
  }
}

TEST(CrossoverCommand, RingBeatsTreeFromTheKnownSizesOn) {
  const std::pair<int, double> known[] = {
      {4, 50.0e3}, {8, 117.6e3}, {16, 224.5e3}, {32, 403.1e3}, {64, 710.3e3}};
  for (const auto& [ranks, bytes] : known) {
    const CommandResult result =
        run_tutti(std::string("crossover --json ") + star + "--set hosts=" + std::to_string(ranks));
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const auto crossovers = nlohmann::json::parse(result.output)["simulated"]["crossovers"];
    ASSERT_EQ(crossovers.size(), 1u) << ranks;
    EXPECT_EQ(crossovers[0]["from"], "tree");
    EXPECT_EQ(crossovers[0]["to"], "ring");
    // The known values have four digits; parts that differ by an element move it a little more.
    EXPECT_NEAR(crossovers[0]["bytes"], bytes, 0.001 * bytes) << ranks;
  }
}

TEST(CrossoverCommand, SaysWhoWinsWhyAndWhere) {
  const CommandResult result = run_tutti(std::string("crossover --ranks 4 ") + star);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("crossover: tree -> ring at 50.0 kB"),
                    HasSubstr("latency: 4 messages in a row, not 6"),
                    HasSubstr("bandwidth: 1.50 n bytes moved in a row, not 4.00 n")));
}

TEST(CrossoverCommand, WithoutACrossoverSaysWhoWinsThroughout) {
  const CommandResult result =
      run_tutti(std::string("crossover broadcast --algo linear,binomial --ranks 4 ") + star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("crossover: none, binomial wins from 1.0 kB to 16.8 MB"));
}

TEST(CrossoverCommand, OfManyAlgorithmsEachHasARowAndEachSizeAWinner) {
  const CommandResult result =
      run_tutti(std::string("crossover --algo all --sizes 1K,1M --ranks 4 ") + star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  for (const Algorithm* algorithm : algorithms_of(Collective::allreduce)) {
    EXPECT_THAT(result.output, HasSubstr("\n  " + std::string(algorithm->name) + " "));
  }
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '*'), 3);  // One in the legend.
}

TEST(CrossoverCommand, AlltoallIsBisectedInEqualParts) {
  const CommandResult result = run_tutti(
      std::string("crossover alltoall --algo bruck,pairwise --sizes 1K,16M --ranks 7 --json ") +
      star);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto simulated = nlohmann::json::parse(result.output)["simulated"];
  EXPECT_EQ(simulated["rows"][0]["count"], 256 / 7 * 7);
  ASSERT_EQ(simulated["crossovers"].size(), 1u);
  EXPECT_EQ(simulated["crossovers"][0]["to"], "pairwise");
}

TEST(SimulateCommand, ABarrierHasOneRowWithoutBytes) {
  const auto row = simulated_row("barrier --ranks 4 -c 1");
  EXPECT_EQ(row["bytes"], 0);
  // Two rounds of one byte.
  EXPECT_NEAR(row["time_us"], 2 * (5 + 1 / 12.5e3), 1e-6);
  EXPECT_TRUE(row["wrong"].is_null());
  EXPECT_TRUE(row["algbw"].is_null());
  EXPECT_TRUE(row["busbw"].is_null());
  EXPECT_NEAR(row["lower_bound_us"], 5.0, 1e-9);
}

TEST(SimulateCommand, TuningChangesTheTimeAndIsInTheRow) {
  const auto binomial = simulated_row("broadcast --algo knomial --radix 2 --sizes 64");
  const auto flat = simulated_row("broadcast --algo knomial --radix 8 --sizes 64");
  EXPECT_EQ(flat["radix"], 8);
  EXPECT_GT(binomial["time_us"], 2 * flat["time_us"].get<double>());
}

// Within groups of 4, twice one step of 3/4 n; between the two groups, twice one of 1/2 of n/4.
TEST(SimulateCommand, TheLevelsOfAHierarchyAreThoseNamedAndAreInTheRow) {
  const auto row = simulated_row(
      "allreduce --algo hierarchical --ranks 8 --group 4 --inner direct --outer rabenseifner "
      "--sizes 1M");
  EXPECT_NEAR(row["time_us"], 4 * 5.0 + 1.75 * (1 << 20) / 12.5e3, 1e-3);
  EXPECT_EQ(row["inner"], "direct");
  EXPECT_EQ(row["outer"], "rabenseifner");
  const auto open = simulated_row("allreduce --algo hierarchical --ranks 8 --group 4 --sizes 1M");
  EXPECT_TRUE(open["inner"].is_null());
  EXPECT_GT(open["time_us"], row["time_us"].get<double>());
}

TEST(CrossoverCommand, JsonHasTheDocumentedKeys) {
  const CommandResult result =
      run_tutti(std::string("crossover --json --ranks 4 --algo all --sizes 1M,1K ") + star);
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_FALSE(json.contains("measured"));
  const auto& rows = json["simulated"]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    for (const char* key : {"bytes", "count", "times_us", "winner", "margin", "reason"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
    EXPECT_EQ(row["times_us"].size(), algorithms_of(Collective::allreduce).size());
  }
  EXPECT_EQ(rows[0]["bytes"], 1024);
}

TEST(CrossoverCommand, MeasuringPrintsPredictedAndMeasuredSideBySide) {
  const CommandResult result =
      run_tutti(std::string("crossover --json --measure --ranks 4 --sizes 1K,1M,16M -n 3 ") + star);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_GT(json["fit"]["alpha_us"], 0.0);
  EXPECT_GE(json["fit"]["beta_ns_per_byte"], 0.0);
  EXPECT_TRUE(json.contains("ratios"));
  for (const char* side : {"simulated", "measured"}) {
    ASSERT_EQ(json[side]["rows"].size(), 3u) << side;
    EXPECT_TRUE(json[side]["crossovers"].is_array()) << side;
    for (const auto& row : json[side]["rows"]) {
      for (const auto& [algorithm, time] : row["times_us"].items()) {
        EXPECT_GT(time, 0.0) << side << ' ' << algorithm;
      }
    }
  }
  EXPECT_EQ(json["measured"]["rows"][0]["predicted_over_measured"].size(), 2u);
}

TEST(SimulateCommand, BusBandwidthAboveTheSlowestRouteIsCalledAConvention) {
  const CommandResult two_machines = run_tutti(
      "simulate allreduce --topology topologies/hgx_8.yaml --set hosts_per_leaf=2 --sizes 1G "
      "--algo hierarchical --group 8");
  EXPECT_THAT(two_machines.output,
              HasSubstr("busbw is a convention: the slowest route has 50 GB/s"));
  const CommandResult one_switch =
      run_tutti(std::string("simulate allreduce --sizes 1G --algo ring ") + star);
  EXPECT_THAT(one_switch.output, Not(HasSubstr("convention")));
}

TEST(SimulateCommand, AStragglerAndAFailureChangeTheTimeWithoutTouchingTheFile) {
  const std::string ring = std::string("simulate allreduce --sizes 1M --algo ring --json ") + star;
  const auto microseconds = [](const CommandResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output.substr(0, result.output.find('\n')))["time_us"]
        .get<double>();
  };
  const double on_time = microseconds(run_tutti(ring));
  EXPECT_NEAR(microseconds(run_tutti(ring + " --straggle rank 5 by 200us")), on_time + 200, 1e-6);
  EXPECT_NEAR(microseconds(run_tutti(ring + " --straggle rank 5 by 1us --straggle rank 2 by 9us")),
              on_time + 9, 1e-6);
  for (const std::string quoted :
       {" --straggle 'rank 5 by 200us'", " --straggle='rank 5 by 200us'"}) {
    EXPECT_NEAR(microseconds(run_tutti(ring + quoted)), on_time + 200, 1e-6);
  }
  EXPECT_EQ(run_tutti(ring + " --straggle 'rank 5'").exit_code, 2);
  EXPECT_EQ(run_tutti(ring + " --straggle 'rank 5 by 200us or so'").exit_code, 2);
  EXPECT_EQ(run_tutti(ring + " --straggle rank 8 by 200us").exit_code, 2);
  EXPECT_EQ(run_tutti(ring + " --straggle rank 5 by 200").exit_code, 2);
  const CommandResult apart = run_tutti(ring + " --fail link:host-3-switch");
  EXPECT_EQ(apart.exit_code, 2);
  EXPECT_THAT(apart.errors, HasSubstr("host-3"));
}

}  // namespace
}  // namespace tutti
