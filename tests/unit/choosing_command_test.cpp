#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "run_tutti.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr auto simulate =
    "simulate allreduce --topology topologies/star.yaml --set reduction=10GBps ";

std::vector<nlohmann::json> rows_of(const std::string& arguments) {
  const CommandResult result = run_tutti(arguments + " --json");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  std::vector<nlohmann::json> rows;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

class ChoosingCommand : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TUTTI_ALGO"); }

  static std::string file_with(const std::string& text) {
    // Tests run at the same time.
    const std::string file = testing::TempDir() + "tutti_rules_" + std::to_string(getpid());
    std::ofstream(file) << text;
    return file;
  }
};

TEST_F(ChoosingCommand, AutoTakesAnAlgorithmThatNoOtherBeatsOnAStar) {
  for (const char* collective : {"allreduce", "broadcast", "reduce_scatter", "alltoall"}) {
    const auto rows = rows_of(std::string("simulate ") + collective +
                              " --topology topologies/star.yaml --set reduction=10GBps "
                              "--sizes 1K,64K,1M,64M --algo auto,all");
    double chosen = 0.0;
    for (const auto& row : rows) {
      const double time = row["time_us"];
      if (row["algo"] == "auto") chosen = time;
      // Where auto goes by a bound, it may pass over one that is faster by so much.
      EXPECT_LE(chosen, time * 1.1) << row;
    }
  }
}

TEST_F(ChoosingCommand, AutosRowsSayWhatWasChosenAndWhy) {
  const auto rows = rows_of(std::string(simulate) + "--sizes 1M --algo auto,ring");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["algo"], "auto");
  EXPECT_EQ(rows[0]["chosen_by"], "model");
  const auto& candidates = rows[0]["candidates_us"];
  EXPECT_GE(candidates.size(), 10U);
  double least = candidates.begin().value();
  for (const auto& [name, microseconds] : candidates.items()) {
    least = std::min(least, microseconds.get<double>());
  }
  EXPECT_DOUBLE_EQ(rows[0]["predicted_us"], least);
  EXPECT_DOUBLE_EQ(candidates[rows[0]["chosen"].get<std::string>()], least);
  EXPECT_EQ(rows[1]["algo"], "ring");
  EXPECT_TRUE(rows[1]["chosen"].is_null());
  EXPECT_TRUE(rows[1]["candidates_us"].is_null());
}

TEST_F(ChoosingCommand, AForcedRingOnAStarIsPredictedToTheMicrosecond) {
  setenv("TUTTI_ALGO", "allreduce:ring;broadcast:binomial", 1);
  const auto rows = rows_of("simulate allreduce --topology topologies/star.yaml --sizes 1M");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["algo"], "auto");
  EXPECT_EQ(rows[0]["chosen"], "ring");
  EXPECT_EQ(rows[0]["chosen_by"], "TUTTI_ALGO");
  EXPECT_NEAR(rows[0]["predicted_us"], rows[0]["time_us"].get<double>(), 1e-3);
}

TEST_F(ChoosingCommand, AForcedHierarchyMayNameItsLevels) {
  setenv("TUTTI_ALGO", "allreduce:hierarchical(direct,rabenseifner)", 1);
  const auto rows = rows_of("simulate allreduce --topology topologies/star.yaml --sizes 1M");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["chosen"], "hierarchical");
  EXPECT_EQ(rows[0]["inner"], "direct");
  EXPECT_EQ(rows[0]["outer"], "rabenseifner");
}

TEST_F(ChoosingCommand, NamedAlgorithmsWinOverForcedOnes) {
  setenv("TUTTI_ALGO", "allreduce:ring", 1);
  const auto rows = rows_of(std::string(simulate) + "--sizes 1K --algo tree");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["algo"], "tree");
}

TEST_F(ChoosingCommand, AnUnknownForcedNameIsAUsageErrorThatListsTheValidOnes) {
  setenv("TUTTI_ALGO", "allreduce:rign", 1);
  for (const char* command : {simulate, "bench allreduce --algo auto,ring "}) {
    const CommandResult result = run_tutti(std::string(command) + "--sizes 1K");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, AllOf(HasSubstr("TUTTI_ALGO: unknown algorithm 'rign'"),
                                     HasSubstr("ring, ring_gloo")));
  }
}

