// Calls that differ between ranks, and ranks that do not come: noticed before anything is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/linear.hpp"
#include "collectives/ring.hpp"
#include "collectives/run.hpp"
#include "collectives/sub_channel.hpp"
#include "exec/fork_world.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int ranks = 4;
constexpr int milliseconds = 1000;  // In microseconds.

// What a rank observed, in the world's memory.
struct Seen {
  bool has_failed;
  ErrorKind kind;
};

struct Outcome {
  std::string text;
  ErrorKind kind = ErrorKind::usage;
  std::vector<Seen> seen;
};

// Runs `program`, which must fail, and collects what each rank saw.
Outcome fail(ForkWorld& world, const Program& program) {
  const auto size = static_cast<std::size_t>(world.size());
  auto* const seen = reinterpret_cast<Seen*>(world.allocate(size * sizeof(Seen)));
  Outcome outcome;
  try {
    world.run([&](Rank& rank) {
      try {
        program(rank);
      } catch (const Error& error) {
        seen[rank.index()] = {true, error.kind()};
        throw;
      }
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    outcome.text = error.what();
    outcome.kind = error.kind();
  }
  outcome.seen.assign(seen, seen + size);
  return outcome;
}

std::vector<Block> blocks_of_ones(ForkWorld& world, std::size_t count) {
  std::vector<Block> blocks;
  for (int i = 0; i < world.size(); ++i) {
    blocks.push_back(world.allocate_block(count, DType::float32));
    std::fill_n(reinterpret_cast<float*>(blocks.back().data), count, 1.0F);
  }
  return blocks;
}

void expect_ones(const std::vector<Block>& blocks) {
  for (const Block block : blocks) {
    const auto* const values = reinterpret_cast<const float*>(block.data);
    EXPECT_EQ(std::count(values, values + block.count, 1.0F),
              static_cast<std::ptrdiff_t>(block.count));
  }
}

struct OtherCall {
  const char* name;
  Collective collective;
  const char* algorithm;
  DType dtype;
  std::size_t count;
  Op op;
  int root;
  const char* text;
};

class CallsOfOneRank : public ::testing::TestWithParam<OtherCall> {};

constexpr Wire wires[] = {Wire::shm, Wire::tcp};

ForkOptions patient(Wire wire) {
  return {.timeout_seconds = 3600.0, .wire = wire};
}

// A tree passes on what its leaves have sent long before the last rank is heard of.
TEST_P(CallsOfOneRank, ThatDifferAreAnErrorOfAllRanksThatNamesBothAndChangesNoData) {
  const OtherCall& other = GetParam();
  struct Case {
    Wire wire;
    int late;
  };
  for (const auto& [wire, late] :
       {Case{Wire::shm, 0}, {Wire::shm, 3}, {Wire::tcp, 0}, {Wire::tcp, 3}}) {
    SCOPED_TRACE(wire == Wire::shm ? "shm" : "tcp");
    ForkWorld world(ranks, patient(wire));
    const std::vector<Block> data = blocks_of_ones(world, 60);
    const Outcome outcome = fail(world, [&](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      if (rank.index() == late) usleep(20 * milliseconds);
      if (rank.index() == 3) {
        run(find_algorithm(other.collective, other.algorithm), rank.channel(),
            Block{mine.data, other.count, other.dtype}, other.op, other.root);
      } else {
        run(find_algorithm(Collective::allreduce, "recursive_doubling"), rank.channel(), mine);
      }
    });
    EXPECT_EQ(outcome.kind, ErrorKind::mismatch) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("allreduce_recursive_doubling of 60 float32, sum"),
                                    HasSubstr(other.text), HasSubstr("rank 3"),
                                    HasSubstr("all ranks must make the same call")));
    for (const Seen& seen : outcome.seen) {
      EXPECT_TRUE(seen.has_failed);
      EXPECT_EQ(seen.kind, ErrorKind::mismatch);
    }
    expect_ones(data);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CallsOfOneRank,
    ::testing::Values(OtherCall{"collective", Collective::broadcast, "linear", DType::float32, 60,
                                Op::replace, 0, "broadcast_linear of 60 float32, root 0"},
                      OtherCall{"algorithm", Collective::allreduce, "ring", DType::float32, 60,
                                Op::sum, 0, "allreduce_ring of 60 float32, sum"},
                      OtherCall{"count", Collective::allreduce, "recursive_doubling",
                                DType::float32, 59, Op::sum, 0,
                                "allreduce_recursive_doubling of 59 float32, sum"},
                      OtherCall{"dtype", Collective::allreduce, "recursive_doubling", DType::int32,
                                60, Op::sum, 0, "allreduce_recursive_doubling of 60 int32, sum"},
                      OtherCall{"op", Collective::allreduce, "recursive_doubling", DType::float32,
                                60, Op::max, 0, "allreduce_recursive_doubling of 60 float32, max"}),
    [](const auto& chosen) { return std::string(chosen.param.name); });

TEST(CallCheck, CallsInAnotherOrderAreAnErrorThatChangesNoData) {
  for (const Wire wire : wires) {
    SCOPED_TRACE(wire == Wire::shm ? "shm" : "tcp");
    ForkWorld world(ranks, patient(wire));
    const std::vector<Block> data = blocks_of_ones(world, 1000);
    const Outcome outcome = fail(world, [&](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      if (rank.index() == 1) allreduce_ring(rank.channel(), mine, Op::sum);
      broadcast_linear(rank.channel(), mine, 2);
      if (rank.index() != 1) allreduce_ring(rank.channel(), mine, Op::sum);
    });
    EXPECT_EQ(outcome.kind, ErrorKind::mismatch);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("allreduce_ring of 1000 float32, sum"),
                                    HasSubstr("broadcast_linear of 1000 float32, root 2")));
    expect_ones(data);
  }
}

