// The v-forms: the collectives that divide their buffer, over parts of any size.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "collectives/checked.hpp"
#include "collectives/plan_check.hpp"
#include "tests/collectives/exercise.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

std::vector<const Algorithm*> algorithms_with_v_form(PartSizes parts) {
  std::vector<const Algorithm*> found;
  for (const Collective collective :
       {Collective::allgather, Collective::reduce_scatter, Collective::alltoall, Collective::gather,
        Collective::scatter}) {
    for (const Algorithm* algorithm : algorithms_of(collective)) {
      if (algorithm->parts == parts) found.push_back(algorithm);
    }
  }
  return found;
}

// Counts for 1 to 9 ranks: zeros first, last, in the middle and everywhere; all in one part.
std::vector<std::vector<std::size_t>> uneven_counts() {
  std::vector<std::vector<std::size_t>> all = {{7},
                                               {0, 4},
                                               {3, 0},
                                               {5, 1, 2},
                                               {0, 0, 9},
                                               {0, 0, 0},
                                               {0, 5, 0, 3},
                                               {11, 0, 0, 0},
                                               {1, 2, 3, 4, 5},
                                               {4, 0, 4, 0, 4, 1},
                                               {0, 6, 2},
                                               {2, 0, 0, 0, 9},
                                               {0, 1, 0, 1, 0, 1}};
  for (std::size_t ranks = 7; ranks <= 9; ++ranks) {
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < ranks; ++i) counts.push_back(i * i % 5);
    all.push_back(counts);
  }
  return all;
}

Arguments arguments_of(const Exercise& exercise, int rank) {
  Arguments arguments{.root = exercise.root, .counts = exercise.division().counts_of(rank)};
  if (exercise.collective == Collective::alltoall) arguments.source_counts = arguments.counts;
  return arguments;
}

class EveryVForm : public testing::TestWithParam<const Algorithm*> {
 protected:
  // Calls `visit` with every exercise that the algorithm supports and the filled buffers of its
  // ranks, in a world of that size.
  template <typename Visit>
  void sweep(const Visit& visit) const {
    for (const auto& counts : uneven_counts()) {
      const int root = is_rooted(GetParam()->collective) ? static_cast<int>(counts.size()) / 2 : 0;
      const Exercise exercise{GetParam()->collective, counts, root};
      if (!GetParam()->supports({.ranks = exercise.size()})) continue;
      SCOPED_TRACE("counts " + testing::PrintToString(counts));
      LoopbackWorld world(exercise.size());
      std::vector<Block> blocks;
      for (int rank = 0; rank < exercise.size(); ++rank) {
        blocks.push_back(world.allocate_block(exercise.count(), DType::int32));
        exercise.fill(blocks.back(), rank);
      }
      visit(exercise, world, blocks);
      if (HasFailure()) return;
    }
  }
};

TEST_P(EveryVForm, GivesTheSameInPlaceWithUnequalAndEmptyParts) {
  sweep([](const Exercise& exercise, World& world, const std::vector<Block>& blocks) {
    world.run([&](Rank& rank) {
      Checked channel(rank.channel());
      Arguments arguments = arguments_of(exercise, rank.index());
      arguments.output = blocks[static_cast<std::size_t>(rank.index())];
      run(*GetParam(), channel, arguments);
    });
    for (int rank = 0; rank < exercise.size(); ++rank) {
      const Block whole = blocks[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(exercise.has_result(exercise.division().result_of(whole, rank), rank));
    }
  });
}

TEST_P(EveryVForm, GivesTheSameOutOfPlaceAndLeavesTheInputAlone) {
  sweep([](const Exercise& exercise, World& world, const std::vector<Block>& blocks) {
    std::vector<Block> outputs;
    std::vector<std::vector<std::byte>> before;
    for (int rank = 0; rank < exercise.size(); ++rank) {
      const Block whole = blocks[static_cast<std::size_t>(rank)];
      outputs.push_back(
          world.allocate_block(exercise.division().result_of(whole, rank).count, whole.dtype));
      before.push_back(bytes_in(whole));
    }
    world.run([&](Rank& rank) {
      Checked channel(rank.channel());
      const auto index = static_cast<std::size_t>(rank.index());
      Arguments arguments = arguments_of(exercise, rank.index());
      arguments.input = exercise.division().input_of(blocks[index], rank.index());
      arguments.output = outputs[index];
      run(*GetParam(), channel, arguments);
    });
    for (int rank = 0; rank < exercise.size(); ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_TRUE(exercise.has_result(outputs[index], rank));
      EXPECT_EQ(bytes_in(blocks[index]), before[index]);
    }
  });
}

std::string name_of_entry(const testing::TestParamInfo<const Algorithm*>& entry) {
  return std::string(entry.param->full_name);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryVForm,
                         testing::ValuesIn(algorithms_with_v_form(PartSizes::any)), name_of_entry);

class EveryAlgorithmOfEqualParts : public testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryAlgorithmOfEqualParts, RefusesCountsBeforeAnyDataMoves) {
  const Algorithm& algorithm = *GetParam();
  const Exercise exercise{algorithm.collective, {2, 2, 2}};
  try {
    record(3, [&](Channel& channel) {
      Arguments arguments = arguments_of(exercise, channel.rank());
      arguments.output = Block{nullptr, 6, DType::int32};
      run(algorithm, channel, arguments);
    });
    FAIL() << "counts were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("expected equal parts"));
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithmOfEqualParts,
                         testing::ValuesIn(algorithms_with_v_form(PartSizes::equal)),
                         name_of_entry);

TEST(Alltoall, OfACountThatTheRanksDoNotDivideIsRefusedUnlessCountsAreGiven) {
  for (const Algorithm* algorithm : algorithms_of(Collective::alltoall)) {
    try {
      record(3, [&](Channel& channel) {
        run(*algorithm, channel, Block{nullptr, 7, DType::int32});
      });
      FAIL() << algorithm->full_name << " accepted 7 elements among 3 ranks";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("7 elements among 3 ranks"));
    }
  }
}

}  // namespace
}  // namespace tutti
