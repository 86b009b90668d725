// The World's contract: memory, runs, failures, tasks and random numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/world.hpp"
#include "tests/conformance/substrates.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class AnyWorld : public SubstrateTest {};

INSTANTIATE_TEST_SUITE_P(On, AnyWorld, testing::ValuesIn(all_substrates()), substrate_name);

// What the program returns on each rank, by rank.
std::vector<std::int64_t> results(World& world,
                                  const std::function<std::int64_t(Rank& rank)>& program) {
  const auto count = static_cast<std::size_t>(world.size());
  auto* const memory = reinterpret_cast<std::int64_t*>(world.allocate(count * 8));
  world.run([&](Rank& rank) { memory[rank.index()] = program(rank); });
  return {memory, memory + count};
}

// What the run throws, of any type.
std::string failure_of(World& world, const Program& program) {
  try {
    world.run(program);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "the run ended without an error";
}

bool holds_only(const std::byte* memory, std::size_t bytes, std::size_t value) {
  return std::count(memory, memory + bytes, static_cast<std::byte>(value)) ==
         static_cast<std::ptrdiff_t>(bytes);
}

TEST_P(AnyWorld, EveryRankRunsOnceAndKnowsItsIndexAndTheSize) {
  const auto world = make(5);
  const auto seen = results(*world, [](Rank& rank) { return 10 * rank.size() + rank.index(); });
  EXPECT_EQ(seen, (std::vector<std::int64_t>{50, 51, 52, 53, 54}));
}

TEST_P(AnyWorld, OneRankAloneIsAWorld) {
  const auto world = make(1);
  EXPECT_EQ(results(*world, [](Rank& rank) { return rank.size(); }), std::vector<std::int64_t>{1});
}

TEST_P(AnyWorld, MemoryIsZeroedAlignedApartAndKeepsWhatRanksWrite) {
  const auto world = make(2);
  const std::vector<std::size_t> sizes{1, 0, 4096, 7, std::size_t{3} << 20};
  std::vector<std::byte*> memory;
  for (const std::size_t bytes : sizes) memory.push_back(world->allocate(bytes));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_NE(memory[i], nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory[i]) % 128, 0U);
    EXPECT_TRUE(holds_only(memory[i], sizes[i], 0));
  }
  world->run([&](Rank& rank) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (rank.index() == 1) std::memset(memory[i], static_cast<int>(i + 1), sizes[i]);
    }
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_TRUE(holds_only(memory[i], sizes[i], i + 1));
  }
}

TEST_P(AnyWorld, FetchedMemoryHoldsWhatTheRankWroteIntoIt) {
  const auto world = make(3);
  const Block block = world->allocate_block(2, DType::int32);
  world->run([&](Rank& rank) {
    if (rank.index() == 2) set_element(block, 1, 7);
  });
  world->fetch(2, block.data, block.bytes());
  EXPECT_EQ(element(block, 0), 0);
  EXPECT_EQ(element(block, 1), 7);
}

TEST_P(AnyWorld, RanksSeeWhatTheCallerWroteBeforeTheRun) {
  const auto world = make(3);
  const Block block = world->allocate_block(1, DType::int32);
  for (const int value : {4, 5}) {
    set_element(block, 0, value);
    const int local = 100 * value;
    const auto seen = results(
        *world, [&](Rank&) { return local + static_cast<std::int64_t>(element(block, 0)); });
    EXPECT_EQ(seen, std::vector<std::int64_t>(3, 101 * value));
  }
}

TEST_P(AnyWorld, AWorldRunsAsManyProgramsAsAskedFor) {
  const auto world = make(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(results(*world, [i](Rank&) { return i; }), std::vector<std::int64_t>(3, i));
  }
}

TEST_P(AnyWorld, AnErrorKeepsItsKindAndTextAndGetsItsRank) {
  const auto world = make(3);
  const Error error = error_of_run(*world, [](Rank& rank) {
    if (rank.index() == 2) throw Error(ErrorKind::system, "the disk is full");
  });
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_EQ(error.rank(), 2);
  EXPECT_THAT(error.what(), HasSubstr("the disk is full"));
}

TEST_P(AnyWorld, AnyOtherExceptionKeepsItsTextAndGetsItsRank) {
  const auto world = make(3);
  const std::string foreign = failure_of(*world, [](Rank& rank) {
    if (rank.index() == 1) throw std::runtime_error("no such animal");
  });
  EXPECT_THAT(foreign, AllOf(HasSubstr("rank 1"), HasSubstr("no such animal")));
  const std::string bug =
      failure_of(*world, [](Rank& rank) { check(rank.index() != 2, "this cannot happen"); });
  EXPECT_THAT(bug, AllOf(HasSubstr("rank 2"), HasSubstr("this cannot happen")));
}

TEST_P(AnyWorld, ASpawnedTaskIsJoinedWhenItsRankEnds) {
  const auto world = make(3);
  auto* const done = reinterpret_cast<std::int64_t*>(world->allocate(3 * 8));
  world->run([&](Rank& rank) {
    const int index = rank.index();
    rank.spawn([=] { done[index] = index + 1; });
  });
  EXPECT_EQ(std::vector<std::int64_t>(done, done + 3), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_P(AnyWorld, ASpawnedTaskCommunicatesBesideTheProgram) {
  const auto world = make(2, {.lanes = 2});
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    const int peer = 1 - rank.index();
    const auto exchange = [&rank, peer](int lane) {
      for (int i = 0; i < 20; ++i) {
        rank.channel(lane).sendrecv(peer, ghost(1000), peer, ghost(1000));
      }
    };
    rank.spawn([exchange] { exchange(1); });
    exchange(0);
  }));
}

TEST_P(AnyWorld, ATasksFailureIsItsRanksFailure) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [](Rank& rank) {
    if (rank.index() == 1) rank.spawn([] { throw Error(ErrorKind::system, "the task gave up"); });
  });
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_EQ(error.rank(), 1);
  EXPECT_THAT(error.what(), HasSubstr("the task gave up"));
}

std::vector<std::int64_t> drawn(World& world) {
  return results(world, [](Rank& rank) { return static_cast<std::int64_t>(rank.random()()); });
}

TEST_P(AnyWorld, EachRankDrawsItsOwnNumbersWhichTheSeedRepeats) {
  const std::vector<std::int64_t> numbers = drawn(*make(3, {.seed = 7}));
  EXPECT_EQ(drawn(*make(3, {.seed = 7})), numbers);
  EXPECT_NE(drawn(*make(3, {.seed = 8})), numbers);
  EXPECT_NE(numbers[0], numbers[1]);
  EXPECT_NE(numbers[1], numbers[2]);
}

TEST_P(AnyWorld, EveryRunDrawsTheSameNumbers) {
  const auto world = make(2, {.seed = 7});
  EXPECT_EQ(drawn(*world), drawn(*world));
}

TEST_P(AnyWorld, RanksDrawTheSameNumbersOnEverySubstrate) {
  LoopbackWorld reference(4, {.seed = 3});
  EXPECT_EQ(drawn(*make(4, {.seed = 3})), drawn(reference));
}

}  // namespace
}  // namespace tutti
