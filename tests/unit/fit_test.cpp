#include "experiments/fit.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tutti {
namespace {

std::vector<MessageTime> exact_times(const CostModel& model) {
  std::vector<MessageTime> messages;
  for (std::size_t bytes = 64; bytes <= 16u << 20; bytes *= 4) {
    const auto n = static_cast<double>(bytes);
    const double moved = model.alpha_seconds + n * model.beta_seconds_per_byte;
    messages.push_back({bytes, false, moved});
    messages.push_back({bytes, true, moved + n * model.gamma_seconds_per_byte});
  }
  return messages;
}

TEST(FitCostModel, RecoversAModelFromItsOwnTimes) {
  const CostModel model{3e-6, 0.2e-9, 0.05e-9};
  const CostModel fit = fit_cost_model(exact_times(model));
  // Only rounding separates the two.
  EXPECT_NEAR(fit.alpha_seconds, model.alpha_seconds, 1e-9 * model.alpha_seconds);
  EXPECT_NEAR(fit.beta_seconds_per_byte, model.beta_seconds_per_byte, 1e-18);
  EXPECT_NEAR(fit.gamma_seconds_per_byte, model.gamma_seconds_per_byte, 1e-18);
}

TEST(FitCostModel, StaysNearTheModelUnderNoiseOfTenPercent) {
  const CostModel model{3e-6, 0.2e-9, 0.1e-9};
  std::mt19937 random(7);
  std::vector<MessageTime> messages = exact_times(model);
  for (MessageTime& message : messages) {
    message.seconds *= 0.9 + 0.2 * static_cast<double>(random()) / 4294967296.0;
  }
  const CostModel fit = fit_cost_model(messages);
  // Alpha and beta rest on several messages each; no weighted mean of them is off by more than 10
  // %.
  EXPECT_NEAR(fit.alpha_seconds, model.alpha_seconds, 0.1 * model.alpha_seconds);
  EXPECT_NEAR(fit.beta_seconds_per_byte, model.beta_seconds_per_byte,
              0.2 * model.beta_seconds_per_byte);
}

TEST(FitCostModel, NeverReturnsANegativeTerm) {
  // Reductions that seem to cost less than nothing, and small messages that seem to come early.
  const CostModel fit = fit_cost_model(std::vector<MessageTime>{
      {1000, false, 0.5e-6}, {1000, true, 0.4e-6}, {2000, false, 2e-6}, {2000, true, 1.9e-6}});
  EXPECT_GE(fit.alpha_seconds, 0.0);
  EXPECT_GT(fit.beta_seconds_per_byte, 0.0);
  EXPECT_EQ(fit.gamma_seconds_per_byte, 0.0);
}

TEST(ShapeOfMachine, MessagesThatSlowEachOtherDownShareAMedium) {
  const Shape shape = shape_of({{1e-6, 1e-9, 2e-9}, 3e-9}, 4);
  EXPECT_EQ(shape.size(), 4);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 3), 1e-6);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 3), 1e9);
  EXPECT_EQ(shape.route(0, 1).back(), shape.route(2, 3).back());
  // Four messages at once take 3 ns a byte each.
  const auto medium = static_cast<std::size_t>(shape.route(0, 1).back());
  EXPECT_DOUBLE_EQ(shape.links[medium].bandwidth_bytes_per_second, 4 / 3e-9);
}

TEST(ShapeOfMachine, WithoutSharingItIsAStar) {
  const Shape shape = shape_of({{1e-6, 1e-9, 0.0}, 1e-9}, 2);
  EXPECT_EQ(shape.route(0, 1).size(), 2u);
  EXPECT_FALSE(shape.hosts[0].reduction_bytes_per_second.has_value());
}

TEST(ShapeOfMachine, AMachineWithoutMeasurableCostsHasAShape) {
  EXPECT_GT(shape_of({}, 2).bandwidth_bytes_per_second(0, 1), 0.0);
}

}  // namespace
}  // namespace tutti
