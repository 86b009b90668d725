#include "exec/fork_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "collectives/linear.hpp"
#include "collectives/ring.hpp"
#include "exec/queue.hpp"

namespace tutti {
namespace {

using ::testing::HasSubstr;

template <typename T>
T* as(Block block) {
  return reinterpret_cast<T*>(block.data);
}

// A block in the rank's private memory, which other ranks cannot read in place.
struct PrivateBlock {
  explicit PrivateBlock(std::size_t bytes) : memory(bytes) {}
  Block block() { return {memory.data(), memory.size(), DType::uint8}; }
  std::vector<std::byte> memory;
};

std::byte pattern(int rank, std::size_t i) {
  return static_cast<std::byte>((i * 31 + i / 256 + static_cast<std::size_t>(rank) * 7) % 251);
}

std::size_t count_wrong(Block block, int rank) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < block.count; ++i) wrong += block.data[i] != pattern(rank, i);
  return wrong;
}

void fill(Block block, int rank) {
  for (std::size_t i = 0; i < block.count; ++i) block.data[i] = pattern(rank, i);
}

class SendFirst : public ::testing::TestWithParam<std::size_t> {};

TEST_P(SendFirst, TwoRanksThatBothSendFirstFromSharedMemoryExchangeTheirBlocks) {
  ForkWorld world(2);
  const Block out[] = {world.allocate_block(GetParam(), DType::uint8),
                       world.allocate_block(GetParam(), DType::uint8)};
  const Block in[] = {world.allocate_block(GetParam(), DType::uint8),
                      world.allocate_block(GetParam(), DType::uint8)};
  world.run([&](Rank& rank) {
    const int me = rank.index(), peer = 1 - me;
    Channel& channel = rank.channel();
    fill(out[me], me);
    const Request sent = channel.isend(peer, out[me]);
    const Request received = channel.irecv(peer, in[me]);
    channel.wait(sent);  // Cannot end before the peer receives, which it does in the same wait.
    channel.wait(received);
  });
  EXPECT_EQ(count_wrong(in[0], 1), 0U);
  EXPECT_EQ(count_wrong(in[1], 0), 0U);
}

TEST_P(SendFirst, TwoRanksThatBothSendFirstFromPrivateMemoryExchangeTheirBlocks) {
  ForkWorld world(2);
  const Block wrong = world.allocate_block(2, DType::int64);
  world.run([&](Rank& rank) {
    const int me = rank.index(), peer = 1 - me;
    PrivateBlock out(GetParam()), in(GetParam());
    fill(out.block(), me);
    Channel& channel = rank.channel();
    const Request sent = channel.isend(peer, out.block());
    const Request received = channel.irecv(peer, in.block());
    channel.wait(sent);
    channel.wait(received);
    as<std::int64_t>(wrong)[me] = 1 + static_cast<std::int64_t>(count_wrong(in.block(), peer));
  });
  EXPECT_EQ(as<std::int64_t>(wrong)[0], 1);
  EXPECT_EQ(as<std::int64_t>(wrong)[1], 1);
}

INSTANTIATE_TEST_SUITE_P(Bytes, SendFirst,
                         ::testing::Values(1, 24, 25, 4096, Slot::capacity_bytes - 1,
                                           Slot::capacity_bytes, Slot::capacity_bytes + 1, 65536,
                                           Queue::capacity* Slot::capacity_bytes + 1, 1000003,
                                           8 << 20));

