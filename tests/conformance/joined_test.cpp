// What only processes with callers of their own have: fetch(), idle processes, large messages that
// MPI has to be handed in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/conformance/mpi_substrate.hpp"
#include "tests/support/blocks.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Joined, AResultIsSeenByAllCallersOnceItIsFetched) {
  JoinedTransport& transport = mpi_transport();
  JoinedWorld world(transport, 3);
  const Block blocks = world.allocate_block(3, DType::int32);
  world.run([&](Rank& rank) { set_element(blocks.part(rank.index(), 3), 0, 7 + rank.index()); });
  for (int rank = 0; rank < 3; ++rank) {
    const Block block = blocks.part(rank, 3);
    EXPECT_EQ(element(block, 0), rank == transport.rank() ? 7 + rank : 0);
  }
  for (int rank = 0; rank < 3; ++rank) {
    const Block block = blocks.part(rank, 3);
    world.fetch(rank, block.data, block.bytes());
    EXPECT_EQ(element(block, 0), 7 + rank);
  }
}

TEST(Joined, AWorldOfMoreRanksThanProcessesIsAnErrorThatNamesBoth) {
  JoinedTransport& transport = mpi_transport();
  try {
    JoinedWorld world(transport, transport.size() + 3);
    FAIL() << "there is such a world";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(std::to_string(transport.size() + 3)),
                                    HasSubstr(std::to_string(transport.size()) + " have joined")));
  }
}

// Messages of every way to travel, posted at once in both directions, on two lanes of two threads.
TEST(Joined, ManyMessagesOfAllSizesKeepTheirOrderOnTwoLanesAtOnce) {
  const std::vector<std::size_t> counts{1, 2'047, 2'049, 300'000, 3, 65'536, 65'537, 1, 200'001};
  const auto world = mpi_substrate().make(2, {.lanes = 2});
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  const Block sums = world->allocate_block(4 * total, DType::int32);
  world->run([&](Rank& rank) {
    const auto exchange = [&](int lane, Op op) {
      Channel& channel = rank.channel(lane);
      const Block in = sums.part(2 * rank.index() + lane, 4);
      std::vector<std::int32_t> values(total);
      for (std::size_t i = 0; i < total; ++i) {
        values[i] = static_cast<std::int32_t>(i) * (rank.index() + 1);
      }
      const Block out{reinterpret_cast<std::byte*>(values.data()), total, DType::int32};
      std::vector<Request> requests;
      std::size_t first = 0;
      for (const std::size_t count : counts) {
        requests.push_back(channel.isend(1 - rank.index(), out.slice(first, count)));
        requests.push_back(channel.irecv(1 - rank.index(), in.slice(first, count), op));
        first += count;
      }
      for (const Request request : requests) channel.wait(request);
    };
    rank.spawn([&] { exchange(1, Op::sum); });
    exchange(0, Op::replace);
  });
  for (int part = 0; part < 4; ++part) {
    const auto* const found = reinterpret_cast<const std::int32_t*>(sums.part(part, 4).data);
    std::vector<std::int32_t> expected(total);
    for (std::size_t i = 0; i < total; ++i) {
      expected[i] = static_cast<std::int32_t>(i) * (part < 2 ? 2 : 1);
    }
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found)) << "part " << part;
  }
}

// Both are blocked in different calls; nobody's deadline helps.
TEST(Joined, TwoRanksThatWaitForEachOtherInDifferentCallsAreToldBeforeTheDeadline) {
  const auto world = mpi_substrate().make(2, {});
  const Error error = error_of_run(*world, [](Rank& rank) {
    constexpr Call calls[] = {{"allreduce_ring", 8, DType::float32, Op::sum, -1},
                              {"broadcast_tree", 9, DType::float32, Op::replace, 0}};
    const Operation operation(rank.channel(), calls[rank.index()], 1);
    rank.channel().recv(1 - rank.index(), ghost(8));
  });
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("allreduce_ring of 8"),
                    HasSubstr("broadcast_tree of 9")));
}

// Large messages are under way to and from the others when rank 2 gives up.
TEST(Joined, AFailureAmidLargeMessagesEndsTheRunOfAllAndTheNextOneWorks) {
  constexpr std::size_t count = std::size_t{1} << 20;
  const auto world = mpi_substrate().make(3, {});
  const Block data = world->allocate_block(6 * count, DType::float32);
  for (int round = 0; round < 3; ++round) {
    const Error error = error_of_run(*world, [&](Rank& rank) {
      Channel& channel = rank.channel();
      const int next = (rank.index() + 1) % 3, previous = (rank.index() + 2) % 3;
      const Block out = data.part(2 * rank.index(), 6), in = data.part(2 * rank.index() + 1, 6);
      channel.sendrecv(next, out, previous, in, Op::sum);
      if (rank.index() == 2) throw std::runtime_error("rank 2 gives up");
      for (int i = 0; i < 3; ++i) channel.sendrecv(next, out, previous, in, Op::sum);
    });
    EXPECT_EQ(error.rank(), 2);
    EXPECT_THAT(error.what(), HasSubstr("gives up"));
    EXPECT_NO_THROW(world->run([&](Rank& rank) {
      const int next = (rank.index() + 1) % 3, previous = (rank.index() + 2) % 3;
      rank.channel().sendrecv(next, data.part(2 * rank.index(), 6), previous,
                              data.part(2 * rank.index() + 1, 6));
    }));
  }
}

}  // namespace
}  // namespace tutti
