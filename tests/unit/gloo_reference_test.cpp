#include "exec/gloo_reference.hpp"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "collectives/ring.hpp"
#include "collectives/run.hpp"
#include "exec/clock.hpp"
#include "exec/fork_world.hpp"

namespace tutti {
namespace {

constexpr std::uint64_t seed = 20240117;

// One block per rank.
std::vector<Block> blocks(ForkWorld& world, std::size_t count, DType dtype) {
  std::vector<Block> result;
  for (int rank = 0; rank < world.size(); ++rank) {
    result.push_back(world.allocate_block(count, dtype));
  }
  return result;
}

void fill_random(const std::vector<Block>& data, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0.0F, 1e3F);
  for (const Block block : data) {
    auto* const values = reinterpret_cast<float*>(block.data);
    for (std::size_t i = 0; i < block.count; ++i) values[i] = normal(random);
  }
}

void copy(const std::vector<Block>& to, const std::vector<Block>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (!to[i].is_empty()) std::memcpy(to[i].data, from[i].data, to[i].bytes());
  }
}

bool is_same(Block a, Block b) {
  return a.count == b.count && (a.is_empty() || std::memcmp(a.data, b.data, a.bytes()) == 0);
}

bool has_result(const GlooCase& gloo_case, int rank) {
  const Collective collective = gloo_case.collective;
  const bool is_at_root = collective == Collective::reduce || collective == Collective::gather;
  return collective != Collective::barrier && (!is_at_root || rank == gloo_case.root);
}

bool is_part_the_result(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::scatter;
}

class Gloo : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!gloo_available()) GTEST_SKIP() << "this build has no gloo";
    std::cout << "seed " << seed << '\n';
  }
};

