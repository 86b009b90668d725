#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collectives/linear.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"
#include "exec/clock.hpp"
#include "exec/faults.hpp"
#include "exec/fork_world.hpp"
#include "exec/launcher.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Without those of MPI, whose tests may run at the same time.
std::set<std::string> shared_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("vader_segment.") && !name.starts_with("mpich")) names.insert(name);
  }
  return names;
}

// Every fault must end in time, in an Error, without children, zombies or files left.
class ForkFaults : public ::testing::Test {
 protected:
  static constexpr double timeout_seconds = 1.0;

  // A wait of `timeout_seconds`, the grace of the others and the promised second.
  static constexpr double longest_seconds = timeout_seconds + 1.0;

  Error failure_of(World& world, const Program& program) {
    const double start_seconds = monotonic_seconds();
    Error result(ErrorKind::system, "the run did not fail");
    try {
      world.run(program);
    } catch (const Error& error) {
      result = error;
    }
    EXPECT_LT(monotonic_seconds() - start_seconds, longest_seconds) << result.what();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(shared_files(), files_);
    std::cout << "  " << result.what() << '\n';
    return result;
  }

  // Allreduce again and again, of `count` floats.
  static Program allreduce_for_ever(World& world, std::size_t count) {
    std::vector<Block> data;
    for (int i = 0; i < world.size(); ++i) {
      data.push_back(world.allocate_block(count, DType::float32));
    }
    return [data](Rank& rank) {
      for (;;) {
        allreduce_ring(rank.channel(), data[static_cast<std::size_t>(rank.index())], Op::sum);
      }
    };
  }

  std::set<std::string> files_ = shared_files();
};

TEST_F(ForkFaults, ARankThatNeverSendsIsNamedWithStepAndBytes) {
  ForkWorld world(2, {.timeout_seconds = timeout_seconds});
  const Block data = world.allocate_block(1000, DType::float32);
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    allreduce_ring(rank.channel(), data, Op::sum);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_EQ(error.rank(), 0);
  EXPECT_THAT(error.what(),
              ContainsRegex("allreduce_ring: rank 0 waited 1\\.[0-9]* s for 2000 bytes from rank 1 "
                            "at step 1 of 2, received 0; rank 1 does not wait"));
}

TEST_F(ForkFaults, ATimeoutNamesTheRankAtTheEndOfTheChainOfWaits) {
  ForkWorld world(4, {.timeout_seconds = timeout_seconds});
  const Program program = allreduce_for_ever(world, 100000);
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 2) std::this_thread::sleep_for(std::chrono::hours(1));
    program(rank);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("rank 2 does not wait: it is busy or stopped"));
}

TEST_F(ForkFaults, ADeadlineOfTheChannelEndsAWaitBeforeTheWorldsTimeout) {
  ForkWorld world(2, {.timeout_seconds = 3600.0});
  const Error error = failure_of(world, [&](Rank& rank) {
    rank.channel().set_deadline(rank.channel().now() + 0.1);
    if (rank.index() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    rank.channel().recv(1, Block{nullptr, 1, DType::int8});
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
}

TEST_F(ForkFaults, ASenderWhoseMessageIsNotTakenTimesOut) {
  ForkWorld world(2, {.timeout_seconds = timeout_seconds});
  const Block data = world.allocate_block(1 << 20, DType::int8);
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    rank.channel().send(1, data);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("to send 1048576 bytes to rank 1"));
}

TEST_F(ForkFaults, ARankKilledInMidCollectiveByAFaultIsNamedWithItsSignalAndTheSurvivorsSteps) {
  ForkWorld world(4, {.timeout_seconds = timeout_seconds});
  const Program program = allreduce_for_ever(world, 4096);
  const Error error = failure_of(world, [&](Rank& rank) {
    Block data{nullptr, 4096, DType::float32};
    Faulty channel(
        rank.channel(),
        rank.index() == 2 ? std::vector<Fault>{{Fault::Kind::kill, 3}} : std::vector<Fault>{},
        act_on_process);
    for (;;) allreduce_ring(channel, data, Op::sum);
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
  EXPECT_EQ(error.rank(), 2);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("rank 2 was killed by signal 9 (Killed) in allreduce_ring of 4096 "
                              "float32, sum (call #1)"),
                    ContainsRegex("rank 3 was waiting for 4096 bytes from rank 2 at step [0-9] of "
                                  "6 of call #1 \\(received 0\\) when rank 2 was killed")));
}

TEST_F(ForkFaults, ARankKilledAtAnyMomentIsNamed) {
  for (int trial = 0; trial < 10; ++trial) {
    ForkWorld world(4, {.timeout_seconds = timeout_seconds});
    const Program program = allreduce_for_ever(world, trial % 2 == 0 ? 100 : 300000);
    const Error error = failure_of(world, [&](Rank& rank) {
      if (rank.index() == 1) {
        // From a thread of its own, so that it comes anywhere in the collective.
        const pid_t victim = getpid();
        rank.spawn([victim, trial] {
          std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * trial));
          kill(victim, SIGKILL);
        });
      }
      program(rank);
    });
    EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
    EXPECT_EQ(error.rank(), 1);
    EXPECT_THAT(error.what(), HasSubstr("rank 1 was killed by signal 9"));
  }
}

