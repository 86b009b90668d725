#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "collectives/division.hpp"
#include "collectives/ring.hpp"
#include "exec/fork_world.hpp"
#include "exec/gloo_reference.hpp"
#include "experiments/measure.hpp"
#include "experiments/verify.hpp"
#include "run_tutti.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json verified(const std::string& arguments) {
  const CommandResult result = run_tutti("verify --json " + arguments);
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  return nlohmann::json::parse(result.output);
}

// Algorithms that have a row.
std::size_t supported_by(int ranks) {
  return static_cast<std::size_t>(
      std::count_if(catalogue().begin(), catalogue().end(), [&](const Algorithm& algorithm) {
        return algorithm.supports({.ranks = ranks, .count = static_cast<std::size_t>(ranks)});
      }));
}

TEST(VerifyCommand, AllPassesAmongTwoThreeFourAndEightRanks) {
  for (const int ranks : {2, 3, 4, 8}) {
    const auto json = verified("--ranks " + std::to_string(ranks));
    EXPECT_EQ(json["pass"], true);
    EXPECT_EQ(json["rows"].size(), supported_by(ranks));
    EXPECT_EQ(json["left_out"].size(), catalogue().size() - supported_by(ranks));
    for (const auto& row : json["rows"]) {
      EXPECT_EQ(row["exact"], true) << row;
      if (!gloo_available() || row["collective"] == "barrier") continue;
      EXPECT_EQ(row["reference"], "gloo") << row;
      if (ranks == 2 || row["algorithm"] == "ring_gloo") {
        EXPECT_EQ(row["gloo_bytes_equal"], true) << row;
      }
    }
    ASSERT_EQ(json["counters"].size(), 2u * static_cast<unsigned>(ranks));
    EXPECT_EQ(json["counters"][0]["difference_elements"], 0.0);
  }
}

TEST(VerifyCommand, TheSimulatedTransportGivesTheSameRowsAsTheRealOne) {
  const auto real = verified("--ranks 3"), simulated = verified("--ranks 3 --transport sim");
  EXPECT_EQ(real["rows"], simulated["rows"]);
  EXPECT_EQ(real["counters"], simulated["counters"]);
}

TEST(VerifyCommand, EveryDtypePassesAndSaysItsReference) {
  const auto json = verified("--ranks 3 --dtype all");
  EXPECT_EQ(json["rows"].size(), supported_by(3) * all_dtypes().size());
  for (const auto& row : json["rows"]) {
    const bool is_barrier = row["collective"] == "barrier";
    const bool has_gloo = gloo_available() && row["dtype"] != "bfloat16" && !is_barrier;
    EXPECT_EQ(row["reference"], is_barrier ? "none" : has_gloo ? "gloo" : "serial");
    EXPECT_EQ(row["gloo_bytes_equal"].is_null(), !has_gloo);
  }
}

