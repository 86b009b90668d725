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
          const int root = ranks - 1;
          for (int rank = 0; rank < ranks; ++rank) {
            inputs.fill(collective, rank, root, buffers.blocks[static_cast<std::size_t>(rank)]);
          }
          reduce_serially(collective, op, root, buffers.blocks);
          for (int rank = 0; rank < ranks; ++rank) {
            const Block result = buffers.blocks[static_cast<std::size_t>(rank)];
            ASSERT_EQ(inputs.count_wrong(collective, rank, root, result), 0u)
                << name_of(collective) << ' ' << name_of(dtype) << ' ' << name_of(op) << ' '
                << ranks << " ranks, rank " << rank;
          }
        }
      }
    }
  }
}

TEST(ExactInputs, SumsAreExactWhicheverWayTheyAreFolded) {
  for (const DType dtype : all_dtypes()) {
    for (const int ranks : {5, 64, 200}) {
      const ExactInputs inputs(ranks, dtype, Op::sum);
      Buffers buffers(ranks, 1500, dtype);
      std::vector<Block> reversed;
      for (int rank = 0; rank < ranks; ++rank) {
        const Block block = buffers.blocks[static_cast<std::size_t>(rank)];
        inputs.fill(Collective::allreduce, rank, 0, block);
        reversed.insert(reversed.begin(), block);
      }
      reduce_serially(Collective::allreduce, Op::sum, 0, reversed);
      EXPECT_EQ(inputs.count_wrong(Collective::allreduce, 0, 0, buffers.blocks[0]), 0u)
          << name_of(dtype) << ", " << ranks << " ranks";
    }
  }
}

TEST(ExactInputs, EveryElementThatDiffersIsCounted) {
  const ExactInputs inputs(1, DType::float32, Op::sum);
  Buffers buffers(1, 5000, DType::float32);
  inputs.fill(Collective::allreduce, 0, 0, buffers.blocks[0]);
  for (const std::size_t element : {0u, 1020u, 1021u, 4999u}) {
    buffers.blocks[0].data[4 * element + 3] ^= std::byte{0x40};
  }
  EXPECT_EQ(inputs.count_wrong(Collective::allreduce, 0, 0, buffers.blocks[0]), 4u);
}

TEST(ExactInputs, WhatARankDoesNotContributeWouldBeNoticed) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 100, DType::int32);
  inputs.fill(Collective::allgather, 0, 0, buffers.blocks[0]);
  EXPECT_EQ(inputs.count_wrong(Collective::allgather, 0, 0, buffers.blocks[0]), 50u);
  inputs.fill(Collective::broadcast, 1, 0, buffers.blocks[1]);
  EXPECT_EQ(inputs.count_wrong(Collective::broadcast, 1, 0, buffers.blocks[1]), 100u);
  inputs.fill(Collective::gather, 0, 0, buffers.blocks[0]);
  EXPECT_EQ(inputs.count_wrong(Collective::gather, 0, 0, buffers.blocks[0]), 50u);
  inputs.fill(Collective::scatter, 1, 0, buffers.blocks[1]);
  EXPECT_EQ(inputs.count_wrong(Collective::scatter, 1, 0, buffers.blocks[1]), 50u);
}

TEST(ExactInputs, OnlyTheRootHasAResultOfAReduceOrGatherAndNobodyOfABarrier) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 100, DType::int32);
  for (const Collective collective : {Collective::reduce, Collective::gather}) {
    EXPECT_EQ(result_of(collective, 1, 2, 1, buffers.blocks[1]).count, 100u);
    EXPECT_EQ(result_of(collective, 0, 2, 1, buffers.blocks[0]).count, 0u);
    EXPECT_EQ(inputs.count_wrong(collective, 0, 1, buffers.blocks[0]), 0u);
    EXPECT_GT(inputs.count_wrong(collective, 1, 1, buffers.blocks[1]), 0u);
  }
  EXPECT_EQ(result_of(Collective::barrier, 0, 2, 0, buffers.blocks[0]).count, 0u);
}

TEST(ExactInputs, AnAlltoallThatLeavesEverythingWhereItIsIsWrong) {
  const ExactInputs inputs(2, DType::int32, Op::sum);
  Buffers buffers(2, 200, DType::int32);
  inputs.fill(Collective::alltoall, 0, 0, buffers.blocks[0]);
  inputs.fill(Collective::alltoall, 1, 0, buffers.blocks[1]);
  // Some of the 100 elements that ought to move agree by chance: there are seven numbers.
  const std::size_t wrong = inputs.count_wrong(Collective::alltoall, 0, 0, buffers.blocks[0]);
  EXPECT_GT(wrong, 0u);
  EXPECT_LE(wrong, 100u);
}

TEST(RandomInputs, AreTheSameForTheSameSeedAndDifferBetweenRanks) {
  Buffers buffers(3, 1000, DType::float32);
  fill_random(Collective::allreduce, 0, 2, 0, 5, buffers.blocks[0]);
  fill_random(Collective::allreduce, 0, 2, 0, 5, buffers.blocks[1]);
  fill_random(Collective::allreduce, 1, 2, 0, 5, buffers.blocks[2]);
  EXPECT_EQ(buffers.memory[0], buffers.memory[1]);
  EXPECT_NE(buffers.memory[0], buffers.memory[2]);
  for (const double value : to_doubles(buffers.blocks[0])) {
    EXPECT_GE(value, -1.0);
    EXPECT_LE(value, 1.0);
  }
}

}  // namespace
}  // namespace tutti
