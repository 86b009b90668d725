// The Channel contract where something is wrong: mismatches, deadlines, lost peers, dead channels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/channel.hpp"
#include "tests/conformance/substrates.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Every substrate: what is wrong can be seen without moving data.
class AnyMismatch : public SubstrateTest {};
// Substrates that move data, and so can be late, lose a peer or die.
class RunningFailure : public SubstrateTest {};

INSTANTIATE_TEST_SUITE_P(On, AnyMismatch, testing::ValuesIn(all_substrates()), substrate_name);
INSTANTIATE_TEST_SUITE_P(On, RunningFailure, testing::ValuesIn(moving_substrates()),
                         substrate_name);

constexpr Call first_call{"allreduce_ring", 8, DType::float32, Op::sum, -1};
constexpr Call second_call{"broadcast_tree", 8, DType::float32, Op::replace, 1};

// Rank 0 sends `sent` to rank 1, which receives `expected`, both in a call.
Error error_of_pair(World& world, Block sent, Block expected) {
  return error_of_run(world, [&](Rank& rank) {
    const Operation operation(rank.channel(), first_call, 3);
    if (rank.index() == 0) rank.channel().send(1, sent);
    if (rank.index() == 1) rank.channel().recv(0, expected, Op::sum);
  });
}

TEST_P(AnyMismatch, DifferentLengthsAreAnErrorThatNamesRanksSizesAndStep) {
  const auto world = make(2);
  const Block sent = world->allocate_block(2, DType::float32);
  const Block expected = world->allocate_block(3, DType::float32);
  const Error error = error_of_pair(*world, sent, expected);
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("8 bytes"),
                                  HasSubstr("12 bytes"), HasSubstr("step 1 of")));
}

TEST_P(AnyMismatch, DifferentTypesOfTheSameSizeAreAnErrorThatNamesBoth) {
  const auto world = make(2);
  const Block sent = world->allocate_block(2, DType::int32);
  const Block expected = world->allocate_block(2, DType::float32);
  const Error error = error_of_pair(*world, sent, expected);
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("int32"), HasSubstr("float32")));
}

TEST_P(AnyMismatch, AGhostSentToARealBlockIsAnError) {
  const auto world = make(2);
  const Block real = world->allocate_block(2, DType::float32);
  EXPECT_EQ(error_of_pair(*world, ghost(2), real).kind(), ErrorKind::mismatch);
}

TEST_P(AnyMismatch, ARealBlockSentToAGhostIsAnError) {
  const auto world = make(2);
  const Block real = world->allocate_block(2, DType::float32);
  EXPECT_EQ(error_of_pair(*world, real, ghost(2)).kind(), ErrorKind::mismatch);
}

TEST_P(AnyMismatch, AMessageOfAnotherCallIsAnErrorThatNamesTheOwnCall) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [&](Rank& rank) {
    const Operation operation(rank.channel(), rank.index() == 0 ? first_call : second_call, 1);
    if (rank.index() == 0) rank.channel().send(1, ghost(8));
    if (rank.index() == 1) rank.channel().recv(0, ghost(8));
  });
  EXPECT_EQ(error.kind(), ErrorKind::mismatch);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"),
                                  HasSubstr("broadcast_tree of 8 float32")));
}

TEST_P(AnyMismatch, AMessageThatNobodyReceivesIsAnError) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [&](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(1));
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1")));
}

TEST_P(AnyMismatch, AReceiveThatNobodySendsToIsAnError) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [&](Rank& rank) {
    if (rank.index() == 0) rank.channel().recv(1, ghost(1));
  });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("rank 1")));
}

TEST_P(RunningFailure, AMismatchWritesNothingToTheBlock) {
  const auto world = make(2);
  const Block sent = world->allocate_block(2, DType::int8);
  const Block expected = world->allocate_block(3, DType::int8);
  sent.data[0] = sent.data[1] = std::byte{7};
  error_of_pair(*world, sent, expected);
  for (std::size_t i = 0; i < expected.count; ++i) EXPECT_EQ(expected.data[i], std::byte{0});
}

// Both ranks receive and nobody sends; rank 0's deadline is the earlier.
void wait_in_vain(Rank& rank, double seconds) {
  Channel& channel = rank.channel();
  const Operation operation(channel, first_call, 4);
  channel.next_step();
  channel.set_deadline(channel.now() + (rank.index() == 0 ? seconds : 20.0));
  channel.recv(1 - rank.index(), ghost(16));
}

