#include "collectives/hierarchical.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "collectives/plan_check.hpp"
#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<const Algorithm*> grouped_algorithms() {
  std::vector<const Algorithm*> grouped;
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.supports({.ranks = 6, .tuning = {.group = 4}})) grouped.push_back(&algorithm);
  }
  return grouped;
}

// The bytes that each rank sends to ranks of other groups.
std::vector<std::size_t> bytes_between_groups(const Plan& plan, int group) {
  std::vector<std::size_t> bytes(static_cast<std::size_t>(plan.size));
  for (const PlanProgram& program : plan.programs) {
    for (const PlanEvent& event : program.events) {
      if (event.kind != PlanEvent::Kind::send) continue;
      if (event.peer / group == program.rank / group) continue;
      bytes[static_cast<std::size_t>(program.rank)] += event.bytes();
    }
  }
  return bytes;
}

TEST(Hierarchical, TheGroupIsTheLargestDivisorUpToTheSquareRoot) {
  EXPECT_EQ(default_group(1), 1);
  EXPECT_EQ(default_group(12), 3);
  EXPECT_EQ(default_group(13), 1);
  EXPECT_EQ(default_group(16), 4);
  EXPECT_EQ(default_group(512), 16);
}

TEST(Hierarchical, RingsRunAlongTheGroupAndThePrimeFactorsOfTheRest) {
  EXPECT_THAT(ring_dimensions(1, 0), ElementsAre());
  EXPECT_THAT(ring_dimensions(60, 0), ElementsAre(2, 2, 3, 5));
  EXPECT_THAT(ring_dimensions(60, 10), ElementsAre(10, 2, 3));
}

// 4 groups of 8: 2(K-1)/K of the g-th part of allreduce, and half of it for each of its passes.
TEST(Hierarchical, OnlyAGroupsShareCrossesTheSlowLinks) {
  const Problem problem{32, 64, 4, 0, {.group = 8}};
  const auto crossing = [&](Collective collective, std::string_view name) {
    return bytes_between_groups(plan_to_prove(find_algorithm(collective, name), {problem}), 8);
  };
  for (const char* name : {"hierarchical", "hierarchical_direct"}) {
    EXPECT_THAT(crossing(Collective::allreduce, name), testing::Each(2 * 3 * 8)) << name;
  }
  EXPECT_THAT(crossing(Collective::allgather, "hierarchical"), testing::Each(3 * 8));
  EXPECT_THAT(crossing(Collective::reduce_scatter, "hierarchical"), testing::Each(3 * 8));
}

TEST(Hierarchical, KeepsItsPromiseAndItsClosedFormForEveryGroup) {
  const CostModel model{5e-6, 8e-11, 3e-10};
  for (const Algorithm* algorithm : grouped_algorithms()) {
    for (int ranks = 1; ranks <= 24; ++ranks) {
      for (int group = 1; group <= ranks; ++group) {
        const Problem problem{ranks, 37, 4, ranks / 2, {.group = group}};
        if (!algorithm->supports(problem)) continue;
        SCOPED_TRACE(
            fmt::format("{}: groups of {} of {} ranks", algorithm->full_name, group, ranks));
        EXPECT_NO_THROW(prove(*algorithm, {problem}));
        const std::vector<double> ends = replay(plan_to_prove(*algorithm, {problem}), model);
        const double found = *std::max_element(ends.begin(), ends.end());
        const double expected = algorithm->seconds(problem, model);
        const bool is_exact = algorithm->form(problem) == Form::exact;
        EXPECT_LE(found, expected * (1 + 1e-12));
        EXPECT_GE(found, is_exact ? expected * (1 - 1e-12) : 0);
      }
    }
  }
}

TEST(Hierarchical, AGroupThatDoesNotDivideTheRanksIsRefusedBeforeAnyDataMoves) {
  EXPECT_EQ(grouped_algorithms().size(), 7U);
  for (const Algorithm* algorithm : grouped_algorithms()) {
    try {
      plan_to_prove(*algorithm, {{6, 12, 4, 0, {.group = 4}}});
      ADD_FAILURE() << algorithm->full_name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("6 ranks are not supported"));
    }
  }
}

}  // namespace
}  // namespace tutti
