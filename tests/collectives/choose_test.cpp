#include "collectives/choose.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace tutti {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr CostModel fast_ethernet = {5e-6, 8e-11, 1e-10};

Problem problem_of(int ranks, std::size_t bytes) {
  return {.ranks = ranks, .count = bytes / 4};
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

const Candidate& candidate(const Choice& choice, std::string_view name) {
  return *std::find_if(choice.candidates.begin(), choice.candidates.end(),
                       [&](const Candidate& c) { return c.algorithm->name == name; });
}

TEST(Tuning, MattersToAnAlgorithmExactlyWhereItsEntrySaysSo) {
  for (const Algorithm& algorithm : catalogue()) {
    SCOPED_TRACE(algorithm.full_name);
    const auto matters = [&](const Tuning& a, const Tuning& b) {
      Problem problem{.ranks = 16, .count = 1600, .tuning = a};
      const double one = algorithm.seconds(problem, fast_ethernet);
      const int steps = algorithm.steps(problem);
      problem.tuning = b;
      return one != algorithm.seconds(problem, fast_ethernet) || steps != algorithm.steps(problem);
    };
    EXPECT_EQ(matters({.segments = 2}, {.segments = 5}), algorithm.uses_segments);
    EXPECT_EQ(matters({.radix = 2}, {.radix = 5}), algorithm.uses_radix);
    // The scattered hierarchies take as long with any group, on links of one class.
    const double one_class =
        predicted_seconds(algorithm, {.ranks = 16, .count = 1600, .tuning = {.group = 2}},
                          {.outer = fast_ethernet, .inner = {1e-6, 1e-11, 1e-10}, .group = 4});
    const double other =
        predicted_seconds(algorithm, {.ranks = 16, .count = 1600, .tuning = {.group = 4}},
                          {.outer = fast_ethernet, .inner = {1e-6, 1e-11, 1e-10}, .group = 4});
    EXPECT_EQ(one_class != other, algorithm.uses_group);
    if (!algorithm.has_levels()) continue;
    const Levels levels = levels_of(algorithm, {});
    EXPECT_TRUE(matters({.inner = levels.inner},
                        {.inner = algorithms_of(levels.inner->collective).back()}));
    EXPECT_TRUE(
        matters({.outer = levels.outer}, {.outer = algorithms_of(algorithm.collective).back()}));
  }
}

TEST(Choose, TheChosenAlgorithmHasTheSmallestPredictedTime) {
  for (const Collective collective : all_collectives()) {
    for (const int ranks : {1, 2, 3, 8, 12, 13}) {
      for (const std::size_t parts : {0UL, 1UL, 100UL, 1'000'000UL}) {
        const Problem problem{.ranks = ranks, .count = parts * static_cast<std::size_t>(ranks)};
        const Choice choice = choose(collective, problem, {.outer = fast_ethernet});
        for (const Algorithm* algorithm : algorithms_of(collective)) {
          if (!algorithm->supports(problem)) continue;
          EXPECT_LE(choice.chosen.seconds, algorithm->seconds(problem, fast_ethernet) * (1 + 1e-9))
              << algorithm->full_name << " on " << ranks << " ranks of " << parts;
        }
        EXPECT_TRUE(std::is_sorted(choice.candidates.begin(), choice.candidates.end(),
                                   [](const Candidate& a, const Candidate& b) {
                                     return a.seconds < b.seconds * (1 - 2e-9);
                                   }));
      }
    }
  }
}

TEST(Choose, SegmentsAreTheBestOfAllThatAreAllowed) {
  for (const char* name : {"chain", "ring_segmented", "double_tree"}) {
    for (const std::size_t bytes : {4096UL, 1UL << 20, 64UL << 20}) {
      SCOPED_TRACE(fmt::format("{}, {} bytes", name, bytes));
      Problem problem = problem_of(8, bytes);
      const Candidate found =
          candidate(choose(Collective::allreduce, problem, {.outer = fast_ethernet}), name);
      double best = found.seconds;
      for (int segments = 1; segments <= most_segments; ++segments) {
        problem.tuning.segments = segments;
        best = std::min(best, found.algorithm->seconds(problem, fast_ethernet));
      }
      // The search may stop beside the best, because segments are whole elements.
      EXPECT_LE(found.seconds, best * 1.01);
    }
  }
}

TEST(Choose, TuningThatTheProblemStatesIsKept) {
  Problem problem = problem_of(8, 1 << 20);
  problem.tuning = {.segments = 7,
                    .radix = 3,
                    .group = 4,
                    .inner = &find_algorithm(Collective::reduce_scatter, "direct"),
                    .outer = &find_algorithm(Collective::allreduce, "tree")};
  const Choice choice = choose(Collective::allreduce, problem, {.outer = fast_ethernet});
  for (const Candidate& each : choice.candidates) EXPECT_EQ(each.tuning, problem.tuning);
}

TEST(Choose, TheSizeAtWhichABroadcastChangesMovesWithAlpha) {
  const auto change_bytes = [](double alpha_seconds) {
    for (std::size_t bytes = 64; bytes < 1UL << 30; bytes += bytes / 8) {
      Problem problem = problem_of(8, bytes);
      const Choice choice =
          choose(Collective::broadcast, problem, {.outer = {alpha_seconds, 8e-11, 0.0}});
      problem.tuning = choice.chosen.tuning;
      if (choice.chosen.algorithm->steps(problem) > 1) return static_cast<double>(bytes);
    }
    return 0.0;
  };
  const double one = change_bytes(1e-6), ten = change_bytes(1e-5);
  // Everything scales with alpha / beta; the sizes tried are an eighth apart.
  EXPECT_NEAR(ten / one, 10.0, 10.0 / 8 + 0.5);
}

TEST(Choose, SlowLinksBetweenGroupsMakeAHierarchyTheBest) {
  const CostProfile profile{.outer = {5e-6, 1e-9, 0.0}, .inner = {5e-6, 1e-11, 0.0}, .group = 8};
  const Choice choice = choose(Collective::allreduce, problem_of(64, 64 << 20), profile);
  EXPECT_TRUE(choice.chosen.algorithm->uses_group) << choice.describe();
  EXPECT_EQ(candidate(choice, "hierarchical").tuning.group, 8);
}

TEST(Choose, AHierarchyOfRingsMovesOneOverTheGroupOnTheSlowLinks) {
  const CostProfile profile{.outer = {5e-6, 1e-9, 0.0}, .inner = {5e-6, 1e-11, 0.0}, .group = 8};
  Problem problem = problem_of(64, 64 << 20);
  problem.tuning.inner = &find_algorithm(Collective::reduce_scatter, "ring");
  problem.tuning.outer = &find_algorithm(Collective::allreduce, "ring");
  const Choice choice = choose(Collective::allreduce, problem, profile);
  EXPECT_EQ(candidate(choice, "hierarchical").tuning.group, 8);
  // 2(7/8) n on the fast links, 2(7/8) n/8 on the slow ones.
  const double n = 64 << 20, share = 2 * 7.0 / 8;
  EXPECT_NEAR(candidate(choice, "hierarchical").seconds,
              28 * 5e-6 + share * n * 1e-11 + share * n / 8 * 1e-9, 1e-9);
}

TEST(Choose, TheLevelsOfAHierarchyAreTheBestOfAllPairsInAllGroups) {
  const CostProfile profile{
      .outer = {5e-6, 1e-9, 1e-10}, .inner = {1e-6, 1e-11, 1e-10}, .group = 4};
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.has_levels()) continue;
    for (const std::size_t bytes :
         {std::size_t{64}, std::size_t{64} << 10, std::size_t{64} << 20}) {
      Problem problem = problem_of(24, bytes);
      const Choice choice = choose(algorithm.collective, problem, profile);
      const Candidate found = candidate(choice, "hierarchical");
      double best = 1.0;
      for (const int group : {2, 3, 4, 6, 8, 12}) {
        for (const Algorithm* inner : algorithms_of(inner_collective(algorithm.collective))) {
          for (const Algorithm* outer : algorithms_of(algorithm.collective)) {
            problem.tuning = {.group = group, .inner = inner, .outer = outer};
            if (!algorithm.supports(problem)) continue;
            best = std::min(best, predicted_seconds(algorithm, problem, profile));
          }
        }
      }
      EXPECT_NEAR(found.seconds, best, best * 1e-8)
          << describe(algorithm, found.tuning) << ", " << bytes << " bytes";
    }
  }
}