TEST_F(ForkFaults, ARankStoppedInMidCollectiveMakesTheOthersTimeOutAndIsNamed) {
  ForkWorld world(3, {.timeout_seconds = timeout_seconds});
  const Program program = allreduce_for_ever(world, 1000);
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 1) {
      rank.spawn([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        kill(getpid(), SIGSTOP);
      });
    }
    program(rank);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("; rank 1 was stopped"));
}

TEST_F(ForkFaults, RanksThatAreAllStoppedAreNamedAndKilled) {
  for (const int ranks : {1, 3}) {
    ForkWorld world(ranks, {.timeout_seconds = timeout_seconds});
    const Error error = failure_of(world, [](Rank&) { raise(SIGSTOP); });
    EXPECT_EQ(error.kind(), ErrorKind::timeout);
    EXPECT_THAT(error.what(), ContainsRegex("^rank [0-2] has been stopped for 1\\.[0-9]* s"));
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_THAT(error.what(), ContainsRegex(fmt::format("rank {} (was|has been) stopped", rank)));
    }
  }
}

TEST_F(ForkFaults, StopsThatEndInTimeDisturbNobodyHoweverLongTogether) {
  ForkWorld world(1, {.timeout_seconds = timeout_seconds});
  world.run([](Rank&) {
    const pid_t victim = getpid();
    for (int stop = 0; stop < 3; ++stop) {
      const pid_t waker = fork();
      if (waker == 0) {
        usleep(timeout_seconds * 0.5e6);
        kill(victim, SIGCONT);
        _exit(0);
      }
      raise(SIGSTOP);
      waitpid(waker, nullptr, 0);
      usleep(timeout_seconds * 0.4e6);  // Long enough to be seen running.
    }
  });
}

// As Ctrl-Z and fg do.
TEST_F(ForkFaults, TheTimeInWhichAllProcessesAreStoppedDoesNotCount) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    setpgid(0, 0);
    ForkWorld world(2, {.timeout_seconds = timeout_seconds});
    try {
      world.run([](Rank& rank) {
        const Block ghost{nullptr, 1, DType::int8};
        if (rank.index() == 1) return rank.channel().recv(0, ghost);
        usleep(timeout_seconds * 0.6e6);
        rank.channel().send(1, ghost);
      });
    } catch (const Error& error) {
      std::cout << "  " << error.what() << std::endl;
      _exit(1);
    }
    _exit(0);
  }
  setpgid(launcher, launcher);
  usleep(timeout_seconds * 0.3e6);
  kill(-launcher, SIGSTOP);
  usleep(timeout_seconds * 2e6);
  kill(-launcher, SIGCONT);
  int status = 0;
  ASSERT_EQ(waitpid(launcher, &status, 0), launcher);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ForkFaults, ALauncherThatCannotWatchSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need descriptors of their own to look at memory";
#endif
  const Board board(2, 1);
  Launcher launcher(board);
  launcher.start([](int) {
    sleep(3600);
    return 0;
  });
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // poll() refuses more descriptors than a process may have.
  const rlimit none{1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THROW(launcher.watch(timeout_seconds), Error);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(ForkFaults, AStoppedRankMakesTheOthersTimeOutAndIsKilled) {
  ForkWorld world(3, {.timeout_seconds = timeout_seconds});
  const Program program = allreduce_for_ever(world, 1000);
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 1) raise(SIGSTOP);
    program(rank);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("rank 1 does not wait: it is busy or stopped"));
}