TEST(ForkWorld, ManyMessagesPostedAtOnceArriveInOrder) {
  constexpr int messages = 100;  // Many more than a queue holds.
  ForkWorld world(2);
  const Block out = world.allocate_block(messages * 5000, DType::int32);
  const Block in = world.allocate_block(messages * 5000, DType::int32);
  for (std::size_t i = 0; i < out.count; ++i) as<std::int32_t>(out)[i] = static_cast<int>(i);
  world.run([&](Rank& rank) {
    std::vector<Request> requests;
    for (std::size_t i = 0; i < messages; ++i) {
      // Copied, in segments or in place by turns.
      const std::size_t count = i % 3 == 0 ? 10 : 5000;
      requests.push_back(rank.index() == 0 ? rank.channel().isend(1, out.slice(i * 5000, count))
                                           : rank.channel().irecv(0, in.slice(i * 5000, count)));
    }
    for (const Request request : requests) rank.channel().wait(request);
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < messages * 5000; ++i) {
    const bool is_sent = i / 5000 % 3 != 0 || i % 5000 < 10;
    wrong += as<std::int32_t>(in)[i] != (is_sent ? static_cast<int>(i) : 0);
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(ForkWorld, ASegmentedMessageIsReducedElementByElementInEveryDtype) {
  for (const DType dtype : all_dtypes()) {
    ForkWorld world(2);
    const std::size_t count = 3 * Slot::capacity_bytes / bytes_of(dtype) + 1;
    const Block result = world.allocate_block(count, dtype);
    world.run([&](Rank& rank) {
      std::vector<std::byte> zeros(count * bytes_of(dtype));
      if (rank.index() == 0) rank.channel().send(1, {zeros.data(), count, dtype});
      if (rank.index() == 1) rank.channel().recv(0, result, Op::sum);
    });
    for (std::size_t i = 0; i < result.bytes(); ++i) ASSERT_EQ(result.data[i], std::byte{0});
  }
}

TEST(ForkWorld, GhostsTravelAsASizeOnly) {
  ForkWorld world(2);
  world.run([](Rank& rank) {
    const Block ghost{nullptr, std::size_t{1} << 40, DType::float32};
    if (rank.index() == 0) rank.channel().send(1, ghost);
    if (rank.index() == 1) rank.channel().recv(0, ghost, Op::sum);
  });
}

TEST(ForkWorld, EightRanksOnFewCoresSumInManyRounds) {
  constexpr int ranks = 8, rounds = 200;
  ForkWorld world(ranks);
  std::vector<Block> data;
  for (int i = 0; i < ranks; ++i) data.push_back(world.allocate_block(1001, DType::int64));
  world.run([&](Rank& rank) {
    const Block mine = data[static_cast<std::size_t>(rank.index())];
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < mine.count; ++i) {
        as<std::int64_t>(mine)[i] = static_cast<std::int64_t>(i) + rank.index() + round;
      }
      allreduce_ring(rank.channel(), mine, Op::sum);
      for (std::size_t i = 0; i < mine.count; ++i) {
        const std::int64_t expected = ranks * (static_cast<std::int64_t>(i) + round) + 28;
        check(as<std::int64_t>(mine)[i] == expected, "round {}, element {}: {} instead of {}",
              round, i, as<std::int64_t>(mine)[i], expected);
      }
    }
  });
}

TEST(ForkWorld, SpawnedTasksUseTheirLanesAtTheSameTimeAsTheProgram) {
  constexpr int ranks = 3, lanes = 3;
  ForkWorld world(ranks, {.lanes = lanes});
  std::vector<Block> data;
  for (int i = 0; i < ranks * lanes; ++i) data.push_back(world.allocate_block(30000, DType::int32));
  world.run([&](Rank& rank) {
    // The tasks outlive the program's own variables.
    const auto sum_on = [&rank, &data](int lane) {
      const Block mine = data[static_cast<std::size_t>(rank.index() * lanes + lane)];
      for (std::size_t i = 0; i < mine.count; ++i) as<std::int32_t>(mine)[i] = lane + 1;
      for (int round = 0; round < 5; ++round) allreduce_ring(rank.channel(lane), mine, Op::sum);
    };
    for (int lane = 1; lane < lanes; ++lane) rank.spawn([sum_on, lane] { sum_on(lane); });
    sum_on(0);
  });
  for (int i = 0; i < ranks * lanes; ++i) {
    const Block block = data[static_cast<std::size_t>(i)];
    EXPECT_EQ(as<std::int32_t>(block)[0], 243 * (i % lanes + 1)) << i;
    EXPECT_EQ(as<std::int32_t>(block)[29999], 243 * (i % lanes + 1)) << i;
  }
}

TEST(ForkWorld, AFailureOfASpawnedTaskIsTheRanksFailure) {
  ForkWorld world(2, {.lanes = 2});
  try {
    world.run([](Rank& rank) {
      rank.spawn([&rank] {
        if (rank.index() == 1) throw Error(ErrorKind::usage, "the task of rank 1", 1);
      });
      if (rank.index() == 0) rank.channel().recv(1, Block{nullptr, 1, DType::int8});
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_STREQ(error.what(), "the task of rank 1");
  }
}

TEST(ForkWorld, AWorldRunsSeveralProgramsAlsoAfterAFailedOne) {
  ForkWorld world(3);
  const Block data = world.allocate_block(3, DType::int32);
  const auto count_up = [&](Rank& rank) {
    as<std::int32_t>(data)[rank.index()] += 1;
    Block ghost{nullptr, 10, DType::float32};
    broadcast_linear(rank.channel(), ghost, 1);
  };
  world.run(count_up);
  EXPECT_THROW(world.run([](Rank& rank) {
    rank.channel().isend((rank.index() + 1) % 3, Block{nullptr, 5, DType::int8});
    throw Error(ErrorKind::usage, "on purpose", rank.index());
  }),
               Error);
  world.run(count_up);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(as<std::int32_t>(data)[i], 2);
}

TEST(ForkWorld, ContractErrorsAndOtherExceptionsKeepTheirNature) {
  ForkWorld world(2);
  EXPECT_THROW(world.run([](Rank& rank) { rank.channel(7); }), ContractError);
  try {
    world.run([](Rank& rank) {
      if (rank.index() == 1) throw std::runtime_error("out of paper");
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_STREQ(error.what(), "rank 1: out of paper");
  }
}

TEST(ForkWorld, AllocatedMemoryIsZeroedAlignedAndApartFromOtherBlocks) {
  ForkWorld world(1);
  std::byte* const nothing = world.allocate(0);
  std::byte* const small = world.allocate(1);
  std::byte* const large = world.allocate(std::size_t{10} << 20);
  ASSERT_NE(nothing, nullptr);
  EXPECT_NE(nothing, small);
  for (const std::byte* data : {nothing, small, large}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 128, 0U);
  }
  for (std::size_t i = 0; i < std::size_t{10} << 20; i += 1000) ASSERT_EQ(large[i], std::byte{0});
}

TEST(ForkWorld, MemoryThatTheMachineDoesNotHaveIsRefusedWithItsSize) {
  ForkWorld world(1);
  try {
    world.allocate(std::size_t{1} << 62);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    EXPECT_THAT(error.what(), HasSubstr("cannot share 4611686018427387904 bytes"));
  }
}

TEST(ForkWorld, MemoryAskedForInsideARunIsRefused) {
  ForkWorld world(2);
  EXPECT_THROW(world.run([&](Rank&) { world.allocate(1); }), ContractError);
  EXPECT_NE(world.allocate(1), nullptr);
}

TEST(ForkWorld, ARunOfOneRankWorks) {
  ForkWorld world(1);
  const Block data = world.allocate_block(1, DType::int32);
  world.run([&](Rank& rank) {
    as<std::int32_t>(data)[0] = 1;
    allreduce_ring(rank.channel(), data, Op::sum);
  });
  EXPECT_EQ(as<std::int32_t>(data)[0], 1);
}

TEST(Cores, TheQuotaIsTheSmallestOfAllGroupsAbove) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / fmt::format("tutti-cores-{}", getpid());
  const auto write = [&](const fs::path& file, const char* text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  };
  write("v2/a/cpu.max", "150000 100000\n");
  write("v2/a/b/cpu.max", "max 100000\n");
  write("v1/cpu/x/cpu.cfs_quota_us", "400000\n");
  write("v1/cpu/x/cpu.cfs_period_us", "100000\n");
  write("v1/cpu/x/y/cpu.cfs_quota_us", "-1\n");
  write("v1/cpu/x/y/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_cores("0::/a/b\n", root / "v2"), 1.5);
  EXPECT_EQ(quota_cores("0::/elsewhere\n", root / "v2"), std::nullopt);
  EXPECT_EQ(quota_cores("4:memory:/x\n3:cpu:/x/y\n", root / "v1"), 4.0);
  EXPECT_EQ(quota_cores("no group at all", root / "v1"), std::nullopt);
  fs::remove_all(root);
}

TEST(Cores, ThereIsAtLeastOneAndNoMoreThanTheAffinityMaskAllows) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace tutti