TEST(Choose, ALevelThatTheProblemStatesIsKeptAndTheOtherChosen) {
  Problem problem = problem_of(12, 1 << 20);
  problem.tuning.outer = &find_algorithm(Collective::allgather, "neighbor_exchange");
  const Choice choice = choose(Collective::allgather, problem, {.outer = fast_ethernet});
  const Candidate& found = candidate(choice, "hierarchical");
  EXPECT_EQ(found.tuning.outer, problem.tuning.outer);
  EXPECT_EQ(12 / found.tuning.group % 2, 0);
}

TEST(Choose, ARingLeavesAGroupOnceAndSoPaysForALoneMessage) {
  const CostProfile profile{.outer = {5e-6, 1.6e-8, 0.0},
                            .inner = {5e-6, 1e-10, 0.0},
                            .group = 8,
                            .lone_beta_seconds_per_byte = 1e-9};
  const Choice choice = choose(Collective::allgather, problem_of(64, 64 << 20), profile);
  EXPECT_EQ(choice.chosen.algorithm->name, "ring");
  EXPECT_DOUBLE_EQ(choice.chosen.seconds, 63 * (5e-6 + (1 << 20) * 1e-9));
}

TEST(Choose, WithinOneGroupOnlyItsLinksCount) {
  const CostProfile profile{.outer = {5e-3, 1e-6, 0.0}, .inner = {5e-6, 1e-11, 0.0}, .group = 8};
  const Problem problem = problem_of(8, 1 << 20);
  EXPECT_DOUBLE_EQ(choose(Collective::allreduce, problem, profile).chosen.seconds,
                   choose(Collective::allreduce, problem, {.outer = profile.inner}).chosen.seconds);
}

