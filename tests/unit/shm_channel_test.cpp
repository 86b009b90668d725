#include "exec/shm_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "collectives/ring.hpp"

namespace tutti {
namespace {

// Ranks as threads of this process, so that ThreadSanitizer sees all of them.
void run_threads(int size, Patience patience, const std::function<void(Channel&)>& program,
                 const SharedArena& arena) {
  const Board board(size, 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ShmChannel channel(rank, 0, board, arena, {.timeout_seconds = 60.0, .patience = patience});
      program(channel);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class ShmChannelThreads : public ::testing::TestWithParam<Patience> {};

TEST_P(ShmChannelThreads, SumThroughSlotsSegmentsAndInPlaceInManyRounds) {
  constexpr int size = 3, rounds = 60;
  SharedArena arena;
  for (const std::size_t count : {std::size_t{5}, std::size_t{3000}, std::size_t{70000}}) {
    for (const bool in_arena : {false, true}) {
      std::vector<std::vector<std::byte>> memory(size);
      std::vector<Block> data;
      for (auto& bytes : memory) {
        bytes.resize(count * 4);
        data.push_back({in_arena ? arena.allocate(count * 4) : bytes.data(), count, DType::int32});
      }
      std::vector<std::size_t> wrong(size);
      run_threads(
          size, GetParam(),
          [&](Channel& channel) {
            const auto rank = static_cast<std::size_t>(channel.rank());
            auto* const values = reinterpret_cast<std::int32_t*>(data[rank].data);
            for (int round = 0; round < rounds; ++round) {
              for (std::size_t i = 0; i < count; ++i) {
                values[i] = static_cast<std::int32_t>(i + rank) + round;
              }
              allreduce_ring(channel, data[rank], Op::sum);
              for (std::size_t i = 0; i < count; ++i) {
                wrong[rank] += values[i] != 3 * (static_cast<std::int32_t>(i) + round) + 3;
              }
            }
          },
          arena);
      EXPECT_EQ(wrong, std::vector<std::size_t>(size, 0)) << count << ' ' << in_arena;
    }
  }
}

// Without patience every wait sleeps: what is tested is that no wake-up gets lost.
INSTANTIATE_TEST_SUITE_P(Patience, ShmChannelThreads,
                         ::testing::Values(Patience{0, 0}, Patience{1, 0}, Patience{20, 20}));

TEST(ShmChannel, AWaitCountsFromBeforeItsFirstLook) {
  SharedArena arena;
  const Board board(2, 1);
  // A receiver whose looks take longer than its timeout.
  ShmChannel receiver(1, 0, board, arena,
                      {.timeout_seconds = 0.01, .patience = {.polls = 3'000'000, .yields = 0}});
  const double start_seconds = receiver.now();
  try {
    receiver.recv(0, Block{nullptr, 1, DType::uint8});
    FAIL() << "no error";
  } catch (const Error& error) {
    const double elapsed_seconds = receiver.now() - start_seconds;
    double waited_seconds = 0.0;
    ASSERT_EQ(std::sscanf(std::strstr(error.what(), "waited "), "waited %lf", &waited_seconds), 1);
    // More than a fifth of a second in one piece is taken for a time in which it was stopped.
    EXPECT_GE(waited_seconds, std::min(0.2, 0.6 * elapsed_seconds));
  }
}

TEST(YieldBudget, ALongYieldEndsTheYieldsOfThisWaitAndOfTheNextOnes) {
  YieldBudget budget;
  ASSERT_TRUE(budget.may_yield());
  EXPECT_TRUE(budget.may_go_on(1e-6));
  EXPECT_FALSE(budget.may_go_on(4e-3));
  EXPECT_FALSE(budget.may_yield());
}

TEST(YieldBudget, LongYieldsInARowMakeMoreAndMoreWaitsSkipUpToABound) {
  const auto waits_until_next = [](YieldBudget& budget) {
    int waits = 1;
    for (; !budget.may_yield(); ++waits) EXPECT_LT(waits, 10'000);
    return waits;
  };
  YieldBudget budget;
  std::vector<int> waits;
  for (int i = 0; i < 20; ++i) {
    budget.may_go_on(4e-3);
    waits.push_back(waits_until_next(budget));
  }
  EXPECT_GT(waits[1], waits[0]);
  EXPECT_EQ(waits[19], waits[18]);
  // Quiet waits let it recover.
  for (int i = 0; i < 20; ++i) budget.recover();
  budget.may_go_on(4e-3);
  EXPECT_EQ(waits_until_next(budget), waits[0]);
}

TEST(ShmChannel, AnErrorNamesTheAmountOfASegmentedMessageThatHasArrived) {
  SharedArena arena;
  std::string text;
  const Board board(2, 1);
  ShmChannel sender(0, 0, board, arena, {.timeout_seconds = 0.05, .patience = {}});
  ShmChannel receiver(1, 0, board, arena, {.timeout_seconds = 0.05, .patience = {}});
  std::vector<std::byte> out(1 << 20), in(1 << 20);
  sender.isend(1, {out.data(), out.size(), DType::uint8});
  try {
    receiver.recv(0, {in.data(), in.size(), DType::uint8});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timeout);
    text = error.what();
  }
  const std::size_t queued_bytes = Queue::capacity * Slot::capacity_bytes;
  EXPECT_NE(text.find(fmt::format("received {}", queued_bytes)), std::string::npos) << text;
}

}  // namespace
}  // namespace tutti