TEST_F(ChoosingCommand, ForcedNamesAreNotReadWhereNothingIsChosen) {
  setenv("TUTTI_ALGO", "allreduce:rign", 1);
  EXPECT_EQ(run_tutti(std::string(simulate) + "--sizes 1K --algo ring").exit_code, 0);
  const std::string crossover =
      "crossover --topology topologies/star.yaml --sizes 1K,64K --ranks 4";
  EXPECT_EQ(run_tutti(crossover).exit_code, 0);
  EXPECT_THAT(run_tutti("crossover --help").output, HasSubstr("TUTTI_ALGO is not read"));
}

TEST_F(ChoosingCommand, ACollectiveThatIsForcedTwiceIsAUsageErrorThatNamesBoth) {
  setenv("TUTTI_ALGO", "allreduce:ring;broadcast:binomial;allreduce:tree", 1);
  const CommandResult result = run_tutti(std::string(simulate) + "--sizes 1K");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors,
              HasSubstr("TUTTI_ALGO: allreduce is forced twice, to ring and to tree"));
}

TEST_F(ChoosingCommand, RulesThatNothingWouldFollowAreRefused) {
  const std::string file = file_with("collective,algorithm\nallreduce,ring\n");
  const CommandResult result =
      run_tutti(std::string(simulate) + "--sizes 1K --algo tree --rules " + file);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("with --algo tree nothing is chosen"));
}

TEST_F(ChoosingCommand, RulesPinBySize) {
  const std::string file = file_with(
      "collective,max_bytes,algorithm,segments\n"
      "allreduce,1024,tree,\n"
      "allreduce,,ring_segmented,8\n");
  const auto rows = rows_of(std::string(simulate) + "--sizes 1K,1M --rules " + file);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["chosen"], "tree");
  EXPECT_EQ(rows[0]["chosen_by"], file + " line 2");
  EXPECT_EQ(rows[1]["chosen"], "ring_segmented");
  EXPECT_EQ(rows[1]["segments"], 8);
  const CommandResult table =
      run_tutti(std::string(simulate) + "--sizes 1K --algo auto --rules " + file);
  EXPECT_THAT(table.output, HasSubstr("auto: tree, by " + file + " line 2, predicted "));
}

TEST_F(ChoosingCommand, WrongRulesAreAUsageErrorWithTheLine) {
  const std::string file = file_with("collective,algorithm\nallreduce,rung\n");
  const CommandResult result = run_tutti(std::string(simulate) + "--rules " + file);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("line 2: unknown algorithm 'rung'"));
  const CommandResult missing = run_tutti(std::string(simulate) + "--rules /nowhere/rules.csv");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.errors, HasSubstr("cannot read '/nowhere/rules.csv': No such file"));
}

TEST_F(ChoosingCommand, BenchChoosesByAFitToThisMachine) {
  const CommandResult result =
      run_tutti("bench allreduce --ranks 2 --sizes 1K,1M -n 2 -w 1 --algo auto");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("# auto: fitted alpha "), HasSubstr("  auto: "),
                                   HasSubstr("Out of bounds values : 0 OK")));
}

TEST_F(ChoosingCommand, CsvHasAsManyFieldsInRowsOfNamedAlgorithms) {
  const CommandResult result =
      run_tutti(std::string(simulate) + "--sizes 1K --algo auto,ring --format csv");
  std::istringstream lines(result.output);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[0], HasSubstr("outer,chosen,chosen_by,predicted_us"));
  EXPECT_THAT(all[2], HasSubstr(",,,"));
}

TEST_F(ChoosingCommand, CrossoverComparesNamedAlgorithmsOnly) {
  const CommandResult result =
      run_tutti("crossover --topology topologies/star.yaml --algo auto,ring");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--algo auto"));
}

}  // namespace
}  // namespace tutti
