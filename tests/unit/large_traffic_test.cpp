// The ways that large messages take between processes: the arena, process_vm_readv, the queue.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/fork_world.hpp"
#include "exec/process_memory.hpp"
#include "exec/shm_channel.hpp"

namespace tutti {
namespace {

// From here on process_vm_readv is an error in this process, as in many containers.
void forbid_process_vm_readv() {
  std::array filter = {
      sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, __NR_process_vm_readv},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

// Whether this machine lets a process read what it has forked.
bool may_read_memory() {
  const std::uint64_t word = 1;
  std::uint64_t copy = 0;
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const MemoryRead read = read_memory(child, reinterpret_cast<const std::byte*>(&word),
                                      reinterpret_cast<std::byte*>(&copy), sizeof(word));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return read == MemoryRead::done;
}

std::int64_t value_of(std::size_t i) {
  return static_cast<std::int64_t>(i * 2654435761U);
}

// Rank 0 sends `bytes` of private memory three times, each time after rank 1 is ready; rank 1
// stores the first and adds the others. Returns how many elements are wrong there.
std::int64_t count_wrong(ForkWorld& world, std::size_t bytes, bool is_forbidden = false) {
  constexpr int messages = 3;
  const std::size_t count = bytes / sizeof(std::int64_t);
  auto* const wrong = reinterpret_cast<std::int64_t*>(world.allocate(sizeof(std::int64_t)));
  world.run([&](Rank& rank) {
    std::byte ready{};
    std::vector<std::int64_t> values(count);
    const Block data{reinterpret_cast<std::byte*>(values.data()), count, DType::int64};
    Channel& channel = rank.channel();
    if (rank.index() == 0) {
      for (std::size_t i = 0; i < count; ++i) values[i] = value_of(i);
      for (int i = 0; i < messages; ++i) {
        channel.recv(1, {&ready, 1, DType::uint8});
        channel.send(1, data);
      }
      return;
    }
    if (is_forbidden) forbid_process_vm_readv();
    for (int i = 0; i < messages; ++i) {
      const Request received = channel.irecv(0, data, i == 0 ? Op::replace : Op::sum);
      channel.send(0, {&ready, 1, DType::uint8});
      channel.wait(received);
    }
    *wrong = 0;
    for (std::size_t i = 0; i < count; ++i) *wrong += values[i] != messages * value_of(i);
  });
  return *wrong;
}

constexpr std::size_t large_bytes = 1'000'000;

TEST(LargeTraffic, PrivateMemoryIsReadWhereItLiesIfThatIsPermitted) {
  if (!may_read_memory()) GTEST_SKIP() << "process_vm_readv is not permitted here";
  ForkWorld world(2);
  for (const std::size_t bytes : {ShmChannel::least_read_bytes, large_bytes}) {
    EXPECT_EQ(count_wrong(world, bytes), 0);
    EXPECT_EQ(world.large_traffic().describe(), "process_vm_readv");
    EXPECT_EQ(world.large_traffic().memory_bytes, 3 * bytes);
  }
}

TEST(LargeTraffic, WhereReadingIsForbiddenAllPassesThroughTheQueue) {
  ForkWorld world(2);
  EXPECT_EQ(count_wrong(world, large_bytes, true), 0);
  EXPECT_EQ(world.large_traffic().describe(), "queue");
  EXPECT_EQ(world.large_traffic().queue_bytes, 3 * large_bytes);
}

TEST(LargeTraffic, ReadingCanBeTurnedOffAndIsNotWorthItForLittle) {
  ForkWorld without(2, {.reads_memory = false});
  EXPECT_EQ(count_wrong(without, large_bytes), 0);
  EXPECT_EQ(without.large_traffic().describe(), "queue");
  ForkWorld with(2);
  EXPECT_EQ(count_wrong(with, ShmChannel::least_read_bytes - 8), 0);
  EXPECT_EQ(with.large_traffic().describe(), "queue");
}

TEST(LargeTraffic, SharedMemoryIsReadInPlaceAndSmallMessagesAreNotCounted) {
  ForkWorld world(2);
  const Block data = world.allocate_block(large_bytes, DType::uint8);
  const auto send = [&](std::size_t count) {
    world.run([&](Rank& rank) {
      std::vector<std::byte> memory(count);
      if (rank.index() == 0) rank.channel().send(1, data.slice(0, count));
      if (rank.index() == 1) rank.channel().recv(0, {memory.data(), count, DType::uint8});
    });
    return world.large_traffic().describe();
  };
  EXPECT_EQ(send(large_bytes), "arena");
  EXPECT_EQ(send(Slot::capacity_bytes), "");
}

TEST(LargeTraffic, TheSharesOfSeveralWaysAreNamed) {
  const LargeTraffic traffic = {.arena_bytes = 3, .memory_bytes = 0, .queue_bytes = 1};
  EXPECT_EQ(traffic.describe(), "arena 75.0 %, queue 25.0 %");
}

TEST(ProcessMemory, WhatHasEndedIsGone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  std::byte byte{};
  EXPECT_EQ(read_memory(child, &byte, &byte, 1), MemoryRead::gone);
}

}  // namespace
}  // namespace tutti