TEST(Choose, SaysWhatItChoseAndWhatItPredicts) {
  const CostProfile profile{.outer = {5e-6, 8e-11, 0.0}};
  EXPECT_EQ(choose(Collective::barrier, {.ranks = 8}, profile).describe(),
            "dissemination, predicted 15.0 us");
  const Rules rules = parse_forced("allreduce:ring", "TUTTI_ALGO");
  EXPECT_EQ(choose(Collective::allreduce, problem_of(4, 1 << 20), profile, rules).describe(),
            "ring, by TUTTI_ALGO, predicted 155.8 us");
}

TEST(Choose, ARuleThatIsNotSupportedIsRefusedWithItsPlace) {
  const Rules rules = parse_rules("collective,algorithm\nallgather,neighbor_exchange\n", "a.csv");
  EXPECT_THAT(error_of([&] { choose(Collective::allgather, problem_of(5, 40), {}, rules); }),
              AllOf(HasSubstr("a.csv line 2: neighbor_exchange"), HasSubstr("expected even N")));
}

TEST(Rules, TheFirstThatMatchesWins) {
  const Rules rules = parse_rules(R"(# My cluster.
collective,min_bytes,max_bytes,min_ranks,max_ranks,algorithm,segments,radix,group,inner,outer

allreduce,,1023,,,tree,,,,,    # small
allreduce,1024,,8,,hierarchical,,,4,direct,rabenseifner
allreduce,1024,,,,ring_segmented,16,,,,
)",
                                  "rules.csv");
  ASSERT_EQ(rules.size(), 3U);
  const auto chosen = [&](int ranks, std::size_t bytes) {
    const Choice choice =
        choose(Collective::allreduce, problem_of(ranks, bytes), {.outer = fast_ethernet}, rules);
    return choice.origin + ": " + describe(*choice.chosen.algorithm, choice.chosen.tuning);
  };
  EXPECT_EQ(chosen(8, 1020), "rules.csv line 4: tree");
  EXPECT_EQ(chosen(8, 1024), "rules.csv line 5: hierarchical, direct x rabenseifner, groups of 4");
  EXPECT_EQ(chosen(7, 1024), "rules.csv line 6: ring_segmented, 16 segments");
  EXPECT_THAT(choose(Collective::broadcast, problem_of(8, 64), {}, rules).origin, IsEmpty());
}

