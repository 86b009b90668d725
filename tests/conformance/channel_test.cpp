// The Channel contract where all goes well: order, lanes, progress, ghosts, empty blocks, charges.
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/channel.hpp"
#include "tests/conformance/substrates.hpp"
#include "tests/support/blocks.hpp"

namespace tutti {
namespace {

constexpr std::size_t large = std::size_t{1} << 20;  // 4 MiB of float32.

// Every substrate, also one that moves nothing.
class AnyChannel : public SubstrateTest {};
// Substrates that move data.
class DataChannel : public SubstrateTest {};
// Substrates whose clock is virtual.
class ClockedChannel : public SubstrateTest {};

INSTANTIATE_TEST_SUITE_P(On, AnyChannel, testing::ValuesIn(all_substrates()), substrate_name);
INSTANTIATE_TEST_SUITE_P(On, DataChannel, testing::ValuesIn(moving_substrates()), substrate_name);
// The mpi program has none of them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClockedChannel);
INSTANTIATE_TEST_SUITE_P(On, ClockedChannel, testing::ValuesIn(virtual_time_substrates()),
                         substrate_name);

// A block of the rank's own memory that holds `value` everywhere.
struct Own {
  explicit Own(std::size_t count, float value = 0.0F)
      : values(count, value), block(own_block(values)) {}

  std::vector<float> values;
  Block block;
};

std::vector<float> values_of(Block block) {
  const auto* const first = reinterpret_cast<const float*>(block.data);
  return {first, first + block.count};
}

// Both ranks of a pair post a send and a receive of `count` elements and wait for the send first.
void exchange_sending_first(Rank& rank, std::size_t count) {
  Channel& channel = rank.channel();
  const int peer = 1 - rank.index();
  Own out(count), in(count);
  const Request sent = channel.isend(peer, out.block);
  const Request received = channel.irecv(peer, in.block);
  channel.wait(sent);
  channel.wait(received);
}

TEST_P(AnyChannel, TwoRanksThatBothSendFirstDoNotBlockEachOther) {
  const auto world = make(2);
  for (const std::size_t count : {std::size_t{1}, large}) {
    EXPECT_NO_THROW(world->run([&](Rank& rank) { exchange_sending_first(rank, count); })) << count;
  }
}

TEST_P(AnyChannel, ARingOfRanksThatAllSendFirstDoesNotBlock) {
  const auto world = make(5);
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    Own out(large / 8), in(large / 8);
    const int size = rank.size(), next = (rank.index() + 1) % size;
    rank.channel().sendrecv(next, out.block, (next + size - 2) % size, in.block);
  }));
}

// Rank 0 waits for rank 2, which waits for rank 1, which waits until rank 0 has taken its block.
TEST_P(AnyChannel, AWaitProgressesTheOtherPostedRequests) {
  const auto world = make(3);
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    Channel& channel = rank.channel();
    Own block(large), token(1);
    if (rank.index() == 0) {
      const Request from_1 = channel.irecv(1, block.block);
      const Request from_2 = channel.irecv(2, token.block);
      channel.wait(from_2);
      channel.wait(from_1);
    } else if (rank.index() == 1) {
      channel.send(0, block.block);
      channel.send(2, token.block);
    } else {
      channel.recv(1, token.block);
      channel.send(0, token.block);
    }
  }));
}

TEST_P(AnyChannel, EmptyBlocksTravelNowhere) {
  const auto world = make(2);
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    Own empty(0);
    if (rank.index() == 0) rank.channel().send(1, empty.block);
    if (rank.index() == 0) rank.channel().send(1, ghost(0));
    if (rank.index() == 1) rank.channel().wait(Request{});
  }));
}

TEST_P(AnyChannel, GhostsTravelWithoutMemory) {
  const auto world = make(2);
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    const Block block = ghost(large);
    if (rank.index() == 0) rank.channel().send(1, block);
    if (rank.index() == 1) rank.channel().recv(0, block, Op::sum);
  }));
}

