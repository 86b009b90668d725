#include "collectives/run.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/plan_check.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

using testing::Each;
using testing::HasSubstr;

// The results of an allreduce in place of one value a rank, by rank.
std::vector<double> allreduce_values(const std::string& name, DType dtype,
                                     const std::vector<double>& values, Op op,
                                     Accumulate accumulate = Accumulate::native) {
  LoopbackWorld world(static_cast<int>(values.size()));
  std::vector<Block> blocks;
  for (const double value : values) {
    blocks.push_back(world.allocate_block(1, dtype));
    set_element(blocks.back(), 0, value);
  }
  const Algorithm& algorithm = find_algorithm(Collective::allreduce, name);
  world.run([&](Rank& rank) {
    const Block data = blocks[static_cast<std::size_t>(rank.index())];
    run(algorithm, rank.channel(), Arguments{.output = data, .op = op, .accumulate = accumulate});
  });
  std::vector<double> results;
  for (const Block block : blocks) results.push_back(element(block, 0));
  return results;
}

std::string usage_error(const Algorithm& algorithm, const Arguments& arguments, int size = 4) {
  try {
    record(size, [&](Channel& channel) { run(algorithm, channel, arguments); });
  } catch (const Error& error) {
    return error.kind() == ErrorKind::usage ? error.what() : "not a usage error";
  }
  return "";
}

TEST(Run, AverageIsTheSumDividedByTheNumberOfRanks) {
  for (const Algorithm* algorithm : algorithms_of(Collective::allreduce)) {
    EXPECT_THAT(allreduce_values(std::string(algorithm->name), DType::float32, {1, 2, 3, 8, 3},
                                 Op::average),
                Each(3.4F))
        << algorithm->full_name;
  }
}

// The order of the fold decides between 256, 258 and 260; each algorithm documents its own.
TEST(Run, Bfloat16SumsFollowTheOrderOfTheAlgorithm) {
  const std::vector<double> values = {256, 1, 1, 1};
  EXPECT_THAT(allreduce_values("naive", DType::bfloat16, values, Op::sum), Each(256));
  EXPECT_THAT(allreduce_values("recursive_doubling", DType::bfloat16, values, Op::sum), Each(258));
}

TEST(Run, Float32AccumulationRoundsBfloat16SumsOnce) {
  for (const Algorithm* algorithm : algorithms_of(Collective::allreduce)) {
    EXPECT_THAT(allreduce_values(std::string(algorithm->name), DType::bfloat16, {256, 1, 1, 1},
                                 Op::sum, Accumulate::float32),
                Each(260))
        << algorithm->full_name;
  }
}

TEST(Run, AllRanksHoldTheSameSumEvenWhereItsOrderMatters) {
  for (const Algorithm* algorithm : algorithms_of(Collective::allreduce)) {
    const std::vector<double> sums =
        allreduce_values(std::string(algorithm->name), DType::float32, {1e8, 1, -1e8, 1}, Op::sum);
    EXPECT_THAT(sums, Each(sums.front())) << algorithm->full_name;
    EXPECT_THAT(sums.front(), testing::AnyOf(0, 1, 2)) << algorithm->full_name;
  }
}

TEST(Run, AveragesOfIntegersAreRefusedBeforeAnyDataMoves) {
  EXPECT_THAT(usage_error(find_algorithm(Collective::allreduce, "ring"),
                          {std::nullopt, {nullptr, 4, DType::int32}, Op::average}),
              HasSubstr("average of int32"));
}

TEST(Run, ReplaceIsNoReduction) {
  EXPECT_THAT(usage_error(find_algorithm(Collective::reduce_scatter, "ring"),
                          {std::nullopt, {nullptr, 4, DType::int32}, Op::replace}),
              HasSubstr("replace does not reduce"));
}

TEST(Run, ARootOutsideTheWorldIsRefused) {
  for (const int root : {-1, 4}) {
    EXPECT_THAT(usage_error(find_algorithm(Collective::broadcast, "linear"),
                            {std::nullopt, {nullptr, 4, DType::int32}, Op::sum, root}),
                HasSubstr("expected 0 to 3"));
  }
}

TEST(Run, CountsThatDoNotFitAreRefusedWithTheExpectedOne) {
  const Block whole{nullptr, 10, DType::float32}, other{nullptr, 9, DType::float32};
  EXPECT_THAT(usage_error(find_algorithm(Collective::allreduce, "ring"), {other, whole}),
              HasSubstr("passes 9 elements as input, expected 10"));
  EXPECT_THAT(usage_error(find_algorithm(Collective::allgather, "ring"), {whole, whole}),
              HasSubstr("passes 10 elements as input, expected 3"));
  EXPECT_THAT(usage_error(find_algorithm(Collective::reduce_scatter, "ring"), {whole, other}),
              HasSubstr("passes 9 elements as output, expected 3"));
  EXPECT_THAT(usage_error(find_algorithm(Collective::allreduce, "ring"),
                          {Block{nullptr, 10, DType::int32}, whole}),
              HasSubstr("int32 as input and float32 as output"));
}

TEST(Run, ATuningThatMakesNoSenseIsRefused) {
  const Block data{nullptr, 10, DType::float32};
  const auto error_with = [&](Tuning tuning) {
    return usage_error(find_algorithm(Collective::broadcast, "knomial"),
                       {.output = data, .tuning = tuning});
  };
  EXPECT_THAT(error_with({.radix = 1}), HasSubstr("expected any N, a radix of 2 or more"));
  EXPECT_THAT(error_with({.segments = -1}), HasSubstr("-1 segments"));
  EXPECT_THAT(error_with({.group = -4}), HasSubstr("a group of -4"));
}

TEST(Run, ErrorsAndTracesNameTheCatalogueEntry) {
  for (const Algorithm& algorithm : catalogue()) {
    const Plan plan = record(4, [&](Channel& channel) {
      run(algorithm, channel, Block{nullptr, 12, DType::float32}, Op::max, 1);
    });
    EXPECT_THAT(std::string(plan.programs[1].calls.front()),
                HasSubstr(std::string(algorithm.full_name)));
  }
}

TEST(Run, OutOfPlaceGhostsAreChargedForTheirCopies) {
  const Block ghost{nullptr, 8, DType::float32};
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  const CostModel model{0, 0, 1};
  const auto longest = [&](const Arguments& arguments) {
    const auto ends =
        replay(record(2, [&](Channel& channel) { run(ring, channel, arguments); }), model);
    return *std::max_element(ends.begin(), ends.end());
  };
  EXPECT_DOUBLE_EQ(longest({std::nullopt, ghost}), 16);
  EXPECT_DOUBLE_EQ(longest({ghost, ghost}), 16 + 32);
}

TEST(Run, DifferentOpsOnDifferentRanksAreAMismatch) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  EXPECT_THROW(check_matching(record(2,
                                     [&](Channel& channel) {
                                       const Op op = channel.rank() == 0 ? Op::sum : Op::average;
                                       run(ring, channel, Block{nullptr, 8, DType::float32}, op);
                                     })),
               Error);
}

}  // namespace
}  // namespace tutti
