#include "collectives/block.hpp"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "collectives/error.hpp"
#include "collectives/parts.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

std::vector<std::size_t> part_counts(std::size_t count, int parts, Partition partition,
                                     DType dtype = DType::float32) {
  std::vector<std::size_t> counts;
  for (int i = 0; i < parts; ++i) {
    counts.push_back(Block{nullptr, count, dtype}.part(i, parts, partition).count);
  }
  return counts;
}

TEST(Block, FirstBalancedPartsTakeTheRemainder) {
  EXPECT_THAT(part_counts(73, 4, Partition::balanced), ElementsAre(19, 18, 18, 18));
  EXPECT_THAT(part_counts(3, 5, Partition::balanced), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(part_counts(0, 3, Partition::balanced), ElementsAre(0, 0, 0));
}

// The figures are gloo's own, from the geometry in gloo/allreduce.cc.
TEST(Block, GlooPartsAreThoseOfItsRing) {
  EXPECT_THAT(part_counts(10, 4, Partition::gloo), ElementsAre(4, 4, 2, 0));
  EXPECT_EQ(part_counts(1000, 8, Partition::gloo).front(), 126U);
  EXPECT_EQ(part_counts(3'000'001, 4, Partition::gloo).front(), 750'003U);
  EXPECT_THAT(part_counts(0, 4, Partition::gloo), ElementsAre(0, 0, 0, 0));
}

TEST(Block, PartsFollowEachOtherAndCoverTheBlockInEitherPartition) {
  std::array<std::byte, 4096> memory{};
  for (const Partition partition : {Partition::balanced, Partition::gloo}) {
    for (std::size_t count = 0; count <= 60; ++count) {
      for (int parts = 1; parts <= 17; ++parts) {
        const Block whole{memory.data(), count, DType::float64};
        const std::byte* expected = memory.data();
        for (int i = 0; i < parts; ++i) {
          const Block part = whole.part(i, parts, partition);
          EXPECT_EQ(part.data, expected);
          EXPECT_EQ(part.dtype, DType::float64);
          expected += part.bytes();
        }
        EXPECT_EQ(expected, memory.data() + whole.bytes());
      }
    }
  }
}

TEST(Block, AGhostWithAnAddressStaysAGhostWhosePartsLieWithinIt) {
  const Block whole{ghost_address(), 12, DType::float32};
  EXPECT_TRUE(whole.is_ghost());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(whole.part(i, 3).is_ghost());
    EXPECT_EQ(whole.part(i, 3).data, ghost_address(static_cast<std::uintptr_t>(i) * 16));
  }
  const Block nowhere{nullptr, 12, DType::float32};
  EXPECT_EQ(nowhere.slice(4, 4).data, nullptr);
  std::array<std::byte, 64> memory{};
  EXPECT_FALSE((Block{memory.data(), 1, DType::float32}.is_ghost()));
}

TEST(Block, PartIndicesAreTakenModuloTheNumberOfParts) {
  std::array<std::byte, 64> memory{};
  const Block whole{memory.data(), 13, DType::int32};
  for (int i = -9; i < 9; ++i) {
    EXPECT_EQ(whole.part(i, 3).data, whole.part(i + 3, 3).data);
    EXPECT_EQ(whole.part(i, 3).count, whole.part(i + 3, 3).count);
  }
}

TEST(Block, PartsAndSlicesOfAGhostAreGhosts) {
  const Block ghost{nullptr, 100, DType::int8};
  EXPECT_TRUE(ghost.part(3, 7).is_ghost());
  EXPECT_TRUE(ghost.slice(10, 20).is_ghost());
  EXPECT_EQ(ghost.slice(10, 20).bytes(), 20U);
}

TEST(Block, ASliceBeyondTheEndIsAProgrammerError) {
  const Block block{nullptr, 10, DType::float32};
  EXPECT_THROW(block.slice(5, 6), ContractError);
  EXPECT_THROW(block.slice(11, 0), ContractError);
  EXPECT_THROW(block.slice(1, static_cast<std::size_t>(-1)), ContractError);
  EXPECT_THROW(block.part(0, 0), ContractError);
}

TEST(Block, EightGibibytesAreCountedWithoutOverflow) {
  const std::size_t count = (std::size_t{1} << 33) + 1;
  const Block whole{nullptr, count, DType::uint8};
  EXPECT_EQ(whole.part(0, 2).count, (count + 1) / 2);
  EXPECT_EQ(whole.part(1, 2).count, count / 2);
}

TEST(Parts, SelectedOnesLieWhereTheyLayAndAreNumberedAnew) {
  const Parts parts(Block{nullptr, 12, DType::int32}, {1, 0, 4, 2, 3, 2});
  const Parts odd = parts.select(1, 2, 3);
  EXPECT_EQ(odd.size(), 3);
  EXPECT_EQ(odd[1].count, 2U);
  EXPECT_EQ(odd[-1].count, 2U);
  EXPECT_EQ(odd.whole().count, 11U);
  EXPECT_THROW(odd.range(0, 2), ContractError);
  const Parts middle = parts.select(2, 1, 3);
  EXPECT_EQ(middle.range(1, 2).count, 5U);
  EXPECT_EQ(middle.select(0, 2, 2)[1].count, 3U);
  EXPECT_THROW(parts.select(4, 2, 2), ContractError);
}

}  // namespace
}  // namespace tutti