TEST(VerifyCommand, ARowHasTheDocumentedKeys) {
  for (const auto& row : verified("--ranks 2")["rows"]) {
    for (const char* key : {"collective", "algorithm", "ranks", "dtype", "exact",
                            "gloo_bytes_equal", "max_error", "bound", "pass"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
}

TEST(VerifyCommand, EveryVFormPassesWithUnequalAndEmptyParts) {
  for (const char* transport : {"shm", "sim"}) {
    const auto json = verified("--ranks 4 --counts 3,0,5,2 --transport " + std::string(transport));
    std::size_t expected = 0;
    for (const Algorithm& algorithm : catalogue()) {
      const bool takes_counts =
          has_parts(algorithm.collective) && algorithm.parts == PartSizes::any;
      if (takes_counts && algorithm.supports({.ranks = 4, .count = 12})) ++expected;
    }
    EXPECT_EQ(json["rows"].size(), expected);
    EXPECT_EQ(json["part_counts"], (std::vector<int>{3, 0, 5, 2}));
    EXPECT_EQ(json["counts"], std::vector<int>{10});
    for (const auto& row : json["rows"]) EXPECT_EQ(row["reference"], "serial") << row;
  }
}

TEST(VerifyCommand, AllPassesAmongSomeRanksInAnyOrder) {
  const auto json = verified("--ranks 5 --members 3,1,4");
  EXPECT_EQ(json["rows"].size(), supported_by(3));
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_EQ(json["members"], (std::vector<int>{3, 1, 4}));
  EXPECT_EQ(json["counters"].size(), 6U);
  EXPECT_EQ(verified("--ranks 5 --members 2,0,4 --counts 0,7,1 --transport sim")["pass"], true);
}

// An allgather that forgets the last rank's part where parts are unequal.
void forgetful_allgather(Channel& channel, const Invocation& invocation) {
  const Parts& parts = invocation.data;
  if (parts[0].count == parts[channel.size() - 1].count) return allgather_ring(channel, parts);
  for (int other = 0; other < channel.size(); ++other) {
    const bool is_last = channel.rank() == channel.size() - 1;
    if (other == channel.rank()) continue;
    if (!is_last) channel.send(other, parts[channel.rank()]);
  }
  for (int other = 0; other + 1 < channel.size(); ++other) {
    if (other != channel.rank()) channel.recv(other, parts[other]);
  }
}

TEST(Verify, APartThatIsMissingFailsTheVForm) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  Algorithm forgetful = find_algorithm(Collective::allgather, "ring");
  forgetful.execute = forgetful_allgather;
  const Algorithm algorithms[] = {forgetful};
  VerifyFlags flags;
  flags.ranks = 3;
  flags.members = {2, 0};
  flags.part_counts = {1, 4};
  flags.transport = "sim";
  EXPECT_FALSE(verify(flags, output, algorithms));
  std::fclose(file);
}

TEST(VerifyCommand, OneRankPasses) {
  EXPECT_EQ(verified("--ranks 1")["pass"], true);
}

TEST(VerifyCommand, TheTableHasAVerdictForEachRow) {
  const CommandResult result = run_tutti("verify --ranks 2");
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("PASS"), HasSubstr("2(N-1)T/N"), HasSubstr("# all rows pass")));
}

// An allreduce whose last rank has one bit too many in its last element.
void broken_allreduce(Channel& channel, const Invocation& invocation) {
  const Block data = invocation.data.whole();
  allreduce_ring(channel, data, invocation.op);
  if (channel.rank() == channel.size() - 1) data.data[data.bytes() - 1] ^= std::byte{1};
}

Algorithm broken_algorithm() {
  Algorithm algorithm = find_algorithm(Collective::allreduce, "ring");
  algorithm.execute = broken_allreduce;
  return algorithm;
}

