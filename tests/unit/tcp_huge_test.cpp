// Messages longer than 32 bits can count.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "exec/fork_world.hpp"

namespace tutti {
namespace {

// Memory for `copies` of `bytes`, with room to spare for the rest of the machine.
bool has_memory_for(std::size_t bytes, std::size_t copies) {
  std::ifstream info("/proc/meminfo");
  std::size_t available_kib = 0;
  for (std::string word; info >> word;) {
    if (word == "MemAvailable:") info >> available_kib;
  }
  return available_kib / 1024 > (bytes * copies >> 20) + 4096;
}

class HugeMessages : public ::testing::TestWithParam<std::size_t> {};

TEST_P(HugeMessages, ArriveWhole) {
  const std::size_t bytes = GetParam();
  if (!has_memory_for(bytes, 2)) GTEST_SKIP() << "not enough memory for 2 times " << bytes;
  ForkWorld world(2, {.timeout_seconds = 110.0, .wire = Wire::tcp});
  const Block out = world.allocate_block(bytes, DType::uint8);
  const Block in = world.allocate_block(bytes, DType::uint8);
  const std::vector<std::size_t> probes{0, bytes / 2, bytes - 5, bytes - 1};
  for (const std::size_t probe : probes) out.data[probe] = static_cast<std::byte>(probe % 250 + 1);
  world.run([&](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, out);
    if (rank.index() == 1) rank.channel().recv(0, in);
    if (rank.index() == 0) rank.channel().send(1, out);
    if (rank.index() == 1) rank.channel().recv(0, in, Op::max);
  });
  for (const std::size_t probe : probes) EXPECT_EQ(in.data[probe], out.data[probe]) << probe;
}

INSTANTIATE_TEST_SUITE_P(Bytes, HugeMessages,
                         ::testing::Values((std::size_t{1} << 31) - 1, (std::size_t{1} << 31) + 4,
                                           (std::size_t{1} << 32) + 4));

}  // namespace
}  // namespace tutti