TEST_F(ForkFaults, ARankThatStallsInMidCollectiveMakesTheOthersTimeOut) {
  ForkWorld world(3, {.timeout_seconds = timeout_seconds});
  const Error error = failure_of(world, [&](Rank& rank) {
    Faulty channel(
        rank.channel(),
        rank.index() == 0 ? std::vector<Fault>{{Fault::Kind::stall, 2}} : std::vector<Fault>{},
        act_on_process);
    for (;;) allreduce_ring(channel, Block{nullptr, 30, DType::int8}, Op::sum);
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("rank 0 does not wait"));
}

TEST_F(ForkFaults, ARankThatExitsByItselfIsNamedWithItsCode) {
  ForkWorld world(2, {.timeout_seconds = timeout_seconds});
  const Error error = failure_of(world, [&](Rank& rank) {
    if (rank.index() == 0) _exit(86);
    rank.channel().recv(0, Block{nullptr, 1, DType::int8});
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
  EXPECT_EQ(error.rank(), 0);
  EXPECT_THAT(error.what(), HasSubstr("rank 0 ended by itself with exit code 86"));
}

TEST_F(ForkFaults, ARankWithOneCallMoreThanTheOthersLearnsThatTheyHaveLeftAtOnce) {
  ForkWorld world(2, {.timeout_seconds = 3600.0});
  const Block data[] = {world.allocate_block(100, DType::float32),
                        world.allocate_block(100, DType::float32)};
  const Error error = failure_of(world, [&](Rank& rank) {
    for (int call = 0; call < 10 + rank.index(); ++call) {
      allreduce_ring(rank.channel(), data[rank.index()], Op::sum);
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
  EXPECT_EQ(error.rank(), 1);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("allreduce_ring: rank 1 was waiting for 200 bytes from "
                                            "rank 0 at step 1 of 2 of call #11"),
                                  HasSubstr("but rank 0 left after call #10")));
}

TEST_F(ForkFaults, ARankThatLeavesRightAfterTheCollectiveDisturbsNobody) {
  for (const std::size_t count : {std::size_t{100}, std::size_t{1} << 20}) {
    ForkWorld world(4);
    std::vector<Block> data;
    for (int i = 0; i < 4; ++i) data.push_back(world.allocate_block(count, DType::int32));
    world.run([&](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      std::fill_n(reinterpret_cast<std::int32_t*>(mine.data), count, rank.index() + 1);
      Faulty channel(rank.channel(),
                     rank.index() == 3 ? std::vector<Fault>{{Fault::Kind::delay, 11, 0.2}}
                                       : std::vector<Fault>{},
                     act_on_process);
      allreduce_ring(channel, mine, Op::sum);
    });
    for (const Block block : data) {
      EXPECT_EQ(reinterpret_cast<std::int32_t*>(block.data)[count - 1], 10);
    }
  }
}

TEST_F(ForkFaults, MismatchedSizesAreAnErrorThatNamesBothAndChangesNoData) {
  ForkWorld world(4, {.timeout_seconds = 3600.0});
  std::vector<Block> data;
  for (int i = 0; i < 4; ++i) {
    data.push_back(world.allocate_block(i == 0 ? 256000 : 512000, DType::float32));
    std::fill_n(reinterpret_cast<float*>(data.back().data), data.back().count, 1.0F);
  }
  const Error error = failure_of(world, [&](Rank& rank) {
    allreduce_ring(rank.channel(), data[static_cast<std::size_t>(rank.index())], Op::sum);
  });
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("rank 0"), HasSubstr("allreduce_ring of 256000 float32, sum"),
                    HasSubstr("allreduce_ring of 512000 float32, sum")));
  for (std::size_t i = 0; i < data[0].count; ++i) {
    ASSERT_EQ(reinterpret_cast<float*>(data[0].data)[i], 1.0F);
  }
}

using Broadcast = void (*)(Channel&, Block, int root);

struct RootCase {
  Broadcast broadcast;
  int ranks;
  std::size_t count;
};

class MismatchedRoots : public ForkFaults, public ::testing::WithParamInterface<RootCase> {};

TEST_P(MismatchedRoots, AreAnErrorThatNamesBothRoots) {
  const auto [broadcast, ranks, count] = GetParam();
  // Rank 0 thinks that `first` is the root, the others `other`: all send, or all wait, or mixed.
  for (const auto& [first, other] : {std::pair{0, 1}, std::pair{1, 0}}) {
    ForkWorld world(ranks, {.timeout_seconds = timeout_seconds});
    std::vector<Block> data;
    for (int i = 0; i < ranks; ++i) data.push_back(world.allocate_block(count, DType::float32));
    const Error error = failure_of(world, [&, first = first, other = other](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      broadcast(rank.channel(), mine, rank.index() == 0 ? first : other);
    });
    EXPECT_EQ(error.kind(), ErrorKind::mismatch) << error.what();
    EXPECT_THAT(error.what(), AllOf(HasSubstr("root 0"), HasSubstr("root 1")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MismatchedRoots,
    ::testing::Values(RootCase{broadcast_linear, 2, 10}, RootCase{broadcast_linear, 2, 1000000},
                      RootCase{broadcast_binomial, 2, 10}, RootCase{broadcast_binomial, 2, 1000000},
                      RootCase{broadcast_linear, 4, 10}, RootCase{broadcast_linear, 4, 1000000},
                      RootCase{broadcast_binomial, 4, 10}, RootCase{broadcast_binomial, 4, 1000000},
                      RootCase{broadcast_binomial, 5, 1000000}));

TEST_F(ForkFaults, AMessageThatNobodyReceivedIsAnErrorThatNamesBothRanks) {
  ForkWorld world(3);
  const Error error = failure_of(world, [](Rank& rank) {
    if (rank.index() == 2) rank.channel().send(1, Block{nullptr, 100, DType::float64});
  });
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_EQ(error.rank(), 2);
  EXPECT_THAT(error.what(), HasSubstr("rank 2 sent 800 bytes (100 float64) to rank 1 that it never "
                                      "received"));
}

TEST_F(ForkFaults, ADeadChannelSaysSoAtEveryLaterUse) {
  ForkWorld world(2, {.timeout_seconds = 0.1});
  const Error error = failure_of(world, [](Rank& rank) {
    if (rank.index() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
    const Block ghost{nullptr, 1, DType::int8};
    try {
      rank.channel().recv(1, ghost);
    } catch (const Error&) {
      rank.channel().isend(1, ghost);
    }
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("dead"));
}

TEST_F(ForkFaults, ARankThatComputesForEverIsKilledSoonAfterAnotherHasFailed) {
  ForkWorld world(2, {.timeout_seconds = 3600.0});
  const Error error = failure_of(world, [](Rank& rank) {
    if (rank.index() == 0) throw Error(ErrorKind::usage, "on purpose", 0);
    for (std::atomic<int> i = 0;;) ++i;
  });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
}

TEST_F(ForkFaults, ATaskThatNeverEndsDoesNotKeepAFailedRankAlive) {
  ForkWorld world(1);
  const Error error = failure_of(world, [](Rank& rank) {
    rank.spawn([] { std::this_thread::sleep_for(std::chrono::hours(1)); });
    throw Error(ErrorKind::usage, "on purpose", 0);
  });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
}

TEST_F(ForkFaults, TheRanksDieWithAKilledLauncher) {
  constexpr int ranks = 4;
  // Orphans come to this process instead of init, so that their end can be seen.
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  for (int trial = 0; trial < 5; ++trial) {
    auto* const started = static_cast<std::atomic<int>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(started, MAP_FAILED);
    const pid_t launcher = fork();
    if (launcher == 0) {
      ForkWorld world(ranks, {.timeout_seconds = 3600.0});
      const Program program = allreduce_for_ever(world, 50000);
      world.run([&](Rank& rank) {
        started->fetch_add(1);
        program(rank);
      });
      _exit(0);
    }
    const double limit_seconds = monotonic_seconds() + 10.0;
    while (started->load() < ranks && monotonic_seconds() < limit_seconds) usleep(1000);
    ASSERT_EQ(started->load(), ranks);
    kill(launcher, SIGKILL);
    int ended = 0;
    while (ended < ranks + 1 && monotonic_seconds() < limit_seconds) {
      int status = 0;
      if (waitpid(-1, &status, WNOHANG) <= 0) {
        usleep(1000);
        continue;
      }
      ++ended;
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    EXPECT_EQ(ended, ranks + 1);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(shared_files(), files_);
    munmap(started, 4096);
  }
}

}  // namespace
}  // namespace tutti