TEST(CallCheck, AnOutputIsNotEvenFilledWithTheRanksOwnInput) {
  for (const Wire wire : wires) {
    SCOPED_TRACE(wire == Wire::shm ? "shm" : "tcp");
    ForkWorld world(ranks, patient(wire));
    const std::vector<Block> data = blocks_of_ones(world, 40);
    const Outcome outcome = fail(world, [&](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      std::vector<float> own(10, 7.0F);
      const Block input{reinterpret_cast<std::byte*>(own.data()), own.size(), DType::float32};
      if (rank.index() == 2) usleep(20 * milliseconds);
      if (rank.index() == 2) return allreduce_ring(rank.channel(), mine, Op::sum);
      run(find_algorithm(Collective::allgather, "ring"), rank.channel(),
          {.input = input, .output = mine});
    });
    EXPECT_EQ(outcome.kind, ErrorKind::mismatch);
    expect_ones(data);
  }
}

TEST(CallCheck, ARankThatLeavesInsteadOfMakingTheCallIsNamed) {
  ForkWorld world(ranks, {.timeout_seconds = 3600.0});
  const std::vector<Block> data = blocks_of_ones(world, 10);
  const Outcome outcome = fail(world, [&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    if (rank.index() != 3) broadcast_linear(rank.channel(), mine, 0);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::peer_lost);
  EXPECT_THAT(outcome.text, HasSubstr("but rank 3 left after call #0"));
}

TEST(CallCheck, ARankThatIsKilledBeforeItMakesTheCallIsNamed) {
  ForkWorld world(ranks, {.timeout_seconds = 3600.0});
  const std::vector<Block> data = blocks_of_ones(world, 10);
  const Outcome outcome = fail(world, [&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    if (rank.index() == 3) usleep(20 * milliseconds);
    if (rank.index() == 3) raise(SIGKILL);
    broadcast_linear(rank.channel(), mine, 0);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::peer_lost);
  EXPECT_THAT(outcome.text,
              ContainsRegex("^rank 3 was killed by signal 9.*; broadcast_linear: rank "
                            "[12] was waiting for 40 bytes from rank 0 at step 1"));
}

TEST(CallCheck, ARankThatNeverMakesTheCallIsNamedAtTheTimeout) {
  ForkWorld world(ranks, {.timeout_seconds = 0.3});
  const std::vector<Block> data = blocks_of_ones(world, 10);
  const Outcome outcome = fail(world, [&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    if (rank.index() == 3) usleep(60 * 1000 * milliseconds);
    broadcast_linear(rank.channel(), mine, 0);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::timeout);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("rank 3 has not made call #1 yet"),
                                  HasSubstr("rank 3 does not wait: it is busy or stopped")));
  expect_ones(data);
}

TEST(CallCheck, ARankThatHasNothingToWriteMayRunAheadOfTheOthers) {
  constexpr std::size_t calls = 100;
  ForkWorld world(ranks);
  std::vector<Block> data;
  for (int i = 0; i < ranks; ++i) data.push_back(world.allocate_block(calls, DType::int32));
  world.run([&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    for (std::size_t i = 0; i < calls; ++i) {
      const Block part = mine.slice(i, 1);
      if (rank.index() == 0) *reinterpret_cast<std::int32_t*>(part.data) = static_cast<int>(i);
      if (rank.index() == 3 && i % 20 == 0) usleep(2 * milliseconds);
      broadcast_linear(rank.channel(), part, 0);
    }
  });
  for (const Block block : data) {
    for (std::size_t i = 0; i < calls; ++i) {
      EXPECT_EQ(reinterpret_cast<std::int32_t*>(block.data)[i], static_cast<int>(i));
    }
  }
}

TEST(CallCheck, GroupsOfAnyNumberAndOverlapCountTheirCallsApart) {
  constexpr int rounds = 50;  // More groups than a rank has places for.
  ForkWorld world(ranks);
  const std::vector<Block> data = blocks_of_ones(world, 3);
  world.run([&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    const auto sum_among = [&](const std::vector<int>& members) {
      if (std::find(members.begin(), members.end(), rank.index()) == members.end()) return;
      SubChannel group(rank.channel(), members);
      allreduce_ring(group, mine, Op::max);
      SubChannel again(group, std::vector<int>{1, 0, 2});
      allreduce_ring(again, mine, Op::max);
    };
    for (int i = 0; i < rounds; ++i) {
      std::vector<int> members{0, 1, 2, 3};
      for (int k = 0; k < i % 24; ++k) std::next_permutation(members.begin(), members.end());
      members.resize(3);
      sum_among(members);
      allreduce_ring(rank.channel(), mine, Op::max);
    }
  });
  expect_ones(data);
}

TEST(CallCheck, TheSameCallInAnotherGroupIsAnError) {
  ForkWorld world(3, {.timeout_seconds = 3600.0});
  const std::vector<Block> data = blocks_of_ones(world, 10);
  const Outcome outcome = fail(world, [&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    SubChannel pair(rank.channel(),
                    rank.index() == 2 ? std::vector{2, 0, 1} : std::vector{0, 1, 2});
    allreduce_ring(pair, mine, Op::sum);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::mismatch);
  expect_ones(data);
}

TEST(CallCheck, WithoutItRanksThatTalkStillCompareTheirCalls) {
  ForkWorld world(2, {.timeout_seconds = 3600.0, .checks_calls = false});
  const std::vector<Block> data = blocks_of_ones(world, 10);
  const Outcome outcome = fail(world, [&](Rank& rank) {
    allreduce_ring(rank.channel(), data[0].slice(0, rank.index() == 0 ? 10 : 8), Op::sum);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::mismatch);
}

class Cycles : public ::testing::TestWithParam<int> {};

TEST_P(Cycles, OfRanksThatAllReceiveFirstAreNoticedAtOnce) {
  ForkWorld world(GetParam(), {.timeout_seconds = 3600.0});
  const Outcome outcome = fail(world, [&](Rank& rank) {
    const Operation operation(rank.channel(), {"exchange", 8, DType::float32}, 2);
    const int next = (rank.index() + 1) % rank.size();
    const int previous = (rank.index() + rank.size() - 1) % rank.size();
    const Block block{nullptr, 8, DType::float32};
    rank.channel().recv(previous, block);
    rank.channel().send(next, block);
  });
  EXPECT_EQ(outcome.kind, ErrorKind::deadlock);
  EXPECT_THAT(
      outcome.text,
      AllOf(ContainsRegex("exchange: rank [0-9] was waiting for 32 bytes from rank [0-9] at "
                          "step 1 of 2 of call #1 \\(received 0\\); rank [0-9] waits for rank"),
            HasSubstr("they will wait for each other for ever")));
}

TEST_P(Cycles, OfRanksThatAllSendFirstMoreThanFitsAreNoticedAtOnce) {
  ForkWorld world(GetParam(), {.timeout_seconds = 3600.0});
  const Block data = world.allocate_block(1 << 20, DType::float32);
  const Outcome outcome =
      fail(world, [&](Rank& rank) { rank.channel().send((rank.index() + 1) % rank.size(), data); });
  EXPECT_EQ(outcome.kind, ErrorKind::deadlock);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Cycles, ::testing::Values(2, 3, 5));

}  // namespace
}  // namespace tutti
