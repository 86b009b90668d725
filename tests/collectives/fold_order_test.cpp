// The order in which algorithms fold is part of their contract: it decides the bits.
#include <gmock/gmock.h>

#include "collectives/local.hpp"
#include "collectives/recursive.hpp"
#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

std::vector<std::string> folds_of(Collective collective, std::string_view name,
                                  const Problem& problem) {
  std::vector<std::string> texts;
  for (const FoldTree& fold : fold_trees(find_algorithm(collective, name), {problem})) {
    texts.push_back(fold.text);
  }
  return texts;
}

TEST(FoldOrder, DirectAlgorithmsFoldInTheOrderOfTheRanksLikeTheNaiveOne) {
  EXPECT_THAT(folds_of(Collective::allreduce, "direct", {4, 8, 4, 0, {}}),
              ElementsAre("(3 + (2 + (0 + 1)))"));
  EXPECT_EQ(folds_of(Collective::allreduce, "direct", {7, 20, 4, 0, {}}),
            folds_of(Collective::allreduce, "naive", {7, 20, 4, 0, {}}));
}

TEST(FoldOrder, TheSegmentedRingFoldsLikeTheRing) {
  for (const int segments : {1, 2, 3, 8}) {
    EXPECT_EQ(folds_of(Collective::allreduce, "ring_segmented", {5, 31, 4, 0, {segments}}),
              folds_of(Collective::allreduce, "ring", {5, 31, 4, 0, {}}));
  }
}

TEST(FoldOrder, AnExchangeFoldsEachGroupInTheOrderOfItsNumbersOnEveryRank) {
  EXPECT_THAT(folds_of(Collective::allreduce, "recursive_multiplying", {6, 5, 4, 0, {0, 3}}),
              ElementsAre("((2 + (0 + 1)) + (5 + (3 + 4)))"));
  EXPECT_EQ(folds_of(Collective::allreduce, "recursive_multiplying", {13, 5, 4, 0, {0, 2}}),
            folds_of(Collective::allreduce, "recursive_doubling", {13, 5, 4, 0, {}}));
}

TEST(FoldOrder, RadicesMultiplyToMoreThanHalfOfTheRanks) {
  EXPECT_THAT(exchange_radices(1, 4), ElementsAre());
  EXPECT_THAT(exchange_radices(3, 4), ElementsAre(3));
  EXPECT_THAT(exchange_radices(15, 4), ElementsAre(4, 3));
  EXPECT_THAT(exchange_radices(64, 0), ElementsAre(4, 4, 4));
  EXPECT_THAT(exchange_radices(100, 2), ElementsAre(2, 2, 2, 2, 2, 2));
}

TEST(FoldOrder, ExchangesKeepTheirPromiseForEveryRadix) {
  const Algorithm& multiplying = find_algorithm(Collective::allreduce, "recursive_multiplying");
  for (int ranks = 1; ranks <= 33; ++ranks) {
    for (int radix = 2; radix <= 9; ++radix) {
      EXPECT_NO_THROW(prove(multiplying, {{ranks, 3, 4, 0, {.radix = radix}}}))
          << ranks << " ranks, radix " << radix;
    }
  }
}

TEST(FoldOrder, LocalFoldsCombineInOrderWhereverTheOwnContributionStands) {
  for (int index = 0; index < 4; ++index) {
    PlanWorld world(1);
    float values[] = {1e8F, 1, -1e8F, 1}, others[3];
    float own = values[index];
    for (int i = 0, next = 0; i < 4; ++i) {
      if (i != index) others[next++] = values[i];
    }
    world.run([&](Rank& rank) {
      const Block block{reinterpret_cast<std::byte*>(&own), 1, DType::float32};
      const Block rest{reinterpret_cast<std::byte*>(others), 3, DType::float32};
      fold_in_order(rank.channel(), block, index, Parts(rest, 3), std::vector<Request>(3), Op::sum);
    });
    EXPECT_EQ(own, ((values[0] + values[1]) + values[2]) + values[3]) << index;
  }
}

}  // namespace
}  // namespace tutti
