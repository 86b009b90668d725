#include "collectives/butterfly.hpp"

#include <gmock/gmock.h>

#include <string>

#include "collectives/plan_check.hpp"
#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

std::vector<int> peers_of(const Butterfly& butterfly, int participant, int participants) {
  std::vector<int> peers;
  for (int step = 0; step < ceil_log2(participants); ++step) {
    peers.push_back(butterfly.peer(participant, step, participants));
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
  EXPECT_THAT(peers_of(recursive_halving, 0, 16), ElementsAre(8, 4, 2, 1));
  EXPECT_THAT(peers_of(distance_doubling, 0, 16), ElementsAre(1, 2, 4, 8));
  // rho = 1, -1, 3, -5 modulo 16, from even ranks up and from odd ranks down.
  EXPECT_THAT(peers_of(swing, 0, 16), ElementsAre(1, 15, 3, 11));
  EXPECT_THAT(peers_of(swing, 5, 16), ElementsAre(4, 6, 2, 10));
  EXPECT_THAT(peers_of(swing, 0, 10), ElementsAre(1, 9, 3, 5));
  EXPECT_THAT(peers_of(swing, 5, 10), ElementsAre(4, 6, 2, 0));
  EXPECT_THAT(peers_of(bine, 5, 16), ElementsAre(4, 6, 2, 10));
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
    for (int size = 2; size <= 256; ++size) {
      const int participants = butterfly->participants(size);
      for (int step = 0; step < ceil_log2(participants); ++step) {
        for (int participant = 0; participant < participants; ++participant) {
          const int peer = butterfly->peer(participant, step, participants);
          EXPECT_NE(peer, participant);
          EXPECT_EQ(butterfly->peer(peer, step, participants), participant);
        }
      }
    }
  }
}

TEST(Butterfly, SwingHasNoSurplusRankForAnyEvenNumberOfRanks) {
  for (int size = 1; size <= 64; ++size) {
    EXPECT_EQ(swing.participants(size), size == 1 ? 1 : size - size % 2);
  }
  EXPECT_EQ(recursive_halving.participants(12), 8);
}

// Each part is given away once and received once, even where two partners both reach its owner.
TEST(Butterfly, SwingMovesEachPartOnceForAnyEvenNumberOfRanks) {
  for (int ranks = 2; ranks <= 64; ranks += 2) {
    const Problem problem{ranks, static_cast<std::size_t>(ranks), 4, 0, {}};
    const Plan plan = plan_to_prove(find_algorithm(Collective::allreduce, "swing"), {problem});
    for (const PlanVolume& volume : volumes(plan)) {
      EXPECT_EQ(volume.bytes_sent, 2 * 4U * static_cast<unsigned>(ranks - 1)) << ranks;
      EXPECT_EQ(volume.bytes_reduced, 4U * static_cast<unsigned>(ranks - 1)) << ranks;
    }
    EXPECT_EQ(depth(plan), 2 * ceil_log2(ranks)) << ranks;
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
