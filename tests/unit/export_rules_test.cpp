#include "deploy/export_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "collectives/error.hpp"
#include "deploy/best_map.hpp"

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

MeasuredCurve curve_of(const std::string& algorithm, std::vector<double> seconds) {
  MeasuredCurve curve;
  curve.series.collective = "allreduce";
  curve.series.algorithm = algorithm;
  curve.series.ranks = 4;
  curve.bytes = {1024, 4096, 16384, 65536};
  curve.seconds = std::move(seconds);
  return curve;
}

/// Recursive doubling is best for the smaller two sizes, the ring for the larger two; swing, which
/// no library has, is best for the largest.
std::vector<MeasuredCurve> curves() {
  return {curve_of("recursive_doubling", {10, 20, 80, 320}), curve_of("ring", {30, 30, 40, 100}),
          curve_of("swing", {30, 30, 50, 80})};
}

TEST(BestMap, SwitchesLieBetweenTheSizesAndNoiseCausesNone) {
  const auto all = [](const std::string&, const std::string&) { return true; };
  const std::vector<BestMap> maps =
      best_maps({curve_of("a", {10, 20, 41, 320}), curve_of("b", {30, 30, 40, 330})}, all, 0.05);
  ASSERT_EQ(maps.size(), 1U);
  ASSERT_EQ(maps[0].choices.size(), 1U);
  EXPECT_EQ(maps[0].choices[0].algorithm, "a");
  const std::vector<BestMap> exact = best_maps(curves(), all, 0.0);
  ASSERT_EQ(exact[0].choices.size(), 3U);
  EXPECT_EQ(exact[0].choices[1].first_bytes, 8192U);
}

TEST(ExportRules, OpenMpisFileBeginsAtSizeZero) {
  const RuleExport rules = export_rules("openmpi", curves());
  ASSERT_EQ(rules.files.size(), 1U);
  std::vector<long> numbers;
  std::istringstream stream(rules.files[0].text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (long number = 0; words >> number;) numbers.push_back(number);
  }
  EXPECT_EQ(numbers, (std::vector<long>{1, 2, 1, 4, 2, 0, 3, 0, 0, 8192, 4, 0, 0}));
  EXPECT_THAT(rules.notes, Contains(HasSubstr("best somewhere: swing")));
}

TEST(ExportRules, OpenMpisJsonNamesBothEndsOfEachRange) {
  const auto json = nlohmann::json::parse(export_rules("openmpi-json", curves()).files.at(0).text);
  const auto& entry = json.at("collectives").at("allreduce").at(0);
  EXPECT_EQ(entry.at("comm_size_min"), 4);
  EXPECT_EQ(entry.at("rules").at(0).at("msg_size_max"), 8191);
  EXPECT_EQ(entry.at("rules").at(1).at("msg_size_min"), 8192);
  EXPECT_EQ(entry.at("rules").at(1).at("alg"), "ring");
}

TEST(ExportRules, NcclsFileHasEightFieldsALine) {
  std::vector<MeasuredCurve> measured = curves();
  measured[0].series.algorithm = "tree";
  EXPECT_THAT(export_rules("nccl", measured).files.at(0).text,
              HasSubstr("allreduce,0,8191,tree,simple,-1,-1,4\n"
                        "allreduce,8192,18446744073709551615,ring,simple,-1,-1,4\n"));
}

TEST(ExportRules, UccAndSimgridAreOneLine) {
  std::vector<MeasuredCurve> measured = curves();
  measured[1].series.algorithm = "rabenseifner";
  EXPECT_EQ(export_rules("ucc", measured).files.at(0).text,
            "UCC_TL_UCP_TUNE=allreduce:0-8191:[4-4]:inf:@knomial#allreduce:8192-inf:[4-4]:inf:"
            "@sra_knomial\n");
  EXPECT_EQ(export_rules("simgrid", curves()).files.at(0).text, "--cfg=smpi/allreduce:lr\n");
}

TEST(ExportRules, MpichsFileIsATreeOfKeys) {
  std::vector<MeasuredCurve> measured = curves();
  measured[1].series.algorithm = "rabenseifner";
  const auto json = nlohmann::json::parse(export_rules("mpich", measured).files.at(0).text);
  const auto& sizes = json.at("collective=allreduce").at("comm_type=intra").at("comm_size=any");
  EXPECT_TRUE(
      sizes.at("avg_msg_size<=8191").contains("algorithm=MPIR_Allreduce_intra_recursive_doubling"));
  EXPECT_TRUE(sizes.contains("avg_msg_size=any"));
}

TEST(ExportRules, UnknownRanksAreRefused) {
  std::vector<MeasuredCurve> measured = curves();
  measured[0].series.ranks = 0;
  EXPECT_THROW(export_rules("openmpi", measured), Error);
  EXPECT_THROW(export_rules("word", curves()), Error);
}

}  // namespace
}  // namespace tutti