TEST_P(RunningFailure, AWaitPastItsDeadlineIsATimeoutThatSaysWhoWaitedWhereForWhat) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [](Rank& rank) { wait_in_vain(rank, 0.05); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_EQ(error.rank(), 0);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("allreduce_ring"), HasSubstr("rank 0"), HasSubstr("rank 1"),
                    HasSubstr("step 2 of 4"), HasSubstr("64 bytes"), HasSubstr("received 0")));
}

TEST_P(RunningFailure, ADeadlineInThePastIsATimeoutAtOnce) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [](Rank& rank) { wait_in_vain(rank, -1.0); });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
}

TEST_P(RunningFailure, ASendThatIsNotTakenInTimeIsATimeout) {
  constexpr std::size_t more_than_any_buffer = std::size_t{1} << 22;
  const auto world = make(3);
  const Block block = world->allocate_block(more_than_any_buffer, DType::float32);
  const Error error = error_of_run(*world, [&](Rank& rank) {
    Channel& channel = rank.channel();
    channel.set_deadline(channel.now() + (rank.index() == 0 ? 0.05 : 20.0));
    if (rank.index() == 0) channel.send(1, block);
    // Rank 1 is there, but waits for somebody else and takes nothing.
    if (rank.index() == 1) channel.recv(2, ghost(1));
    if (rank.index() == 2) channel.recv(1, ghost(1));
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("to rank 1"),
                                  HasSubstr(std::to_string(block.bytes()))));
}

TEST_P(RunningFailure, ADeadlineHoldsUntilItIsSetAgain) {
  const auto world = make(2);
  const Error error = error_of_run(*world, [](Rank& rank) {
    Channel& channel = rank.channel();
    const int peer = 1 - rank.index();
    channel.set_deadline(channel.now() + 0.05 + 20.0 * rank.index());
    channel.sendrecv(peer, ghost(1), peer, ghost(1));
    channel.sendrecv(peer, ghost(1), peer, ghost(1));
    channel.recv(peer, ghost(1));
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_EQ(error.rank(), 0);
}

TEST_P(RunningFailure, AfterAnErrorTheChannelIsDeadAndSaysWhy) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  error_of_run(*world, [&](Rank& rank) {
    if (rank.index() == 1) return wait_in_vain(rank, 0.0);
    note_error(notes[0], [&] { wait_in_vain(rank, 0.05); });
    note_error(notes[1], [&] { rank.channel().send(1, ghost(1)); });
    rank.channel().recv(1, ghost(1));
  });
  EXPECT_EQ(notes[0].kind, ErrorKind::timeout);
  EXPECT_TRUE(notes[1].set);
  EXPECT_EQ(notes[1].kind, ErrorKind::timeout) << notes[1].text;
  EXPECT_THAT(notes[1].text, AllOf(HasSubstr("dead"), HasSubstr("waited"), HasSubstr("rank 1")));
}

TEST_P(RunningFailure, WhenARankFailsTheOthersLoseTheirPeer) {
  const auto world = make(3);
  Note* const notes = allocate_notes(*world);
  const Error error = error_of_run(*world, [&](Rank& rank) {
    if (rank.index() == 1) throw Error(ErrorKind::usage, "rank 1 does not want to");
    note_error(notes[rank.index()], [&] { rank.channel().recv(1, ghost(1)); });
    rank.channel().recv(1, ghost(1));
  });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_EQ(error.rank(), 1);
  EXPECT_THAT(error.what(), HasSubstr("rank 1 does not want to"));
  for (const int survivor : {0, 2}) {
    // A substrate may stop the others without letting them see why.
    if (!notes[survivor].set) continue;
    EXPECT_EQ(notes[survivor].kind, ErrorKind::peer_lost) << notes[survivor].text;
  }
}

TEST_P(RunningFailure, AWorldCanBeUsedAgainAfterAFailure) {
  const auto world = make(2);
  error_of_run(*world, [](Rank& rank) { wait_in_vain(rank, 0.01); });
  const Block arrived = world->allocate_block(1, DType::float32);
  EXPECT_NO_THROW(world->run([&](Rank& rank) {
    std::vector<float> value{5.0F};
    if (rank.index() == 0) rank.channel().send(1, own_block(value));
    if (rank.index() == 1) rank.channel().recv(0, arrived);
  }));
  EXPECT_EQ(*reinterpret_cast<float*>(arrived.data), 5.0F);
}

}  // namespace
}  // namespace tutti