TEST_P(AnyChannel, AMessageToOneselfIsAProgrammerError) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    if (rank.index() != 1) return;
    Own block(1);
    note_error(notes[0], [&] { rank.channel().send(1, block.block); });
    note_error(notes[1], [&] { rank.channel().recv(1, block.block); });
  });
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(notes[i].is_contract_error);
    EXPECT_NE(std::string(notes[i].text).find("rank 1"), std::string::npos) << notes[i].text;
  }
}

TEST_P(AnyChannel, ARankOutsideTheWorldIsAProgrammerError) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    Own block(1);
    note_error(notes[rank.index()],
               [&] { rank.channel().send(2 - 3 * rank.index(), block.block); });
  });
  EXPECT_TRUE(notes[0].is_contract_error) << notes[0].text;
  EXPECT_TRUE(notes[1].is_contract_error) << notes[1].text;
}

TEST_P(AnyChannel, AReceiveCannotAverage) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    Own block(1);
    if (rank.index() > 0) return;
    note_error(notes[0], [&] { rank.channel().recv(1, block.block, Op::average); });
  });
  EXPECT_TRUE(notes[0].is_contract_error) << notes[0].text;
}

// Everything is received, so that nothing is wrong but that rank 1 never waits for rank 0.
TEST_P(AnyChannel, ARankThatEndsWithAnOpenRequestFails) {
  const auto world = make(3);
  const Block token = ghost(1);
  try {
    world->run([&](Rank& rank) {
      Channel& channel = rank.channel();
      if (rank.index() == 0) channel.send(1, token);
      if (rank.index() == 0) channel.send(2, token);
      if (rank.index() == 1) channel.irecv(0, token);
      if (rank.index() == 1) channel.recv(2, token);
      if (rank.index() == 2) channel.recv(0, token);
      if (rank.index() == 2) channel.send(1, token);
    });
    FAIL() << "the run ended without an error";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
}

TEST_P(AnyChannel, LanesAreIndependent) {
  const auto world = make(2, {.lanes = 2});
  EXPECT_NO_THROW(world->run([](Rank& rank) {
    Own first(3), second(5);
    if (rank.index() == 0) {
      const Request on_0 = rank.channel(0).isend(1, first.block);
      const Request on_1 = rank.channel(1).isend(1, second.block);
      rank.channel(1).wait(on_1);
      rank.channel(0).wait(on_0);
    } else {
      rank.channel(1).recv(0, second.block);
      rank.channel(0).recv(0, first.block);
    }
  }));
}

TEST_P(AnyChannel, ARankAlwaysHasTheSameChannelForALane) {
  const auto world = make(2, {.lanes = 2});
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    notes[rank.index()].set = &rank.channel(1) == &rank.channel(1) &&
                              &rank.channel(0) != &rank.channel(1) &&
                              rank.channel(1).rank() == rank.index() && rank.channel(1).size() == 2;
  });
  EXPECT_TRUE(notes[0].set && notes[1].set);
}

TEST_P(DataChannel, MessagesOfAPairArriveInTheOrderSent) {
  constexpr int messages = 200;
  const auto world = make(2);
  const Block arrived = world->allocate_block(messages, DType::float32);
  world->run([&](Rank& rank) {
    for (int i = 0; i < messages; ++i) {
      Own block(1, static_cast<float>(i));
      if (rank.index() == 0) rank.channel().send(1, block.block);
      if (rank.index() == 1) rank.channel().recv(0, arrived.part(i, messages));
    }
  });
  std::vector<float> expected(messages);
  std::iota(expected.begin(), expected.end(), 0.0F);
  EXPECT_EQ(values_of(arrived), expected);
}

TEST_P(DataChannel, ManyPostedRequestsOfAPairArriveInTheOrderPosted) {
  constexpr int messages = 64;
  const auto world = make(2);
  const Block arrived = world->allocate_block(messages * 1000, DType::float32);
  world->run([&](Rank& rank) {
    std::vector<Own> blocks;
    std::vector<Request> requests;
    for (int i = 0; i < messages; ++i) blocks.emplace_back(1000, static_cast<float>(i));
    for (int i = 0; i < messages; ++i) {
      const Own& own = blocks[static_cast<std::size_t>(i)];
      requests.push_back(rank.index() == 0 ? rank.channel().isend(1, own.block)
                                           : rank.channel().irecv(0, arrived.part(i, messages)));
    }
    for (const Request request : requests) rank.channel().wait(request);
  });
  for (int i = 0; i < messages; ++i) {
    EXPECT_EQ(values_of(arrived.part(i, messages)),
              std::vector<float>(1000, static_cast<float>(i)));
  }
}

