#include "collectives/plan_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "collectives/plan_check.hpp"
#include "collectives/plan_of.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    plan_from_json(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

// A plan of two ranks whose first has these events.
std::string with_events(const std::string& events) {
  return R"({"format": "tutti plan 1", "size": 2, "programs": [{"rank": 0, "events": [)" + events +
         "]}]}";
}

TEST(PlanJson, EveryAlgorithmsPlanIsReadBackAsItWas) {
  for (const Algorithm& algorithm : catalogue()) {
    for (const int ranks : {1, 4, 7}) {
      const Problem problem{.ranks = ranks, .count = static_cast<std::size_t>(4 * ranks)};
      if (!algorithm.supports(problem)) continue;
      const Plan plan = plan_of(algorithm, problem);
      EXPECT_EQ(plan_from_json(to_json(plan)), plan) << algorithm.full_name << ", " << ranks;
    }
  }
}

TEST(PlanJson, GhostsLanesAndComputationAreReadBackAsTheyWere) {
  PlanWorld world(2, 2);
  world.run([](Rank& rank) {
    const Block ghost{nullptr, 5, DType::bfloat16};
    rank.channel(0).charge({Work::Kind::compute, 0.1, {}, {}, Op::replace});
    if (rank.index() == 0) rank.channel(1).send(1, ghost);
    if (rank.index() == 1) rank.channel(1).recv(0, ghost, Op::max);
  });
  EXPECT_EQ(plan_from_json(to_json(world.plan())), world.plan());
}

TEST(PlanJson, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_THAT(error_of("{\n  \"format\": nil}"), HasSubstr("line 2, column 14"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("the top: found an array, expected an object"));
  EXPECT_THAT(error_of(R"({"format": "tutti plan 1", "size": -1})"),
              HasSubstr("found size -1, expected 1 to 65536"));
  EXPECT_THAT(error_of(with_events(R"({"do": "sing", "step": 1})")),
              AllOf(HasSubstr("programs[0], events[0]: found do 'sing'"), HasSubstr("recv, wait")));
  EXPECT_THAT(error_of(with_events(R"({"do": "wait", "step": 1, "request": 7})")),
              HasSubstr("found a wait for request 7, expected an open request"));
  EXPECT_THAT(error_of(with_events(
                  R"({"do": "send", "step": 1, "request": 900000000000, "to": 1, "count": 1})")),
              HasSubstr("found request 900000000000, expected 1"));
  EXPECT_THAT(
      error_of(with_events(R"({"do": "send", "step": 1, "request": 1, "to": 1, "count": 1})")),
      HasSubstr("no wait for request 1"));
  EXPECT_THAT(
      error_of(with_events(R"({"do": "send", "step": 1, "request": 1, "to": 2, "count": 1})")),
      HasSubstr("found to 2, expected 0 to 1"));
  EXPECT_THAT(
      error_of(with_events(R"({"do": "send", "step": 1, "request": 1, "to": 0, "count": 1})")),
      HasSubstr("expected another rank"));
  EXPECT_THAT(error_of(with_events(R"({"do": "compute", "step": 1, "seconds": -2})")),
              HasSubstr("expected 0 or more"));
  EXPECT_THAT(error_of(with_events(R"({"do": "copy", "step": 1, "dtype": "int3"})")),
              HasSubstr("int3"));
}

TEST(PlanJson, DeepNestingIsRefused) {
  EXPECT_THAT(error_of(std::string(200'000, '[')), HasSubstr("line 1"));
}

TEST(PlanJson, DamagedTextIsRefusedOrUnderstoodButNeverMore) {
  const Plan plan = plan_of(find_algorithm(Collective::allreduce, "ring"), {3, 6});
  const std::string good = to_json(plan);
  constexpr unsigned seed = 4711;
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    const std::size_t at = random() % text.size();
    if (random() % 2 == 0)
      text[at] = static_cast<char>(random() % 256);
    else
      text.erase(at, random() % 20);
    try {
      replay(plan_from_json(text), {});
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000) << "seed " << seed;
}

}  // namespace
}  // namespace tutti
