#include "collectives/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/plan_check.hpp"

namespace tutti {
namespace {

using PlaceOf = TreePlace (*)(int rank, int size);

// Every rank's parent has it as a child, one level further from the one root, and the height is the
// largest depth.
void expect_tree(int size, PlaceOf place_of) {
  SCOPED_TRACE(size);
  int roots = 0, children = 0, deepest = 0;
  for (int rank = 0; rank < size; ++rank) {
    const TreePlace place = place_of(rank, size);
    deepest = std::max(deepest, place.depth);
    children += static_cast<int>(place.children.size());
    EXPECT_LE(place.children.size(), 2U);
    for (const int child : place.children) {
      EXPECT_EQ(place_of(child, size).parent, rank);
      EXPECT_EQ(place_of(child, size).depth, place.depth + 1);
    }
    if (place.parent < 0) ++roots;
    EXPECT_EQ(place.parent < 0, place.depth == 0) << rank;
  }
  EXPECT_EQ(roots, 1);
  EXPECT_EQ(children, size - 1);
  EXPECT_EQ(place_of(0, size).height, deepest);
}

TEST(Pipeline, ItsTreesSpanAllRanks) {
  for (int size = 1; size <= 130; ++size) {
    expect_tree(size, [](int r, int n) { return chain_place(r, n, n / 3); });
    expect_tree(size, [](int r, int n) { return binary_place(r, n, n / 2); });
    expect_tree(size, [](int r, int n) { return double_tree_place(r, n, 0); });
    expect_tree(size, [](int r, int n) { return double_tree_place(r, n, 1); });
  }
}

TEST(DoubleTree, EveryRankHasAtMostTwoChildrenAndIsAnInnerNodeOfOneTreeOnly) {
  for (int size = 1; size <= 130; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      const std::size_t first = double_tree_place(rank, size, 0).children.size();
      const std::size_t second = double_tree_place(rank, size, 1).children.size();
      EXPECT_LE(first + second, 2U) << rank << " of " << size;
      const bool is_exception = rank == 0 && size % 2 == 1;
      EXPECT_TRUE(first == 0 || second == 0 || is_exception) << rank << " of " << size;
    }
  }
}

// The illustration in NCCL's src/graph/trees.cc.
TEST(DoubleTree, TheFirstTreeOf14RanksIsNccls) {
  const std::vector<int> parents = {-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
  for (int rank = 0; rank < 14; ++rank) {
    EXPECT_EQ(double_tree_place(rank, 14, 0).parent, parents[static_cast<std::size_t>(rank)]);
    const int mirrored = parents[static_cast<std::size_t>(13 - rank)];
    EXPECT_EQ(double_tree_place(rank, 14, 1).parent, mirrored < 0 ? -1 : 13 - mirrored);
  }
}

Plan plan_of(const Algorithm& algorithm, const Problem& problem) {
  return record(problem.ranks, [&](Channel& channel) {
    const Parts data({nullptr, problem.count, DType::float32}, problem.ranks);
    algorithm.execute(channel, {data, data, Op::sum, problem.root, problem.tuning});
  });
}

// The replay adds up what the closed form multiplies.
constexpr double rounding = 1e-12;

void expect_closed_form(const Algorithm& algorithm, const Problem& problem) {
  SCOPED_TRACE(fmt::format("{}: {} ranks, count {}, {} segments, radix {}", algorithm.full_name,
                           problem.ranks, problem.count, problem.tuning.segments,
                           problem.tuning.radix));
  const CostModel model{5e-6, 8e-11, 3e-10};
  const Plan plan = plan_of(algorithm, problem);
  const std::vector<double> ends = replay(plan, model);
  const double seconds = *std::max_element(ends.begin(), ends.end());
  const double expected = algorithm.seconds(problem, model);
  EXPECT_LE(seconds, expected * (1 + rounding));
  EXPECT_LE(depth(plan), algorithm.steps(problem));
  if (algorithm.form(problem) == Form::bound) return;
  EXPECT_GE(seconds, expected * (1 - rounding));
  EXPECT_EQ(depth(plan), algorithm.steps(problem));
}

class AnyTuning : public testing::TestWithParam<const Algorithm*> {};

TEST_P(AnyTuning, KeepsTheClosedForm) {
  for (int ranks = 1; ranks <= 12; ++ranks) {
    for (const std::size_t count : {0, 1, 2, 3, 7, 24, 25, 100}) {
      const int root = is_rooted(GetParam()->collective) ? ranks / 2 : 0;
      for (int value = 1; value <= 9; ++value) {
        expect_closed_form(*GetParam(), {ranks, count, 4, root, {.segments = value}});
        if (value > 1) expect_closed_form(*GetParam(), {ranks, count, 4, root, {.radix = value}});
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, AnyTuning,
                         testing::Values(&find_algorithm(Collective::allreduce, "chain"),
                                         &find_algorithm(Collective::allreduce, "double_tree"),
                                         &find_algorithm(Collective::broadcast, "binary"),
                                         &find_algorithm(Collective::broadcast, "chain"),
                                         &find_algorithm(Collective::broadcast, "knomial"),
                                         &find_algorithm(Collective::broadcast, "split_binary"),
                                         &find_algorithm(Collective::reduce, "chain")),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

// (P-2+m)(a + n/m b) is smallest at m = sqrt((P-2) n b / a) = 4, where it is
// (sqrt((P-2) a) + sqrt(n b))^2 = 18.
TEST(Chain, IsFastestWithTheNumberOfSegmentsOfTheTextbook) {
  const Algorithm& chain = find_algorithm(Collective::broadcast, "chain");
  const CostModel model{1.0, 2.0 / 192, 0.0};
  for (const int segments : {1, 2, 3, 4, 6, 8, 12, 16, 24, 48}) {
    const double seconds = chain.seconds({10, 48, 4, 0, {.segments = segments}}, model);
    if (segments == 4) {
      EXPECT_NEAR(seconds, 18.0, 18.0 * rounding);
    } else {
      EXPECT_GT(seconds, 18.0 * (1 + rounding)) << segments;
    }
  }
}

}  // namespace
}  // namespace tutti