TEST_P(Gloo, TheRingInGloosOrderGivesTheSameBitsAsGloosAllreduceOnRandomFloats) {
  const int ranks = GetParam();
  ForkWorld world(ranks);
  std::mt19937_64 random(seed);
  std::vector<std::vector<Block>> ours;
  std::vector<GlooCase> cases;
  for (const std::size_t count : {0, 1, 3, 10, 1000, 4099, 300007, 3000001}) {
    ours.push_back(blocks(world, count, DType::float32));
    fill_random(ours.back(), random);
    GlooCase gloo_case;
    gloo_case.data = blocks(world, count, DType::float32);
    copy(gloo_case.data, ours.back());
    cases.push_back(gloo_case);
  }
  run_gloo(ranks, cases);
  world.run([&](Rank& rank) {
    for (const auto& data : ours) {
      allreduce_ring(rank.channel(), data[static_cast<std::size_t>(rank.index())], Op::sum,
                     gloo_ring_order);
    }
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (std::size_t rank = 0; rank < ours[i].size(); ++rank) {
      EXPECT_TRUE(is_same(ours[i][rank], cases[i].data[rank]))
          << "count " << ours[i][rank].count << ", rank " << rank;
    }
  }
}

TEST_P(Gloo, AllCollectivesAgreeWithOursOnIntegerValuedDataOfEveryDtypeAndOp) {
  const int ranks = GetParam();
  ForkWorld world(ranks);
  std::vector<std::vector<Block>> ours;
  std::vector<GlooCase> cases;
  for (const Collective collective : all_collectives()) {
    for (const DType dtype : all_dtypes()) {
      if (!gloo_supports(dtype)) continue;
      for (const Op op : {Op::sum, Op::max, Op::min}) {
        for (std::size_t count : {std::size_t{1}, std::size_t{37}, std::size_t{4096}}) {
          // Only an alltoall of equal parts needs no counts.
          const auto size = static_cast<std::size_t>(ranks);
          if (collective == Collective::alltoall) count = (count + size - 1) / size * size;
          const auto source = blocks(world, count, DType::float32);
          ours.push_back(blocks(world, count, dtype));
          for (std::size_t rank = 0; rank < source.size(); ++rank) {
            for (std::size_t i = 0; i < count; ++i) {
              // Small, so that the sum of eight fits into an int8 and an exact float16.
              const auto value = (i * 7 + rank * 5) % 15;
              std::byte* const to = ours.back()[rank].data + i * bytes_of(dtype);
              const auto number = static_cast<float>(value);
              if (dtype == DType::float32) std::memcpy(to, &number, sizeof(number));
              const auto wide = static_cast<double>(value);
              if (dtype == DType::float64) std::memcpy(to, &wide, sizeof(wide));
              // The float16 of a small integer, by its definition.
              std::uint16_t half = 0;
              if (value > 0) {
                const int exponent = std::ilogb(number);
                half = static_cast<std::uint16_t>((exponent + 15) << 10 |
                                                  ((value << (10 - exponent)) & 0x3ff));
              }
              if (dtype == DType::float16) std::memcpy(to, &half, sizeof(half));
              if (!is_floating(dtype)) std::memcpy(to, &value, bytes_of(dtype));
            }
          }
          GlooCase gloo_case{collective, op, ranks - 1, blocks(world, count, dtype)};
          copy(gloo_case.data, ours.back());
          cases.push_back(gloo_case);
        }
      }
    }
  }
  run_gloo(ranks, cases);
  world.run([&](Rank& rank) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      run(*algorithms_of(cases[i].collective).front(), rank.channel(),
          ours[i][static_cast<std::size_t>(rank.index())], cases[i].op, cases[i].root);
    }
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      Block own = ours[i][static_cast<std::size_t>(rank)];
      Block gloos = cases[i].data[static_cast<std::size_t>(rank)];
      if (!has_result(cases[i], rank)) continue;
      if (is_part_the_result(cases[i].collective)) {
        own = own.part(rank, ranks);
        gloos = gloos.part(rank, ranks);
      }
      EXPECT_TRUE(is_same(own, gloos))
          << name_of(cases[i].collective) << ' ' << name_of(cases[i].op) << ' '
          << name_of(own.dtype) << ", count " << cases[i].data[0].count << ", rank " << rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gloo, ::testing::Values(2, 3, 4, 8));

class GlooReference : public Gloo {};

TEST_P(GlooReference, ATimedCaseGivesOnePositiveTimePerIterationAndTheResultOfOne) {
  ForkWorld world(2);
  const GlooCase gloo_case{Collective::allreduce, Op::sum, 0, blocks(world, 10, DType::int32)};
  for (const Block block : gloo_case.data) *reinterpret_cast<std::int32_t*>(block.data) = 21;
  const std::vector<double> seconds = time_gloo(2, gloo_case, 2, 5);
  ASSERT_EQ(seconds.size(), 5U);
  for (const double time : seconds) EXPECT_GT(time, 0.0);
  EXPECT_EQ(*reinterpret_cast<std::int32_t*>(gloo_case.data[1].data), 42);
}

TEST_P(GlooReference, WhatGlooCannotDoIsAUsageError) {
  ForkWorld world(2);
  EXPECT_THROW(
      run_gloo(2, {{Collective::allreduce, Op::average, 0, blocks(world, 1, DType::float32)}}),
      Error);
  EXPECT_THROW(
      run_gloo(2, {{Collective::allreduce, Op::sum, 0, blocks(world, 1, DType::bfloat16)}}), Error);
  EXPECT_THROW(run_gloo(2, {{Collective::alltoall, Op::sum, 0, blocks(world, 3, DType::float32)}}),
               Error);
}

TEST_P(GlooReference, TheCallerLoadsNoTorchGetsNoThreadAndKeepsNoChild) {
  ForkWorld world(2);
  run_gloo(2, {{Collective::allreduce, Op::sum, 0, blocks(world, 100, DType::float32)}});
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("libtorch")));
  const auto threads = std::filesystem::directory_iterator("/proc/self/task");
  EXPECT_EQ(std::distance(begin(threads), end(threads)), 1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// The children of a process, oldest first.
std::vector<pid_t> children_of(pid_t process) {
  std::ifstream list(fmt::format("/proc/{0}/task/{0}/children", process));
  return {std::istream_iterator<pid_t>(list), {}};
}

// Runs gloo for ever in a process of its own, stops the processes that `choose` picks among its
// loader and ranks, and returns what run_gloo() threw. Must end in `timeout_seconds` plus 1.
template <typename Choose>
std::string error_when_stopped(const Choose& choose) {
  constexpr double timeout_seconds = 1.0;
  SharedArena arena;
  auto* const message = reinterpret_cast<char*>(arena.allocate(4096));
  const pid_t caller = fork();
  if (caller == 0) {
    ForkWorld world(2);
    const GlooCase gloo_case{Collective::allreduce, Op::sum, 0,
                             blocks(world, 1 << 20, DType::float32)};
    const std::vector<GlooCase> cases(10'000, gloo_case);
    try {
      run_gloo(2, cases, timeout_seconds);
    } catch (const Error& error) {
      std::strncpy(message, error.what(), 4095);
    }
    _exit(0);
  }
  std::vector<pid_t> processes;
  while (processes.size() < 3) {
    usleep(10'000);
    processes = children_of(caller);
    if (processes.empty()) continue;
    for (const pid_t rank : children_of(processes.front())) processes.push_back(rank);
  }
  usleep(300'000);  // For the ranks to meet.
  const double start_seconds = monotonic_seconds();
  for (const pid_t process : choose(processes)) kill(process, SIGSTOP);
  EXPECT_EQ(waitpid(caller, nullptr, 0), caller);
  EXPECT_LT(monotonic_seconds() - start_seconds, timeout_seconds + 1.0);
  std::cout << "  " << message << '\n';
  return message;
}

TEST_P(GlooReference, AStoppedRankIsNamedInTime) {
  const std::string error = error_when_stopped(
      [](const std::vector<pid_t>& processes) { return std::vector{processes[2]}; });
  EXPECT_THAT(error, ::testing::AllOf(::testing::StartsWith("gloo: "),
                                      ::testing::ContainsRegex("rank 1 (was|has been) stopped")));
}

TEST_P(GlooReference, AStoppedLoaderIsNamedInTime) {
  const std::string error = error_when_stopped(
      [](const std::vector<pid_t>& processes) { return std::vector{processes[0]}; });
  EXPECT_THAT(error, ::testing::ContainsRegex(
                         "the process that loads gloo, .*: rank 0 has been stopped for 1\\."));
}

INSTANTIATE_TEST_SUITE_P(Two, GlooReference, ::testing::Values(2));

}  // namespace
}  // namespace tutti
