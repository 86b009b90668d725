#include "collectives/butterfly.hpp"

#include <gmock/gmock.h>

#include <string>

#include "collectives/plan_check.hpp"
#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

std::vector<int> peers_of(const Butterfly& butterfly, int participant, int rounds) {
  std::vector<int> peers;
  for (int step = 0; step < rounds; ++step) {
    peers.push_back(butterfly.peer(participant, step, rounds));
  }
  return peers;
}

PlanVolume largest_volume(const std::string& name, int ranks) {
  const Problem problem{ranks, static_cast<std::size_t>(ranks), 4, 0, {}};
  PlanVolume largest;
  for (const PlanVolume& volume :
       volumes(plan_to_prove(find_algorithm(Collective::allreduce, name), {problem}))) {
    if (volume.messages_sent >= largest.messages_sent) largest = volume;
  }
  return largest;
}

TEST(Butterfly, PartnersAreThoseOfThePapers) {
  EXPECT_THAT(peers_of(recursive_halving, 0, 4), ElementsAre(8, 4, 2, 1));
  EXPECT_THAT(peers_of(distance_doubling, 0, 4), ElementsAre(1, 2, 4, 8));
  // rho = 1, -1, 3, -5 modulo 16, from even ranks up and from odd ranks down.
  EXPECT_THAT(peers_of(swing, 0, 4), ElementsAre(1, 15, 3, 11));
  EXPECT_THAT(peers_of(swing, 5, 4), ElementsAre(4, 6, 2, 10));
  EXPECT_THAT(peers_of(bine, 5, 4), ElementsAre(4, 6, 2, 10));
}

// As nu(rank, 8) of src/utils.h in https://github.com/HLC-Lab/bine-trees.
TEST(Butterfly, BineOwnsThePartsThatMakeItsMessagesContiguous) {
  std::vector<int> places;
  for (int participant = 0; participant < 8; ++participant) {
    places.push_back(bine.place(participant, 3));
  }
  EXPECT_THAT(places, ElementsAre(0, 4, 6, 1, 3, 7, 5, 2));
}

TEST(Butterfly, EveryPartnerIsAPartnerInTurn) {
  for (const Butterfly* butterfly : {&recursive_halving, &distance_doubling, &swing, &bine}) {
    for (int rounds = 1; rounds <= 8; ++rounds) {
      for (int step = 0; step < rounds; ++step) {
        for (int participant = 0; participant < 1 << rounds; ++participant) {
          const int peer = butterfly->peer(participant, step, rounds);
          EXPECT_NE(peer, participant);
          EXPECT_EQ(butterfly->peer(peer, step, rounds), participant);
        }
      }
    }
  }
}

TEST(Butterfly, BineSendsOneMessageAStepWhereSwingSendsItsRunsOfParts) {
  EXPECT_EQ(largest_volume("rabenseifner", 64).messages_sent, 12U);
  EXPECT_EQ(largest_volume("bine", 64).messages_sent, 12U);
  EXPECT_GT(largest_volume("swing", 64).messages_sent, 12U);
  EXPECT_EQ(largest_volume("swing", 64).bytes_sent, largest_volume("bine", 64).bytes_sent);
}

}  // namespace
}  // namespace tutti