TEST(Rules, ColumnsMayBeLeftOutAndInAnyOrder) {
  const Rules rules = parse_rules("algorithm,collective\r\nring,allreduce\r\n", "r");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0].algorithm->full_name, "allreduce_ring");
}

TEST(Rules, WhatIsWrongIsSaidWithItsLine) {
  const auto error = [](const std::string& text) {
    return error_of([&] { parse_rules(text, "r.csv"); });
  };
  EXPECT_THAT(error(""), HasSubstr("r.csv: there is no header"));
  EXPECT_THAT(error("collective,size,algorithm"), HasSubstr("line 1: unknown column 'size'"));
  EXPECT_THAT(error("collective,collective,algorithm"), HasSubstr("column collective is there"));
  EXPECT_THAT(error("collective"), HasSubstr("line 1: there is no column algorithm"));
  const std::string header = "collective,min_bytes,max_bytes,algorithm,segments\n";
  EXPECT_THAT(error(header + "allreduce,,,ring"), HasSubstr("line 2: 4 fields, expected 5"));
  EXPECT_THAT(error(header + "\nallreduce,,,rung,"),
              AllOf(HasSubstr("line 3: unknown algorithm 'rung'"), HasSubstr("ring_segmented")));
  EXPECT_THAT(error(header + "reduceall,,,ring,"),
              AllOf(HasSubstr("unknown collective"), HasSubstr("allreduce")));
  EXPECT_THAT(error(header + "allreduce,1K,,ring,"), HasSubstr("min_bytes is '1K'"));
  EXPECT_THAT(error(header + "allreduce,-1,,ring,"), HasSubstr("min_bytes is '-1'"));
  EXPECT_THAT(error(header + "allreduce,9,8,ring,"), HasSubstr("never matches"));
  EXPECT_THAT(error(header + "allreduce,,,ring,2"), HasSubstr("allreduce ring has no segments"));
  EXPECT_THAT(error(header + "allreduce,,,chain,0"), HasSubstr("segments is '0'"));
  const std::string levels = "collective,algorithm,inner,outer\n";
  EXPECT_THAT(error(levels + "allreduce,hierarchical,rabenseifner,"),
              AllOf(HasSubstr("line 2: unknown algorithm 'rabenseifner' for reduce_scatter"),
                    HasSubstr("recursive_halving")));
  EXPECT_THAT(error(levels + "allreduce,ring,,direct"), HasSubstr("allreduce ring has no outer"));
}

TEST(Forced, NamesAreReadAndUnknownOnesListTheValidOnes) {
  const Rules rules = parse_forced(" allreduce:ring; broadcast : binomial;", "TUTTI_ALGO");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[1].algorithm->full_name, "broadcast_binomial");
  EXPECT_THAT(parse_forced("", "TUTTI_ALGO"), IsEmpty());
  const Rules levels =
      parse_forced("allreduce: hierarchical( direct , rabenseifner )", "TUTTI_ALGO");
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(describe(*levels[0].algorithm, levels[0].tuning),
            "hierarchical, direct x rabenseifner");
  const auto error = [](const char* text) {
    return error_of([&] { parse_forced(text, "TUTTI_ALGO"); });
  };
  EXPECT_THAT(error("allreduce:rings"),
              AllOf(HasSubstr("TUTTI_ALGO: unknown algorithm 'rings'"), HasSubstr("ring_gloo")));
  EXPECT_THAT(error("all:ring"), AllOf(HasSubstr("unknown collective"), HasSubstr("alltoall")));
  EXPECT_THAT(error("ring"), HasSubstr("expected COLLECTIVE:ALGORITHM"));
  EXPECT_THAT(error("allreduce:ring;broadcast:linear;allreduce:ring"),
              HasSubstr("TUTTI_ALGO: allreduce is forced twice, to ring and to ring"));
  for (const char* text : {"allreduce:ring(ring,ring)", "allreduce:hierarchical(ring)",
                           "allreduce:hierarchical(ring,ring"}) {
    EXPECT_THAT(error(text), HasSubstr("NAME(INNER,OUTER)")) << text;
  }
  EXPECT_THAT(error("allreduce:hierarchical(ring,rung)"), HasSubstr("unknown algorithm 'rung'"));
}

}  // namespace
}  // namespace tutti