TEST_P(DataChannel, BothOfTwoRanksThatSendFirstGetTheOthersBlock) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, large}) {
    const auto world = make(2);
    const Block arrived = world->allocate_block(2 * count, DType::float32);
    world->run([&](Rank& rank) {
      Own out(count, static_cast<float>(10 + rank.index()));
      const int peer = 1 - rank.index();
      const Request sent = rank.channel().isend(peer, out.block);
      const Request received = rank.channel().irecv(peer, arrived.part(rank.index(), 2));
      rank.channel().wait(sent);
      rank.channel().wait(received);
    });
    EXPECT_EQ(values_of(arrived.part(0, 2)), std::vector<float>(count, 11.0F)) << count;
    EXPECT_EQ(values_of(arrived.part(1, 2)), std::vector<float>(count, 10.0F)) << count;
  }
}

TEST_P(DataChannel, AWaitForASendTakesWhatThePeerSentMeanwhile) {
  const auto world = make(2);
  const Block arrived = world->allocate_block(2 * large, DType::float32);
  world->run([&](Rank& rank) {
    Own first(large, 1.0F), second(large, 2.0F);
    if (rank.index() == 0) {
      const Request received = rank.channel().irecv(1, arrived.part(0, 2));
      rank.channel().send(1, first.block);
      rank.channel().wait(received);
    } else {
      rank.channel().send(0, second.block);
      rank.channel().recv(0, arrived.part(1, 2));
    }
  });
  EXPECT_EQ(values_of(arrived.part(0, 2)), std::vector<float>(large, 2.0F));
  EXPECT_EQ(values_of(arrived.part(1, 2)), std::vector<float>(large, 1.0F));
}

TEST_P(DataChannel, ASenderMayOverwriteItsBlockOnceItsWaitHasReturned) {
  constexpr int messages = 20;
  for (const std::size_t count : {std::size_t{1}, std::size_t{10000}}) {
    const auto world = make(2);
    const Block arrived = world->allocate_block(messages * count, DType::float32);
    const Block reused = world->allocate_block(count, DType::float32);
    world->run([&](Rank& rank) {
      for (int i = 0; i < messages; ++i) {
        if (rank.index() == 1) rank.channel().recv(0, arrived.part(i, messages));
        if (rank.index() == 1) continue;
        for (std::size_t k = 0; k < count; ++k) set_element(reused, k, i);
        rank.channel().send(1, reused);
      }
    });
    for (int i = 0; i < messages; ++i) {
      EXPECT_EQ(values_of(arrived.part(i, messages)),
                std::vector<float>(count, static_cast<float>(i)));
    }
  }
}

TEST_P(DataChannel, AReceiveReducesIntoItsBlock) {
  const auto world = make(2);
  const Block sum = world->allocate_block(large, DType::float32);
  const Block smallest = world->allocate_block(3, DType::float32);
  world->run([&](Rank& rank) {
    Own much(large, 2.0F), little(3, -1.0F);
    if (rank.index() == 0) {
      rank.channel().send(1, much.block);
      rank.channel().send(1, little.block);
    } else {
      for (std::size_t k = 0; k < large; ++k) set_element(sum, k, 40.0);
      rank.channel().recv(0, sum, Op::sum);
      rank.channel().recv(0, smallest, Op::min);
    }
  });
  EXPECT_EQ(values_of(sum), std::vector<float>(large, 42.0F));
  EXPECT_EQ(values_of(smallest), std::vector<float>(3, -1.0F));
}

