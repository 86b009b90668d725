#include "collectives/plan_goal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "collectives/plan_check.hpp"
#include "collectives/plan_execute.hpp"
#include "collectives/plan_of.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr CostModel alpha_only{.alpha_seconds = 1.0};
constexpr CostModel models[] = {
    alpha_only, {5e-6, 8e-11, 0.0}, {1e-6, 1e-8, 0.0}, {.beta_seconds_per_byte = 1.0}};

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string error_of(std::string_view text, ErrorKind kind = ErrorKind::usage) {
  try {
    parse_goal(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

// "0 > 1: 24, 16" for every pair, in order.
std::string messages_of(const Plan& plan) {
  std::string text;
  for (const PlanMessage& message : match(plan)) {
    text += fmt::format("{} > {}: {}\n", message.sender->rank, message.receiver->rank,
                        message.send->bytes());
  }
  return text;
}

class RoundTrip : public testing::TestWithParam<const Algorithm*> {};

TEST_P(RoundTrip, KeepsMessagesAndReplayTimes) {
  for (const int ranks : {1, 2, 3, 4, 6, 7, 8, 13, 16}) {
    for (const std::size_t count : {std::size_t{1}, static_cast<std::size_t>(2 * ranks),
                                    static_cast<std::size_t>(2 * ranks + 3)}) {
      const Problem problem{.ranks = ranks, .count = count, .root = ranks / 2};
      if (!GetParam()->supports(problem)) continue;
      SCOPED_TRACE(fmt::format("{} ranks, count {}", ranks, count));
      const Plan plan = plan_of(*GetParam(), problem);
      const Plan copy = parse_goal(to_goal(plan));
      EXPECT_EQ(messages_of(copy), messages_of(plan));
      EXPECT_EQ(to_goal(parse_goal(to_goal(copy))), to_goal(copy));
      for (const CostModel& model : models) {
        EXPECT_EQ(replay(copy, model), replay(plan, model)) << model.alpha_seconds;
      }
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, RoundTrip, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : catalogue()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

TEST(Goal, ExportsWhatTheWaitsImply) {
  const Plan plan = record(2, [](Channel& channel) {
    const Block block{nullptr, 3, DType::float32};
    if (channel.rank() == 0) {
      channel.send(1, block);
      channel.recv(1, block);
    } else {
      channel.recv(0, block);
      channel.send(0, block);
    }
  });
  EXPECT_EQ(to_goal(plan),
            "num_ranks 2\n\nrank 0 {\nl1: send 12b to 1 tag 0\nl2: recv 12b from 1 tag 0\n"
            "l2 requires l1\n}\n\nrank 1 {\nl1: recv 12b from 0 tag 0\nl2: send 12b to 0 tag 0\n"
            "l2 requires l1\n}\n");
}

TEST(Goal, ExportsReductionsAndComputationAsCalc) {
  const Plan plan = record(2, [](Channel& channel) {
    const Block block{nullptr, 1001, DType::float32};
    if (channel.rank() == 0) channel.send(1, block);
    if (channel.rank() == 1) {
      channel.recv(0, block, Op::sum);
      channel.charge({Work::Kind::compute, 3e-6, {}, {}, Op::replace});
    }
  });
  const std::string text = to_goal(plan, 1e-9);
  EXPECT_THAT(text, AllOf(HasSubstr("l2: calc 4004\nl2 requires l1\n"),
                          HasSubstr("l3: calc 3000\nl3 requires l2\n")));
  const CostModel model{1.0, 0.0, 1e-9};
  EXPECT_NEAR(replay(parse_goal(text), model)[1], replay(plan, model)[1], 1e-12);
  EXPECT_THAT(to_goal(plan), Not(HasSubstr("4004\n")));
}

TEST(Goal, AFileWithCommentsTagsAndWildcardsIsUnderstood) {
  const Plan plan = parse_goal(read_text("tests/fixtures/reduce_broadcast.goal"));
  EXPECT_EQ(plan.size, 4);
  EXPECT_EQ(messages_of(plan),
            "0 > 1: 1024\n1 > 0: 1024\n1 > 2: 1024\n1 > 3: 1024\n2 > 1: 1024\n3 > 1: 1024\n");
  // Up, the addition, across and down.
  EXPECT_NEAR(replay(plan, alpha_only)[3], 3.0 + 2e-6, 1e-12);
}

TEST(Goal, AFileOfLogGopSimIsUnderstood) {
  const char* const given = std::getenv("TUTTI_GOAL_FOLDER");
  const std::string folder = given == nullptr ? "../shared/fixtures/workloads" : given;
  const std::string text = read_text(folder + "/loggopsim__binary_tree_32.goal");
  if (text.empty()) GTEST_SKIP() << folder << " holds no loggopsim__binary_tree_32.goal";
  const Plan plan = parse_goal(text);
  EXPECT_EQ(plan.size, 32);
  EXPECT_EQ(match(plan).size(), 31U);
  EXPECT_EQ(depth(plan), 5);
}

TEST(Goal, ARankWaitsForNoMoreThanWhatIsRequired) {
  // The send needs the second receive only, whose message comes first.
  const Plan plan = parse_goal(R"(num_ranks 3
rank 0 {
a: recv 1000000b from 1
b: recv 1b from 2
s: send 1b to 2
s requires b
}
rank 1 {
send 1000000b to 0
}
rank 2 {
send 1b to 0
recv 1b from 0
})");
  EXPECT_DOUBLE_EQ(replay(plan, {1.0, 1.0, 0.0})[2], 4.0);
}

TEST(Goal, WhatIsReadyLaterMayBeWrittenFirst) {
  const Plan plan = parse_goal(R"(num_ranks 2
rank 0 {
late: send 1b to 1
early: recv 1b from 1
late requires early
}
rank 1 {
send 1b to 0
recv 1b from 0
})");
  EXPECT_EQ(replay(plan, alpha_only), (std::vector<double>{2.0, 2.0}));
}

TEST(Goal, TagsThatTheEndsUseInDifferentOrdersAreMatched) {
  const Plan plan = parse_goal(R"(num_ranks 2
rank 0 {
send 1b to 1 tag 1
send 2b to 1 tag 2
}
rank 1 {
recv 2b from 0 tag 2
recv 1b from 0 tag 1
})");
  EXPECT_EQ(messages_of(plan).size(), 2 * std::string("0 > 1: 1\n").size());
  EXPECT_EQ(replay(plan, alpha_only), (std::vector<double>{1.0, 1.0}));
}

TEST(Goal, ACalcKeepsItsRankBusy) {
  const Plan plan = parse_goal(R"(num_ranks 2
rank 0 {
calc 1000000000
calc 1000000000
x: recv 1b from 1
y: send 1b to 1
y requires x
}
rank 1 {
send 1b to 0
recv 1b from 0
})");
  // The message is done during the first calc, and answered between the two.
  EXPECT_EQ(replay(plan, {.alpha_seconds = 0.5}), (std::vector<double>{2.0, 1.5}));
}

TEST(Goal, AnImportedPlanExecutesOnAChannel) {
  const Plan plan = parse_goal(read_text("tests/fixtures/reduce_broadcast.goal"));
  const Plan executed = record(plan.size, [&](Channel& channel) {
    execute_plan(plan.programs[static_cast<std::size_t>(channel.rank())], channel);
  });
  EXPECT_EQ(messages_of(executed), messages_of(plan));
  for (const CostModel& model : models) EXPECT_EQ(replay(executed, model), replay(plan, model));
}

TEST(Goal, ErrorsNameTheLineAndWhatWasExpected) {
  const auto of_rank_0 = [](const std::string& statement) {
    return error_of("num_ranks 2\n/* two\nlines */ rank 0 {\n" + statement + "\n}\n");
  };
  EXPECT_EQ(error_of(""), "line 1: found the end of the text, expected 'num_ranks'");
  EXPECT_THAT(error_of("num_ranks 99999999999999999999"),
              AllOf(HasSubstr("line 1: found '99999999999999999999'"), HasSubstr("1 to 65536")));
  EXPECT_THAT(error_of("num_ranks 2\nrank 2 {\n}"), HasSubstr("line 2: found '2'"));
  EXPECT_THAT(error_of("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}"), HasSubstr("line 4: found rank 0"));
  EXPECT_THAT(error_of("num_ranks 2\nrank 0 {\n"), HasSubstr("line 3: found the end of the text"));
  EXPECT_THAT(error_of("num_ranks 2\n/* open"), HasSubstr("line 2: found a comment without end"));
  EXPECT_EQ(of_rank_0("send 8 to 1"), "line 4: found 'to', expected 'b' behind the bytes");
  EXPECT_THAT(of_rank_0("send 8b from 1"), HasSubstr("line 4: found 'from', expected 'to'"));
  EXPECT_THAT(of_rank_0("send 8b to 0"), HasSubstr("line 4: found a message of rank 0 to itself"));
  EXPECT_THAT(of_rank_0("send 8b to -1"), HasSubstr("line 4: found '-1'"));
  EXPECT_THAT(of_rank_0("send -8b to 1"), HasSubstr("line 4: found '-8'"));
  EXPECT_THAT(of_rank_0("a: send 8b to 1\na: calc 1"), HasSubstr("line 5: found label 'a'"));
  EXPECT_THAT(of_rank_0("a: calc 1\na requires b"), HasSubstr("line 5: found label 'b'"));
  EXPECT_THAT(of_rank_0("a: calc 1 a requires"),
              HasSubstr("line 4: found 'a', expected the end of the line"));
  EXPECT_THAT(of_rank_0("calc 1 nic 3"), HasSubstr("line 4: found 'nic', expected the end of the"));
  EXPECT_THAT(of_rank_0("calc 1 \x01"), HasSubstr("line 4: found '?'"));
}

TEST(Goal, MessagesThatDoNotMatchAreAnError) {
  EXPECT_THAT(error_of("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 3\n}", ErrorKind::mismatch),
              HasSubstr("rank 0, line 3: send to 1, 8 bytes, tag 3 has no other end"));
  EXPECT_THAT(error_of("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 4b from 0\n}",
                       ErrorKind::mismatch),
              HasSubstr("line 6: found a receive of 4 bytes, expected 8"));
}

TEST(Goal, WhatWaitsForItselfIsADeadlock) {
  EXPECT_THAT(error_of("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}",
                       ErrorKind::deadlock),
              HasSubstr("rank 0, line 3: calc of 1 ns cannot start"));
  EXPECT_THAT(error_of(R"(num_ranks 2
rank 0 {
a: send 1b to 1
b: recv 1b from 1
a requires b
}
rank 1 {
a: send 1b to 0
b: recv 1b from 0
a requires b
})",
                       ErrorKind::deadlock),
              HasSubstr("rank 0, line 4: recv from 1, 1 bytes, tag 0 has no other end"));
}

TEST(Goal, ManyIndependentOperationsTakeLinearTime) {
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < 50'000; ++i) text += "calc 1\nrecv 1b from -1 tag -1\n";
  text += "}\nrank 1 {\n";
  for (int i = 0; i < 50'000; ++i) text += fmt::format("send 1b to 0 tag {}\n", i);
  const Plan plan = parse_goal(text + "}\n");
  EXPECT_EQ(match(plan).size(), 50'000U);
  EXPECT_NO_THROW(replay(plan, alpha_only));
}

TEST(Goal, DamagedTextIsRefusedOrUnderstoodButNeverMore) {
  const std::string good = read_text("tests/fixtures/reduce_broadcast.goal");
  constexpr unsigned seed = 20240917;
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random() % 256);
      else
        text.erase(at, random() % 8);
    }
    try {
      replay(parse_goal(text), alpha_only);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000) << "seed " << seed;
}

}  // namespace
}  // namespace tutti
