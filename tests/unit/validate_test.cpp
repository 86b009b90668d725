#include "experiments/validate.hpp"

#include <gtest/gtest.h>

#include "experiments/patterns.hpp"

namespace tutti {
namespace {

TEST(Comparison, OfPerfectPredictionsHasNoErrorAndNoRegret) {
  const Comparison result =
      compare({{"a", 100, 1.0, 1.0}, {"b", 100, 2.0, 2.0}, {"a", 400, 4.0, 4.0}, {"b", 400, 2, 2}});
  EXPECT_EQ(result.median_error, 0.0);
  EXPECT_EQ(result.largest_error, 0.0);
  EXPECT_EQ(result.largest_regret, 0.0);
  EXPECT_EQ(result.right, 2);
  EXPECT_EQ(result.sizes, 2);
  EXPECT_EQ(result.ordered, 1.0);
  ASSERT_EQ(result.crossovers.size(), 1u);
  EXPECT_NEAR(result.crossovers[0].measured_bytes, 200.0, 1e-9);
  EXPECT_NEAR(result.crossovers[0].predicted_bytes, 200.0, 1e-9);
}

TEST(Comparison, CountsWhatAWrongChoiceCosts) {
  const Comparison result =
      compare({{"a", 100, 1.0, 1.0}, {"b", 100, 1.5, 0.5}, {"a", 400, 2.0, 1.0}, {"b", 400, 2, 2}});
  EXPECT_DOUBLE_EQ(result.largest_regret, 0.5);
  EXPECT_DOUBLE_EQ(result.mean_regret, 0.25);
  EXPECT_EQ(result.right, 1);
  EXPECT_EQ(result.ordered, 0.0);  // The only pair that differs is the wrong way round.
  EXPECT_NEAR(result.largest_error, 2.0 / 3, 1e-12);
}

TEST(Comparison, SaysThatPredictedTimesDoNotCross) {
  const Comparison result =
      compare({{"a", 100, 1, 1}, {"b", 100, 2, 2}, {"a", 400, 4, 1}, {"b", 400, 2, 2}});
  ASSERT_EQ(result.crossovers.size(), 1u);
  EXPECT_EQ(result.crossovers[0].predicted_bytes, 0.0);
}

TEST(Estimates, AreMediansWithinTheirIntervalAndTheSameForEqualSeeds) {
  std::vector<double> samples = {5, 1, 4, 2, 3, 100};
  const Estimate estimate = estimate_of(samples, 7);
  EXPECT_DOUBLE_EQ(estimate.seconds, 3.5);
  EXPECT_LE(estimate.low_seconds, 3.5);
  EXPECT_GE(estimate.high_seconds, 3.5);
  EXPECT_LT(estimate.high_seconds, 100.0);
  std::vector<double> again = {5, 1, 4, 2, 3, 100};
  EXPECT_EQ(estimate_of(again, 7).low_seconds, estimate.low_seconds);
}

}  // namespace
}  // namespace tutti