TEST_P(DataChannel, BlocksMayBeginAtAnyElement) {
  const auto world = make(2);
  const Block source = world->allocate_block(9001, DType::uint8);
  const Block target = world->allocate_block(9001, DType::uint8);
  std::mt19937_64 random(test_seed(1));
  fill_random(source, random);
  world->run([&](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, source.slice(3, 8998));
    if (rank.index() == 1) rank.channel().recv(0, target.slice(1, 8998));
  });
  EXPECT_TRUE(same_bits(source.slice(3, 8998), target.slice(1, 8998)));
  EXPECT_EQ(element(target, 0), 0.0);
  EXPECT_EQ(element(target, 8999), 0.0);
}

TEST_P(DataChannel, LanesDoNotMixTheirMessages) {
  constexpr int messages = 50;
  const auto world = make(2, {.lanes = 3});
  const Block arrived = world->allocate_block(3 * messages, DType::float32);
  world->run([&](Rank& rank) {
    const auto work = [&](int lane) {
      for (int i = 0; i < messages; ++i) {
        Own block(1, static_cast<float>(1000 * lane + i));
        const Block place = arrived.part(lane, 3).part(i, messages);
        if (rank.index() == 0) rank.channel(lane).send(1, block.block);
        if (rank.index() == 1) rank.channel(lane).recv(0, place);
      }
    };
    rank.spawn([work] { work(1); });
    rank.spawn([work] { work(2); });
    work(0);
  });
  for (int lane = 0; lane < 3; ++lane) {
    std::vector<float> expected(messages);
    std::iota(expected.begin(), expected.end(), static_cast<float>(1000 * lane));
    EXPECT_EQ(values_of(arrived.part(lane, 3)), expected) << lane;
  }
}

TEST_P(DataChannel, TimeDoesNotRunBackwards) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    const double before = rank.channel().now();
    exchange_sending_first(rank, 1000);
    notes[rank.index()].set = rank.channel().now() >= before;
  });
  EXPECT_TRUE(notes[0].set && notes[1].set);
}

TEST_P(ClockedChannel, AReductionIsChargedOnceToTheRankThatReceives) {
  const auto world = make(2);
  world->run([](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(large));
    if (rank.index() == 1) rank.channel().recv(0, ghost(large), Op::sum);
  });
  const std::vector<double> ends = GetParam().end_seconds(*world);
  const double reduction = static_cast<double>(4 * large) * gamma_seconds_per_byte;
  // The simulated links add 1e-12 s per message and 1e-18 s per byte.
  EXPECT_NEAR(ends.at(0), 0.0, 1e-9);
  EXPECT_NEAR(ends.at(1), reduction, 1e-9);
}

TEST_P(ClockedChannel, APlainReceiveCostsNoReduction) {
  const auto world = make(2);
  world->run([](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(large));
    if (rank.index() == 1) rank.channel().recv(0, ghost(large));
  });
  EXPECT_NEAR(GetParam().end_seconds(*world).at(1), 0.0, 1e-9);
}

TEST_P(ClockedChannel, ChargedWorkTakesItsTime) {
  const auto world = make(2);
  world->run([](Rank& rank) {
    if (rank.index() > 0) return;
    rank.channel().charge(Work{Work::Kind::compute, 0.25, {}, {}});
    rank.channel().charge(Work{Work::Kind::copy, 0.0, ghost(large), ghost(large)});
  });
  const double copied = static_cast<double>(4 * large) * gamma_seconds_per_byte;
  EXPECT_NEAR(GetParam().end_seconds(*world).at(0), 0.25 + copied, 1e-9);
  EXPECT_NEAR(GetParam().end_seconds(*world).at(1), 0.0, 1e-9);
}

TEST_P(ClockedChannel, RealAndGhostBlocksTakeTheSameTime) {
  const auto run = [&](bool real) {
    const auto world = make(2);
    const Block block = real ? world->allocate_block(1000, DType::float32) : ghost(1000);
    world->run([&](Rank& rank) {
      if (rank.index() == 0) rank.channel().send(1, block);
      if (rank.index() == 1) rank.channel().recv(0, block, Op::sum);
    });
    return GetParam().end_seconds(*world);
  };
  EXPECT_EQ(run(true), run(false));
}

}  // namespace
}  // namespace tutti