std::string read_all(std::FILE* file) {
  std::rewind(file);
  std::string text(100'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

TEST(Verify, AWrongBitOnOneRankFails) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  const Algorithm algorithms[] = {broken_algorithm()};
  VerifyFlags flags;
  flags.ranks = 3;
  EXPECT_FALSE(verify(flags, output, algorithms));
  const std::string text = read_all(file);
  std::fclose(file);
  EXPECT_THAT(text, AllOf(HasSubstr("FAIL"), HasSubstr("# FAILED")));
}

void broken_barrier(Channel&, const Invocation&) {}

TEST(Verify, ABarrierThatHoldsNobodyBackFails) {
  for (const char* transport : {"shm", "sim"}) {
    std::FILE* const file = std::tmpfile();
    Output output(file);
    Algorithm barrier = find_algorithm(Collective::barrier, "dissemination");
    VerifyFlags flags;
    flags.ranks = 3;
    flags.transport = transport;
    EXPECT_TRUE(verify(flags, output, {&barrier, 1})) << transport;
    barrier.execute = broken_barrier;
    EXPECT_FALSE(verify(flags, output, {&barrier, 1})) << transport;
    std::fclose(file);
  }
}

TEST(VerifyCommand, WhatTheRanksCannotRunIsNamedWithTheReason) {
  EXPECT_THAT(run_tutti("verify --ranks 3").output,
              HasSubstr("# left out, not supported by 3 ranks: allgather_neighbor_exchange (even "
                        "N)"));
  EXPECT_THAT(run_tutti("verify --ranks 4").output, Not(HasSubstr("left out")));
}

TEST(VerifyCommand, TuningReachesTheAlgorithms) {
  EXPECT_EQ(verified("--ranks 6 --segments 3 --radix 3 --group 2")["pass"], true);
  // No broadcast has such a level.
  const auto levels = verified("--ranks 4 --inner pat --outer ring");
  EXPECT_EQ(levels["pass"], true);
  EXPECT_EQ(levels["left_out"].size(), 1U);
  EXPECT_EQ(levels["left_out"][0]["collective"], "broadcast");
  EXPECT_THAT(run_tutti("verify --inner nope").errors, HasSubstr("unknown algorithm 'nope'"));
  EXPECT_THAT(run_tutti("verify --ranks 4 --group 3").output,
              HasSubstr("allreduce_hierarchical (N that a group g divides"));
}

TEST(Verify, AWrongBitFailsEvenIfNobodyReadsTheRows) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  std::FILE* const file = fdopen(ends[1], "w");
  Output output(file);
  const Algorithm algorithms[] = {broken_algorithm()};
  VerifyFlags flags;
  flags.ranks = 3;
  EXPECT_FALSE(verify(flags, output, algorithms));
  EXPECT_TRUE(output.is_closed());
  std::fclose(file);
  std::signal(SIGPIPE, previous);
}

TEST(Verify, PrintsARowBeforeTheNextIsKnown) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  Algorithm algorithms[] = {find_algorithm(Collective::allreduce, "ring"), broken_algorithm()};
  algorithms[1].execute = [](Channel& channel, const Invocation&) {
    throw Error(ErrorKind::system, "broken", channel.rank());
  };
  VerifyFlags flags;
  flags.ranks = 2;
  EXPECT_THROW(verify(flags, output, algorithms), Error);
  EXPECT_THAT(read_all(file), HasSubstr("PASS"));
  std::fclose(file);
}

TEST(Verify, ASimulatedRankWaitsNoLongerThanTheTimeout) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  VerifyFlags flags;
  flags.transport = "sim";
  flags.world.timeout_seconds = 1e-9;
  try {
    verify(flags, output);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timeout) << error.what();
  }
  std::fclose(file);
}

TEST(Verify, ARingThatSendsMoreThanItSaysFails) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  Algorithm wasteful = find_algorithm(Collective::allreduce, "ring");
  wasteful.execute = find_algorithm(Collective::allreduce, "naive").execute;
  VerifyFlags flags;
  flags.ranks = 3;
  EXPECT_FALSE(verify(flags, output, {&wasteful, 1}));
  std::fclose(file);
}

TEST(Meter, CountsTheElementsThatABrokenAlgorithmGetsWrong) {
  ForkWorld world(3);
  const TraceFile no_trace("");
  Meter meter(world, 4096, 2, {}, no_trace);
  const Algorithm broken = broken_algorithm();
  const Algorithm& right = find_algorithm(Collective::allreduce, "ring");
  const Job jobs[] = {{&right, 1024, DType::float32, Op::sum, 0},
                      {&broken, 1024, DType::float32, Op::sum, 0}};
  EXPECT_THAT(meter.count_wrong(jobs), ::testing::ElementsAre(0u, 1u));
}

TEST(Timing, HasTheMeanMedianAndNearestRankPercentile) {
  const Timing timing = timing_of({4.0, 1.0, 3.0, 2.0});
  EXPECT_DOUBLE_EQ(timing.mean_seconds, 2.5);
  EXPECT_DOUBLE_EQ(timing.p50_seconds, 2.5);
  EXPECT_DOUBLE_EQ(timing.p99_seconds, 4.0);
  EXPECT_DOUBLE_EQ(timing_of({7.0}).p99_seconds, 7.0);
}

}  // namespace
}  // namespace tutti
