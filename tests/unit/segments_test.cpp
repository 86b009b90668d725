#include "experiments/segments.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tutti {
namespace {

constexpr std::uint64_t seed = 3;

// 1 us and 1 ns a byte below 16 KiB, 8 us and 0.2 ns from there on; errors of up to `error`.
std::vector<TimedBytes> two_lines(double error) {
  std::mt19937_64 random(seed);
  std::vector<TimedBytes> times;
  for (std::size_t bytes = 64; bytes <= std::size_t{1} << 20; bytes *= 2) {
    const auto length = static_cast<double>(bytes);
    const double exact = bytes < 16384 ? 1e-6 + 1e-9 * length : 8e-6 + 0.2e-9 * length;
    const double share = static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1;
    times.push_back({bytes, exact * (1 + error * share)});
  }
  return times;
}

TEST(Segments, FindTheStepAndBothLinesOfCleanTimes) {
  const std::vector<Segment> segments = fit_segments(two_lines(0.0), seed);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].to_bytes, 8192u);
  EXPECT_EQ(segments[1].from_bytes, 16384u);
  EXPECT_NEAR(segments[0].start.seconds, 1e-6, 1e-12);
  EXPECT_NEAR(segments[0].slope.seconds, 1e-9, 1e-15);
  EXPECT_NEAR(segments[1].start.seconds, 8e-6, 1e-11);
  EXPECT_NEAR(segments[1].slope.seconds, 0.2e-9, 1e-15);
  EXPECT_LT(segments[0].relative_residual, 1e-9);
}

TEST(Segments, KeepTheTruthWithinAFewTimesTheErrorOfTheTimes) {
  const std::vector<Segment> segments = fit_segments(two_lines(0.02), seed);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_NEAR(segments[0].slope.seconds, 1e-9, 0.06e-9);
  EXPECT_NEAR(segments[1].slope.seconds, 0.2e-9, 0.012e-9);
  for (const Segment& segment : segments) {
    EXPECT_LE(segment.slope.low_seconds, segment.slope.seconds);
    EXPECT_GE(segment.slope.high_seconds, segment.slope.seconds);
  }
}

TEST(Segments, AreNotMovedByAnOutlier) {
  std::vector<TimedBytes> times;
  for (std::size_t bytes = 1000; bytes <= 12000; bytes += 1000) {
    times.push_back({bytes, 5e-6 + 1e-9 * static_cast<double>(bytes)});
  }
  times[5].seconds *= 10;
  const std::vector<Segment> segments = fit_segments(times, seed);
  EXPECT_NEAR(segments.front().slope.seconds, 1e-9, 0.05e-9);
  EXPECT_NEAR(segments.front().start.seconds, 5e-6, 0.1e-6);
}

}  // namespace
}  // namespace tutti
