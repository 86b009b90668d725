#include "experiments/inputs.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

struct Buffers {
  Buffers(int ranks, std::size_t count, DType dtype)
      : memory(static_cast<std::size_t>(ranks), std::vector<std::byte>(count * bytes_of(dtype))) {
    for (auto& bytes : memory) blocks.push_back({bytes.data(), count, dtype});
  }

  std::vector<std::vector<std::byte>> memory;
  std::vector<Block> blocks;
};

TEST(ExactInputs, TheSerialReferenceGivesNoWrongElementForAnyCollectiveDtypeAndOp) {
  for (const Collective collective : all_collectives()) {
    for (const DType dtype : all_dtypes()) {
      for (const Op op : {Op::sum, Op::product, Op::min, Op::max}) {
        for (const int ranks : {1, 2, 3, 8, 130}) {
          const ExactInputs inputs(ranks, dtype, op);
          // An alltoall has equal parts.
          const auto size = static_cast<std::size_t>(ranks);
          const bool is_equal = collective == Collective::alltoall;
          Buffers buffers(ranks, is_equal ? 2100 / size * size : 2100, dtype);
          const Division division{collective, ranks, ranks - 1};
          for (int rank = 0; rank < ranks; ++rank) {
            inputs.fill(division, rank, buffers.blocks[static_cast<std::size_t>(rank)]);
          }
          reduce_serially(division, op, buffers.blocks);
          for (int rank = 0; rank < ranks; ++rank) {
            const Block result = buffers.blocks[static_cast<std::size_t>(rank)];
            ASSERT_EQ(inputs.count_wrong(division, rank, result), 0u)
                << name_of(collective) << ' ' << name_of(dtype) << ' ' << name_of(op) << ' '
                << ranks << " ranks, rank " << rank;
          }
        }
      }
    }
  }
}

TEST(ExactInputs, UnequalPartsAreWhereTheReferencePutsThem) {
  const std::vector<std::size_t> counts = {3, 0, 5, 2};
  for (const Collective collective : all_collectives()) {
    if (!has_parts(collective)) continue;
    const Division division{collective, 4, 2, counts};
    const ExactInputs inputs(4, DType::int32, Op::sum);
    Buffers buffers(4, 10, DType::int32);
    for (int rank = 0; rank < 4; ++rank) {
      inputs.fill(division, rank, buffers.blocks[static_cast<std::size_t>(rank)]);
    }
    reduce_serially(division, Op::sum, buffers.blocks);
    for (int rank = 0; rank < 4; ++rank) {
      const Block whole = buffers.blocks[static_cast<std::size_t>(rank)];
      EXPECT_EQ(inputs.count_wrong(division, rank, whole), 0u) << name_of(collective) << rank;
    }
  }
}

TEST(ExactInputs, PartsOfAlltoallAreAsLargeForTheirSenderAsForTheirReceiver) {
  const Division division{Collective::alltoall, 4, 0, {3, 0, 5, 2}};
  const Block whole{nullptr, 10, DType::int32};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      EXPECT_EQ(division.parts_of(whole, from)[to].count, division.parts_of(whole, to)[from].count);
    }
  }
  EXPECT_EQ(division.parts_of(whole, 1)[1].count, 5u);
}

TEST(ExactInputs, SumsAreExactWhicheverWayTheyAreFolded) {
  for (const DType dtype : all_dtypes()) {
    for (const int ranks : {5, 64, 200}) {
      const Division division{Collective::allreduce, ranks};
      const ExactInputs inputs(ranks, dtype, Op::sum);
      Buffers buffers(ranks, 1500, dtype);
      std::vector<Block> reversed;
      for (int rank = 0; rank < ranks; ++rank) {
        const Block block = buffers.blocks[static_cast<std::size_t>(rank)];
        inputs.fill(division, rank, block);
        reversed.insert(reversed.begin(), block);
      }
      reduce_serially(division, Op::sum, reversed);
      EXPECT_EQ(inputs.count_wrong(division, 0, buffers.blocks[0]), 0u)
          << name_of(dtype) << ", " << ranks << " ranks";
    }
  }
}

