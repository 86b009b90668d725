// Worlds in processes that have little: clear errors, or they work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/ring.hpp"
#include "exec/fork_world.hpp"
#include "process/temporary_file.hpp"

namespace tutti {
namespace {

using ::testing::HasSubstr;

constexpr int ranks = 4;
constexpr std::size_t count = 100'000;

// Sums ones in a world; the result, or the text of the error.
std::string sum_ones() {
  try {
    ForkWorld world(ranks);
    std::vector<Block> data;
    for (int i = 0; i < ranks; ++i) data.push_back(world.allocate_block(count, DType::float32));
    world.run([&](Rank& rank) {
      const Block mine = data[static_cast<std::size_t>(rank.index())];
      std::fill_n(reinterpret_cast<float*>(mine.data), count, 1.0F);
      allreduce_ring(rank.channel(), mine, Op::sum);
    });
    for (const Block block : data) {
      const auto* const values = reinterpret_cast<const float*>(block.data);
      if (std::count(values, values + count, 4.0F) != static_cast<std::ptrdiff_t>(count)) {
        return "a wrong result";
      }
    }
    return "good";
  } catch (const Error& error) {
    return error.what();
  }
}

// What sum_ones() says in a process of its own, after `prepare`. A limit has no way back.
std::string sum_ones_after(const std::function<void()>& prepare) {
  const TemporaryFile said;
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    said.write(sum_ones());
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return said.content();
}

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit wanted{value, value};
  if (setrlimit(resource, &wanted) != 0) _exit(9);
}

TEST(ProcessLimits, FewDescriptorsAreAnErrorThatNamesTheRank) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need descriptors of their own to look at memory";
#endif
  // Three and the file that tells are open; a watched process needs one.
  const std::string text = sum_ones_after([] { limit(RLIMIT_NOFILE, 6); });
  EXPECT_THAT(text, HasSubstr("cannot watch process"));
  EXPECT_THAT(text, HasSubstr("Too many open files"));
}

TEST(ProcessLimits, EnoughDescriptorsForOneARankAreEnough) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need descriptors of their own to look at memory";
#endif
  EXPECT_EQ(sum_ones_after([] { limit(RLIMIT_NOFILE, 16); }), "good");
}

TEST(ProcessLimits, FewProcessesAreAnErrorThatNamesTheRank) {
  // Root may have as many as it likes; a user that nobody else is may have these two.
  constexpr uid_t nobody_else = 65'123;
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become a user without processes";
  const std::string text = sum_ones_after([] {
    limit(RLIMIT_NPROC, 2);
    if (setresuid(nobody_else, nobody_else, nobody_else) != 0) _exit(9);
  });
  EXPECT_THAT(text, HasSubstr("cannot fork rank 1 of 4: Resource temporarily unavailable"));
}

TEST(ProcessLimits, LittleAddressSpaceIsAnErrorThatNamesTheBytes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need terabytes of address space";
#endif
  const std::string text = sum_ones_after([] {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    limit(RLIMIT_AS, pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (1 << 20));
  });
  EXPECT_THAT(text, HasSubstr("cannot share 4194304 bytes"));
}

TEST(ProcessLimits, NoLockedMemoryIsEnough) {
  EXPECT_EQ(sum_ones_after([] { limit(RLIMIT_MEMLOCK, 0); }), "good");
}

TEST(ProcessLimits, AFullDevShmDisturbsNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to mount a small /dev/shm";
  bool is_mounted = true;
  const std::string text = sum_ones_after([&] {
    is_mounted = unshare(CLONE_NEWNS) == 0 &&
                 mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                 mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") == 0;
    if (!is_mounted) return;
    std::ofstream filler("/dev/shm/filler");
    for (int i = 0; i < 100; ++i) filler << std::string(1024, 'x') << std::flush;
    if (filler.good()) _exit(9);  // It was not full.
  });
  EXPECT_EQ(text, "good");
}

// Only the thread that forks lives on in the ranks, whatever the others were about.
TEST(ProcessLimits, ThreadsOfTheCallerDisturbNobody) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop, i] {
      while (!stop) std::vector<int> memory(1000 + i);  // Holds locks of the allocator at times.
    });
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sum_ones(), "good");
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ProcessLimits, APoolOfOpenMpThreadsOfTheCallerDisturbsNobody) {
  std::vector<double> values(10'000, 1.0);
  double sum = 0.0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i];
  EXPECT_EQ(sum, 10'000.0);
  EXPECT_EQ(sum_ones(), "good");
}

}  // namespace
}  // namespace tutti
