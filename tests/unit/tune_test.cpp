#include "experiments/tune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace tutti {
namespace {

Choice predicted() {
  return choose(Collective::allreduce, {.ranks = 8, .count = 1000},
                {.outer = {.alpha_seconds = 1e-6, .beta_seconds_per_byte = 1e-9}});
}

TEST(Tune, WhatIsMeasuredToBeTheFastestIsChosenWhateverWasPredicted) {
  for (const Candidate& winner : predicted().candidates) {
    Choice choice = predicted();
    tune(choice, [&](std::span<const Candidate> candidates) {
      std::vector<double> seconds;
      for (const Candidate& c : candidates)
        seconds.push_back(c.algorithm == winner.algorithm ? 1 : 2);
      return seconds;
    });
    EXPECT_EQ(choice.chosen.algorithm->name, winner.algorithm->name);
    EXPECT_EQ(choice.origin, measured_origin);
  }
}

TEST(Tune, TheCloserToTheFastestTheOftenerTimedAndTheSlowOnesOnce) {
  Choice choice = predicted();
  std::map<std::string_view, int> timed;
  tune(choice, [&](std::span<const Candidate> candidates) {
    std::vector<double> seconds;
    for (const Candidate& c : candidates) {
      ++timed[c.algorithm->name];
      seconds.push_back(c.algorithm->name == "ring"   ? 1.0
                        : c.algorithm->name == "tree" ? 1.1
                                                      : 1.6);
    }
    return seconds;
  });
  EXPECT_EQ(choice.chosen.algorithm->name, "ring");
  EXPECT_EQ(timed.size(), choice.candidates.size());
  for (const auto& [name, times] : timed) {
    EXPECT_EQ(times, name == "ring" || name == "tree" ? 6 : 1) << name;
  }
}

TEST(Tune, OneDisturbedTimeDoesNotCostTheFastestItsPlaceIfItStaysInTheRace) {
  Choice choice = predicted();
  int rounds = 0;
  tune(choice, [&](std::span<const Candidate> candidates) {
    ++rounds;
    std::vector<double> seconds;
    for (const Candidate& c : candidates) {
      const bool is_ring = c.algorithm->name == "ring";
      seconds.push_back(is_ring ? (rounds == 3 ? 9.0 : 1.0) : 1.01);
    }
    return seconds;
  });
  EXPECT_EQ(choice.chosen.algorithm->name, "ring");
}

TEST(Tune, ARuleIsFollowedWithoutMeasuring) {
  Choice choice = predicted();
  choice.origin = "rules.csv line 4";
  tune(choice, [](std::span<const Candidate> candidates) {
    ADD_FAILURE() << "timed";
    return std::vector<double>(candidates.size(), 1.0);
  });
  EXPECT_EQ(choice.origin, "rules.csv line 4");
}

}  // namespace
}  // namespace tutti
