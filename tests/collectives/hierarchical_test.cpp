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

Tuning levels(Collective collective, int group, std::string_view inner, std::string_view outer) {
  return {.group = group,
          .inner = &find_algorithm(inner_collective(collective), inner),
          .outer = &find_algorithm(collective, outer)};
}

// Seconds, with overheads too, steps and bytes. The replay adds up what the closed form multiplies:
// the tolerance is that of the rounding of at most a few hundred additions.
void expect_closed_forms(const Algorithm& algorithm, const Problem& problem) {
  const CostModel model{5e-6, 8e-11, 3e-10};
  const Plan plan = plan_to_prove(algorithm, {problem});
  const std::vector<double> ends = replay(plan, model);
  const double found = *std::max_element(ends.begin(), ends.end());
  const double expected = algorithm.seconds(problem, model);
  const bool is_exact = algorithm.form(problem) == Form::exact;
  EXPECT_LE(found, expected * (1 + 1e-12));
  EXPECT_GE(found, is_exact ? expected * (1 - 1e-12) : 0);
  const CostModel busy{5e-6, 8e-11, 3e-10, 1e-6, 7e-7};
  const std::vector<double> busy_ends = replay(plan, busy);
  EXPECT_LE(*std::max_element(busy_ends.begin(), busy_ends.end()),
            predicted_seconds(algorithm, problem, busy) * (1 + 1e-12));
  const int steps = algorithm.steps(problem);
  EXPECT_LE(depth(plan), steps);
  EXPECT_GE(depth(plan), is_exact ? steps : 0);
  const std::vector<PlanVolume> moved = volumes(plan);
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const std::size_t sent = moved[static_cast<std::size_t>(rank)].bytes_sent;
    EXPECT_LE(sent, algorithm.bytes_sent(problem, rank)) << "rank " << rank;
    EXPECT_GE(sent, is_exact ? algorithm.bytes_sent(problem, rank) : 0) << "rank " << rank;
  }
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
  const auto crossing = [&](Collective collective, std::string_view inner, std::string_view outer) {
    const Problem problem{32, 64, 4, 0, levels(collective, 8, inner, outer)};
    return bytes_between_groups(
        plan_to_prove(find_algorithm(collective, "hierarchical"), {problem}), 8);
  };
  for (const char* inner : {"ring", "direct", "recursive_halving", "pat"}) {
    for (const char* outer : {"ring", "rabenseifner", "direct"}) {
      EXPECT_THAT(crossing(Collective::allreduce, inner, outer), testing::Each(2 * 3 * 8))
          << inner << " x " << outer;
    }
  }
  for (const char* outer : {"ring", "bruck", "recursive_doubling", "pat", "neighbor_exchange"}) {
    EXPECT_THAT(crossing(Collective::allgather, "ring", outer), testing::Each(3 * 8)) << outer;
  }
  for (const char* outer : {"ring", "recursive_halving", "pat", "pairwise"}) {
    EXPECT_THAT(crossing(Collective::reduce_scatter, "direct", outer), testing::Each(3 * 8))
        << outer;
  }
}

TEST(Hierarchical, TheWayBackMirrorsTheWayThere) {
  const Algorithm& allreduce = find_algorithm(Collective::allreduce, "hierarchical");
  const auto steps = [&](std::string_view inner) {
    return allreduce.steps({32, 64, 4, 0, levels(Collective::allreduce, 8, inner, "direct")});
  };
  EXPECT_EQ(steps("ring"), 7 + 2 + 7);
  EXPECT_EQ(steps("pairwise"), 7 + 2 + 7);
  EXPECT_EQ(steps("direct"), 1 + 2 + 1);
  EXPECT_EQ(steps("recursive_halving"), 3 + 2 + 3);
  EXPECT_EQ(steps("pat"), 3 + 2 + 3);
  EXPECT_EQ(steps("hierarchical"), 7 + 2 + 7);
}

TEST(Hierarchical, TheLevelsAreRingsOrBinomialTreesUnlessNamed) {
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.has_levels()) continue;
    const char* name = algorithm.collective == Collective::broadcast ? "binomial" : "ring";
    const Problem open{12, 60, 4, 5, {.group = 4}};
    const Problem named{12, 60, 4, 5, levels(algorithm.collective, 4, name, name)};
    EXPECT_EQ(to_text(plan_to_prove(algorithm, {open})), to_text(plan_to_prove(algorithm, {named})))
        << algorithm.full_name;
  }
}

// The proofs of the same plans are part of the sweep.
TEST(Hierarchical, AnyInnerWithAnyOuterKeepsItsClosedForms) {
  std::size_t found = 0;
  for (const Algorithm& algorithm : catalogue()) {
    for (const int ranks : {2, 4, 6, 8, 9, 10, 12, 14, 15, 16, 24, 36, 64}) {
      for (const Tuning& tuning : level_tunings(algorithm, ranks)) {
        for (const std::size_t count : {static_cast<std::size_t>(2 * ranks), std::size_t{37}}) {
          const ProofCase one{{ranks, count, 4,
                               algorithm.collective == Collective::broadcast ? ranks / 2 : 0,
                               tuning}};
          SCOPED_TRACE(fmt::format("{}: {}", algorithm.full_name, one.describe()));
          expect_closed_forms(algorithm, one.problem);
          if (HasFailure()) return;
          ++found;
        }
      }
    }
  }
  EXPECT_GT(found, 10'000U);
}

TEST(Hierarchical, KeepsItsPromiseAndItsClosedFormForEveryGroup) {
  for (const Algorithm* algorithm : grouped_algorithms()) {
    for (int ranks = 1; ranks <= 24; ++ranks) {
      for (int group = 1; group <= ranks; ++group) {
        const Problem problem{ranks, 37, 4, ranks / 2, {.group = group}};
        if (!algorithm->supports(problem)) continue;
        SCOPED_TRACE(
            fmt::format("{}: groups of {} of {} ranks", algorithm->full_name, group, ranks));
        EXPECT_NO_THROW(prove(*algorithm, {problem}));
        expect_closed_forms(*algorithm, problem);
      }
    }
  }
}

TEST(Hierarchical, AGroupThatDoesNotDivideTheRanksIsRefusedBeforeAnyDataMoves) {
  EXPECT_EQ(grouped_algorithms().size(), 5U);
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

TEST(Hierarchical, ALevelThatTheRanksCannotRunIsRefusedBeforeAnyDataMoves) {
  const Algorithm& allgather = find_algorithm(Collective::allgather, "hierarchical");
  const auto supports = [&](int group, std::string_view inner, std::string_view outer) {
    return allgather.supports({12, 12, 4, 0, levels(Collective::allgather, group, inner, outer)});
  };
  EXPECT_TRUE(supports(4, "neighbor_exchange", "ring"));
  EXPECT_FALSE(supports(3, "neighbor_exchange", "ring"));
  EXPECT_TRUE(supports(3, "ring", "neighbor_exchange"));
  EXPECT_FALSE(supports(4, "ring", "neighbor_exchange"));
  const Tuning odd = levels(Collective::allgather, 3, "neighbor_exchange", "ring");
  EXPECT_THROW(plan_to_prove(allgather, {{12, 12, 4, 0, odd}}), Error);
  // An algorithm of another collective.
  const Tuning foreign = {.outer = &find_algorithm(Collective::allreduce, "ring")};
  EXPECT_FALSE(allgather.supports({12, 12, 4, 0, foreign}));
}

}  // namespace
}  // namespace tutti
