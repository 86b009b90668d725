#include "profiles/profile.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "topologies/shape.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

ProfilePoint point(std::size_t buffer, std::size_t message, double seconds) {
  ProfilePoint result{buffer, message};
  for (Estimate& time : result.times) time = {seconds, seconds * 0.9, seconds * 1.2};
  return result;
}

Profile example() {
  RankProfile two;
  two.ranks = 2;
  two.call = {1e-6, 0.5e-6, 2e-6};
  two.gap = {2e-7, 1e-7, 3e-7};
  two.rendezvous_bytes = 16384;
  two.points = {point(64, 8, 1e-6), point(64, 64, 2e-6), point(1024, 8, 1e-6),
                point(1024, 1024, 4e-6)};
  RankProfile eight = two;
  eight.ranks = 8;
  return {"shm", DType::float64, {{"machine", "a \"b\" \\ c: d"}}, {"two lines"}, {two, eight}};
}

double time_of(const Profile& profile, std::size_t message, std::size_t buffer) {
  return profile.ranks[0].seconds(Curve::alone, message, buffer);
}

TEST(Profile, GoesThroughItsPointsAndStraightInTheLogarithmsBetweenThem) {
  const Profile profile = example();
  EXPECT_DOUBLE_EQ(time_of(profile, 64, 64), 2e-6);
  EXPECT_DOUBLE_EQ(time_of(profile, 8, 1024), 1e-6);
  EXPECT_DOUBLE_EQ(time_of(profile, 1024, 1024), 4e-6);
  // Halfway from 8 to 64 in both logarithms.
  EXPECT_NEAR(time_of(profile, 23, 64), 1.4142e-6, 0.02e-6);
  // Halfway from 64 to 1024: between 2 us and what 64 B take there.
  const double large = time_of(profile, 64, 1024);
  EXPECT_NEAR(time_of(profile, 64, 256), std::sqrt(2e-6 * large), 1e-12);
}

TEST(Profile, IsConstantBelowItsSmallestMessageAndInProportionBeyondItsLargest) {
  const Profile profile = example();
  EXPECT_DOUBLE_EQ(time_of(profile, 1, 1), 1e-6);
  EXPECT_DOUBLE_EQ(time_of(profile, 4096, 4096), 16e-6);
}

TEST(Profile, TakesTheNearestNumberOfRanks) {
  const Profile profile = example();
  EXPECT_EQ(profile.of(2).ranks, 2);
  EXPECT_EQ(profile.of(3).ranks, 2);
  EXPECT_EQ(profile.of(5).ranks, 8);
  EXPECT_EQ(profile.of(100).ranks, 8);
}

TEST(Profile, IsTheSameAfterItWasWrittenAndRead) {
  const Profile profile = example();
  const std::string text = write_profile(profile);
  const Profile read = read_profile(text, "a.yaml");
  EXPECT_EQ(read.transport, "shm");
  EXPECT_EQ(read.dtype, DType::float64);
  EXPECT_EQ(read.provenance[0].value, profile.provenance[0].value);
  ASSERT_EQ(read.ranks.size(), 2u);
  EXPECT_EQ(read.ranks[1].ranks, 8);
  EXPECT_EQ(read.ranks[0].rendezvous_bytes, 16384u);
  EXPECT_NEAR(read.ranks[0].call.high_seconds, 2e-6, 1e-15);
  EXPECT_NEAR(time_of(read, 64, 64), 2e-6, 1e-15);
  // The remarks are comments, and gone.
  Profile silent = profile;
  silent.remarks.clear();
  EXPECT_EQ(write_profile(read), write_profile(silent));
}

TEST(Profile, SaysWhereAFileIsWrong) {
  const auto complaint = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    try {
      read_profile(text, "a.yaml");
    } catch (const ShapeError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string text = write_profile(example());
  EXPECT_THAT(complaint(text, "profile: 1", "profile: 9"), HasSubstr("a.yaml:4:10: expected"));
  EXPECT_THAT(complaint(text, "call: [1,", "call: [x,"), HasSubstr("'x' is no number"));
  EXPECT_THAT(complaint(text, "call: [1,", "call: [0.1,"), HasSubstr("between the two"));
  EXPECT_THAT(complaint(text, "[64, 64, 2,", "[64, 64,"), HasSubstr("25 numbers, expected 26"));
  EXPECT_THAT(complaint(text, "[64, 64, 2,", "[64, 4, 2,"), HasSubstr("ascending"));
  EXPECT_THAT(complaint(text, "ranks: 8", "ranks: 2"), HasSubstr("ascending ranks"));
  EXPECT_THAT(complaint(text, "dtype: float64", "dtype: float63"), HasSubstr("a.yaml:6:8"));
  EXPECT_THAT(complaint(text, "gap:", "gop:"), HasSubstr("expected a key 'gap'"));
}

TEST(Profile, ResampledStaysWithinItsIntervalsAndDependsOnlyOnTheSeed) {
  const Profile profile = example();
  const Profile once = profile.resampled(7), again = profile.resampled(7);
  EXPECT_EQ(write_profile(once), write_profile(again));
  EXPECT_NE(write_profile(once), write_profile(profile.resampled(8)));
  for (const ProfilePoint& each : once.ranks[0].points) {
    for (const Estimate& time : each.times) {
      EXPECT_GE(time.seconds, time.low_seconds);
      EXPECT_LE(time.seconds, time.high_seconds);
    }
  }
}

}  // namespace
}  // namespace tutti