TEST(ExactInputs, EveryElementThatDiffersIsCounted) {
  const ExactInputs inputs(1, DType::float32, Op::sum);
  Buffers buffers(1, 5000, DType::float32);
  inputs.fill({Collective::allreduce, 1}, 0, buffers.blocks[0]);
  for (const std::size_t element : {0u, 1020u, 1021u, 4999u}) {
    buffers.blocks[0].data[4 * element + 3] ^= std::byte{0x40};
  }
  EXPECT_EQ(inputs.count_wrong({Collective::allreduce, 1}, 0, buffers.blocks[0]), 4u);
}

TEST(ExactInputs, WhatARankDoesNotContributeWouldBeNoticed) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 100, DType::int32);
  inputs.fill({Collective::allgather, 2}, 0, buffers.blocks[0]);
  EXPECT_EQ(inputs.count_wrong({Collective::allgather, 2}, 0, buffers.blocks[0]), 50u);
  inputs.fill({Collective::broadcast, 2}, 1, buffers.blocks[1]);
  EXPECT_EQ(inputs.count_wrong({Collective::broadcast, 2}, 1, buffers.blocks[1]), 100u);
  inputs.fill({Collective::gather, 2}, 0, buffers.blocks[0]);
  EXPECT_EQ(inputs.count_wrong({Collective::gather, 2}, 0, buffers.blocks[0]), 50u);
  inputs.fill({Collective::scatter, 2}, 1, buffers.blocks[1]);
  EXPECT_EQ(inputs.count_wrong({Collective::scatter, 2}, 1, buffers.blocks[1]), 50u);
}

TEST(ExactInputs, OnlyTheRootHasAResultOfAReduceOrGatherAndNobodyOfABarrier) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 100, DType::int32);
  for (const Collective collective : {Collective::reduce, Collective::gather}) {
    const Division division{collective, 2, 1};
    EXPECT_EQ(division.result_of(buffers.blocks[1], 1).count, 100u);
    EXPECT_EQ(division.result_of(buffers.blocks[0], 0).count, 0u);
    EXPECT_EQ(inputs.count_wrong(division, 0, buffers.blocks[0]), 0u);
    EXPECT_GT(inputs.count_wrong(division, 1, buffers.blocks[1]), 0u);
  }
  EXPECT_EQ((Division{Collective::barrier, 2}.result_of(buffers.blocks[0], 0).count), 0u);
}

TEST(ExactInputs, AnAlltoallThatLeavesEverythingWhereItIsIsWrong) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 200, DType::int32);
  inputs.fill({Collective::alltoall, 2}, 0, buffers.blocks[0]);
  inputs.fill({Collective::alltoall, 2}, 1, buffers.blocks[1]);
  // Some of the 100 elements that ought to move agree by chance: there are seven numbers.
  const std::size_t wrong = inputs.count_wrong({Collective::alltoall, 2}, 0, buffers.blocks[0]);
  EXPECT_GT(wrong, 0u);
  EXPECT_LE(wrong, 100u);
}

TEST(RandomInputs, AreTheSameForTheSameSeedAndDifferBetweenRanks) {
  Buffers buffers(3, 1000, DType::float32);
  fill_random({Collective::allreduce, 2}, 0, 5, buffers.blocks[0]);
  fill_random({Collective::allreduce, 2}, 0, 5, buffers.blocks[1]);
  fill_random({Collective::allreduce, 2}, 1, 5, buffers.blocks[2]);
  EXPECT_EQ(buffers.memory[0], buffers.memory[1]);
  EXPECT_NE(buffers.memory[0], buffers.memory[2]);
  for (const double value : to_doubles(buffers.blocks[0])) {
    EXPECT_GE(value, -1.0);
    EXPECT_LE(value, 1.0);
  }
}

}  // namespace
}  // namespace tutti
