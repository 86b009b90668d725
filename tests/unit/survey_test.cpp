#include "experiments/survey.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti {
namespace {

TEST(Survey, FindsWhereTwoStraightLinesCross) {
  const auto evaluate = [](std::size_t count) {
    const auto n = static_cast<double>(count);
    return std::vector<double>{6.0 + 1.5 * n, 4.0 + 4.0 * n};
  };
  const Survey found = survey({0, 1'000'000}, [&](std::size_t count) {
    const std::vector<double> times = evaluate(count);
    return std::vector<double>{times[0] + 100'000, times[1]};
  });
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0].from, 1u);
  EXPECT_EQ(found.changes[0].to, 0u);
  // 100,002 + 1.5 n = 4 n; the lines are straight, so interpolation is exact up to rounding.
  EXPECT_NEAR(found.changes[0].count, 100'002 / 2.5, 1e-6);
}

TEST(Survey, FindsAThirdAlgorithmThatWinsBetweenTwoSizes) {
  const Survey found = survey({0, 1000}, [](std::size_t count) {
    const auto n = static_cast<double>(count);
    return std::vector<double>{1.0 + n, 100.0 + 0.5 * n, 300.0 + 0.1 * n};
  });
  ASSERT_EQ(found.changes.size(), 2u);
  EXPECT_EQ(found.changes[0].to, 1u);
  EXPECT_NEAR(found.changes[0].count, 198, 1.0);
  EXPECT_EQ(found.changes[1].to, 2u);
  EXPECT_NEAR(found.changes[1].count, 500, 1.0);
}

TEST(Survey, EquallyFastAlgorithmsNeverChange) {
  const Survey found = survey({4, 1, 1, 2}, [](std::size_t count) {
    const auto n = static_cast<double>(count);
    return std::vector<double>{n / 3 + 1e-13, n / 3};
  });
  EXPECT_TRUE(found.changes.empty());
  ASSERT_EQ(found.samples.size(), 3u);
  EXPECT_EQ(found.samples[0].count, 1u);
  EXPECT_EQ(found.samples[2].winner(), 0u);
}

TEST(Survey, WhereNoTimePassesNobodyWins) {
  const Survey found = survey({0, 1, 2}, [](std::size_t count) {
    const auto n = static_cast<double>(count);
    return std::vector<double>{2 * n, n};
  });
  EXPECT_TRUE(found.changes.empty());
}

TEST(Survey, AWinnerStaysUntilItIsBeatenByMoreThanTheTolerance) {
  const auto evaluate = [](std::size_t count) {
    const double noise = count == 2 ? 1.05 : 1.0;
    return std::vector<double>{noise * 100.0, count < 300 ? 104.0 : 50.0};
  };
  EXPECT_EQ(survey({1, 2, 3, 1000}, evaluate).changes.size(), 3u);
  const Survey calm = survey({1, 2, 3, 1000}, evaluate, 0.1);
  ASSERT_EQ(calm.changes.size(), 1u);
  EXPECT_EQ(calm.changes[0].from, 0u);
  EXPECT_EQ(calm.changes[0].to, 1u);
  EXPECT_NEAR(calm.changes[0].count, 300, 3);  // 1 %.
}

TEST(Survey, EvaluatesAboutLogarithmicallyOften) {
  int evaluations = 0;
  const Survey found = survey({1'000, 4'000}, [&](std::size_t count) {
    ++evaluations;
    const auto n = static_cast<double>(count);
    return std::vector<double>{n, 2'000.5};
  });
  EXPECT_EQ(found.changes.size(), 1u);
  // Two ends, and ceil(log2(3000 / 20)) = 8 halvings to reach 1 %.
  EXPECT_LE(evaluations, 10);
}

TEST(Sample, TheMarginIsHowMuchLongerTheSecondTakes) {
  const Sample sample{1, {3.0, 2.0, 2.5}};
  EXPECT_EQ(sample.winner(), 1u);
  EXPECT_EQ(sample.runner_up(), 2u);
  EXPECT_DOUBLE_EQ(sample.margin(), 0.25);
  EXPECT_EQ((Sample{0, {0.0, 0.0}}).margin(), 0.0);
  EXPECT_EQ((Sample{1, {3.0}}).margin(), 0.0);
}

}  // namespace
}  // namespace tutti
