// What the tests themselves rest on: LoopbackWorld's own options, and the comparison of blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Block block_of(std::vector<float>& values) {
  return Block{reinterpret_cast<std::byte*>(values.data()), values.size(), DType::float32};
}

// Rank 0 sends 12 bytes that rank 1 does not receive.
ErrorKind kind_of_lost_message(std::size_t eager_bytes, std::string& text) {
  LoopbackWorld world(2, {.eager_bytes = eager_bytes});
  try {
    world.run([](Rank& rank) {
      if (rank.index() == 0) rank.channel().send(1, Block{nullptr, 3, DType::float32});
    });
  } catch (const Error& error) {
    text = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "the run ended without an error";
  return ErrorKind::usage;
}

TEST(LoopbackWorld, AnEagerMessageThatNobodyReceivesIsAMismatchWithRanksAndBytes) {
  std::string text;
  EXPECT_EQ(kind_of_lost_message(12, text), ErrorKind::mismatch);
  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 sent 12 bytes"), HasSubstr("rank 1")));
}

TEST(LoopbackWorld, ARendezvousThatNobodyComesToIsALostPeer) {
  std::string text;
  EXPECT_EQ(kind_of_lost_message(11, text), ErrorKind::peer_lost);
}

TEST(LoopbackWorld, AWaitLongerThanItsTimeoutFailsWithoutADeadline) {
  LoopbackWorld world(2, {.timeout_seconds = 0.02});
  try {
    world.run([](Rank& rank) { rank.channel().recv(1 - rank.index(), Block{nullptr, 1}); });
    FAIL() << "the run ended without an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  }
}

TEST(SameBits, NamesTheFirstElementThatDiffers) {
  std::vector<float> expected{1.0F, 2.0F, 3.0F}, actual{1.0F, 2.5F, 3.5F};
  const testing::AssertionResult result = same_bits(block_of(expected), block_of(actual));
  EXPECT_FALSE(result);
  EXPECT_THAT(result.message(), HasSubstr("element 1 of 3 float32: expected 2, found 2.5"));
}

TEST(SameBits, TellsZeroFromMinusZeroAndOneTypeFromAnother) {
  std::vector<float> plus{0.0F}, minus{-0.0F};
  EXPECT_FALSE(same_bits(block_of(plus), block_of(minus)));
  Block other = block_of(plus);
  other.dtype = DType::int32;
  EXPECT_FALSE(same_bits(block_of(plus), other));
}

TEST(SameBits, ANotANumberEqualsItself) {
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(same_bits(block_of(values), block_of(values)));
}

TEST(FillWhole, GivesSmallWholeNumbersOfEveryTypeAndRepeatsThem) {
  for (const DType dtype : all_dtypes()) {
    std::vector<std::byte> first(100 * bytes_of(dtype)), second(first.size());
    const Block block{first.data(), 100, dtype}, again{second.data(), 100, dtype};
    std::mt19937_64 random(1), same(1);
    fill_whole(block, random);
    fill_whole(again, same);
    EXPECT_TRUE(same_bits(block, again));
    for (std::size_t i = 0; i < block.count; ++i) {
      EXPECT_EQ(element(block, i), std::round(element(block, i)));
      EXPECT_LE(std::abs(element(block, i)), 2.0);
    }
  }
}

}  // namespace
}  // namespace tutti
