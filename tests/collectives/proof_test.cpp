#include "collectives/proof.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "collectives/local.hpp"
#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Why the program is no proof of the promise; "" if it is one.
std::string objection(const Promise& promise, const std::function<void(Channel&, Block)>& program) {
  PlanWorld world(promise.ranks);
  const Block data = world.allocate_block(promise.count, DType::float32);
  world.run([&](Rank& rank) { program(rank.channel(), data); });
  try {
    prove(world.plan(), promise);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Proof, ReportsTheOrderOfTheFoldOfEveryPart) {
  const auto folds = fold_trees(find_algorithm(Collective::allreduce, "ring"),
                                ProofCase{{.ranks = 3, .count = 6}});
  ASSERT_EQ(folds.size(), 3U);
  EXPECT_EQ(folds[0].text, "(0 + (1 + 2))");
  EXPECT_EQ(folds[1].text, "(1 + (0 + 2))");
  EXPECT_EQ(folds[1].first_element, 2U);
  EXPECT_EQ(folds[1].last_element, 3U);
  EXPECT_EQ(folds[2].text, "(2 + (0 + 1))");
}

TEST(Proof, AMissingContributionIsFound) {
  EXPECT_THAT(objection({.collective = Collective::reduce, .ranks = 3, .count = 2},
                        [](Channel& channel, Block data) {
                          if (channel.rank() == 1) channel.send(0, data);
                          if (channel.rank() == 0) channel.recv(1, data, Op::sum);
                        }),
              AllOf(HasSubstr("element 0 of rank 0"), HasSubstr("ends as (0 + 1)")));
}

TEST(Proof, AContributionAbsorbedTwiceIsFound) {
  EXPECT_THAT(objection({.collective = Collective::reduce, .ranks = 2, .count = 1},
                        [](Channel& channel, Block data) {
                          for (int i = 0; i < 2; ++i) {
                            if (channel.rank() == 1) channel.send(0, data);
                            if (channel.rank() == 0) channel.recv(1, data, Op::sum);
                          }
                        }),
              HasSubstr("holds (0 + 1) and cannot absorb 1"));
}

TEST(Proof, ElementsThatEndInTheWrongPlaceAreFound) {
  EXPECT_THAT(objection({.collective = Collective::broadcast, .ranks = 2, .count = 2},
                        [](Channel& channel, Block data) {
                          for (int i = 0; i < 2; ++i) {
                            if (channel.rank() == 0) channel.send(1, data.part(i, 2));
                            if (channel.rank() == 1) channel.recv(0, data.part(1 - i, 2));
                          }
                        }),
              HasSubstr("element 0 of rank 1 ends as 0 of element 1"));
}

TEST(Proof, MemoryReadBeforeItWasWrittenIsFound) {
  EXPECT_THAT(objection({.collective = Collective::allgather, .ranks = 2, .count = 2},
                        [](Channel& channel, Block data) {
                          const int peer = 1 - channel.rank();
                          channel.sendrecv(peer, data.part(peer, 2), peer, data.part(peer, 2));
                        }),
              HasSubstr("is read before it was written"));
}

TEST(Proof, ABlockThatIsWrittenWhileItIsSentIsFound) {
  EXPECT_THAT(objection({.collective = Collective::allreduce, .ranks = 2, .count = 2},
                        [](Channel& channel, Block data) {
                          const int peer = 1 - channel.rank();
                          channel.sendrecv(peer, data, peer, data, Op::sum);
                        }),
              HasSubstr("while another message is under way"));
}

TEST(Proof, RanksThatFoldInDifferentOrdersAreFound) {
  EXPECT_THAT(objection({.collective = Collective::allreduce, .ranks = 3, .count = 1},
                        [](Channel& channel, Block data) {
                          // Each rank folds the others in its own order.
                          const int rank = channel.rank();
                          const int next = (rank + 1) % 3, prev = (rank + 2) % 3;
                          const Scratch own(channel, data), other(channel, data);
                          copy_block(channel, own.block(), data);
                          channel.sendrecv(next, own.block(), prev, data, Op::sum);
                          channel.sendrecv(prev, own.block(), next, other.block());
                          reduce_block(channel, data, other.block(), Op::sum);
                        }),
              HasSubstr("ends as"));
}

TEST(Proof, ABarrierThatLeavesTooEarlyIsFound) {
  EXPECT_THAT(objection({.collective = Collective::barrier, .ranks = 3, .count = 0},
                        [](Channel& channel, Block) {
                          const Block token{nullptr, 1, DType::uint8};
                          channel.sendrecv((channel.rank() + 1) % 3, token,
                                           (channel.rank() + 2) % 3, token);
                        }),
              HasSubstr("rank 0 leaves without having heard from rank 1"));
}

}  // namespace
}  // namespace tutti
