// Blocks around and beyond the sizes that 32-bit numbers hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "exec/fork_world.hpp"

namespace tutti {
namespace {

constexpr std::size_t two_gib = std::size_t{1} << 31;

std::size_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::size_t kib = 0; file >> key >> kib; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

class LargeBlocks : public testing::TestWithParam<std::size_t> {};

// Rank r's elements are r + 1, but for the first, the last and one on each side of 2 GiB.
TEST_P(LargeBlocks, AllreduceAndBroadcastReachEveryByteOfThem) {
  const std::size_t count = GetParam();
  constexpr int size = 2;
  if (available_bytes() < size * count + two_gib / 2) GTEST_SKIP() << "too little memory";
  ForkWorld world(size, {.timeout_seconds = 300.0});
  const Block blocks[] = {world.allocate_block(count, DType::int8),
                          world.allocate_block(count, DType::int8)};
  std::vector<std::size_t> marked = {0, count - 1};
  for (const std::size_t place : {two_gib - 2, two_gib + 1}) {
    if (place < count - 1) marked.push_back(place);
  }
  const auto values = [&](int rank) { return reinterpret_cast<std::int8_t*>(blocks[rank].data); };
  const auto count_of = [&](int rank, std::int8_t value) {
    return static_cast<std::size_t>(std::count(values(rank), values(rank) + count, value));
  };
  world.run([&](Rank& rank) {
    const int index = rank.index();
    std::memset(blocks[index].data, index + 1, count);
    for (const std::size_t place : marked)
      values(index)[place] = static_cast<std::int8_t>(10 + index);
    run(find_algorithm(Collective::allreduce, "ring"), rank.channel(), blocks[index]);
  });
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_EQ(count_of(rank, 3), count - marked.size());
    for (const std::size_t place : marked) EXPECT_EQ(values(rank)[place], 21) << place;
  }
  std::memset(blocks[1].data, 7, count);
  world.run([&](Rank& rank) {
    run(find_algorithm(Collective::broadcast, "linear"), rank.channel(), blocks[rank.index()]);
  });
  EXPECT_EQ(std::memcmp(blocks[0].data, blocks[1].data, count), 0);
}

INSTANTIATE_TEST_SUITE_P(Bytes, LargeBlocks,
                         testing::Values(two_gib - 1, two_gib, two_gib + 4, 2 * two_gib + 4));

}  // namespace
}  // namespace tutti
