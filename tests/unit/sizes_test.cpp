#include "experiments/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/error.hpp"

namespace tutti {
namespace {

using ::testing::ElementsAre;

TEST(ParseSize, SuffixesAreBinary) {
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("1K"), 1024u);
  EXPECT_EQ(parse_size("4k"), 4096u);
  EXPECT_EQ(parse_size("16MiB"), 16u << 20);
  EXPECT_EQ(parse_size("1GB"), 1u << 30);
  EXPECT_EQ(parse_size("1kb"), 1024u);
  EXPECT_EQ(parse_size("3b"), 3u);
  EXPECT_EQ(parse_size("2T"), std::size_t{2} << 40);
}

TEST(ParseSize, WhatIsNoSizeIsAUsageError) {
  for (const char* text : {"", "K", "-1", "1X", "1.5K", "1K2", " 1", "0x10", "1Ki2",
                           "99999999999999999999", "9000000T"}) {
    EXPECT_THROW(parse_size(text), Error) << text;
  }
}

TEST(SweepSizes, AFactorMultipliesUpToTheLargest) {
  EXPECT_THAT(
      sweep_sizes({.minimum = "1K", .maximum = "20K", .factor = 4, .step = "", .sizes = ""}),
      ElementsAre(1024, 4096, 16384));
}

TEST(SweepSizes, AStepAdds) {
  EXPECT_THAT(sweep_sizes({.minimum = "0", .maximum = "10", .factor = 4, .step = "4", .sizes = ""}),
              ElementsAre(0, 4, 8));
}

TEST(SweepSizes, AListIsKeptAsItIs) {
  SweepFlags flags;
  flags.sizes = "16M,1K";
  EXPECT_THAT(sweep_sizes(flags), ElementsAre(16u << 20, 1024));
}

TEST(SweepSizes, AListIsNoLongerThanASweepMayBe) {
  SweepFlags flags;
  for (int i = 0; i < 10'000; ++i) flags.sizes += "8,";
  EXPECT_EQ(sweep_sizes(flags).size(), 10'000u);
  flags.sizes += "8";
  EXPECT_THROW(sweep_sizes(flags), Error);
}

TEST(SweepSizes, ASweepWithoutAnEndIsAUsageError) {
  const auto sweep = [](const char* minimum, const char* maximum, std::size_t factor,
                        const char* step) {
    return sweep_sizes({minimum, maximum, factor, step, ""});
  };
  EXPECT_THROW(sweep("0", "1K", 2, ""), Error);
  EXPECT_THROW(sweep("1", "1K", 1, ""), Error);
  EXPECT_THROW(sweep("1", "1K", 2, "0"), Error);
  EXPECT_THROW(sweep("2K", "1K", 2, ""), Error);
  EXPECT_THROW(sweep("1", "1G", 2, "1"), Error);
  EXPECT_THAT(sweep("0", "0", 2, ""), ElementsAre(0));
}

TEST(SweepSizes, TheLargestPossibleSizesDoNotOverflow) {
  EXPECT_EQ(sweep_sizes({"1T", "8388607T", 1000, "", ""}).back(), std::size_t{1000000} << 40);
}

}  // namespace
}  // namespace tutti
