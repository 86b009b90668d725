// Groups: every collective on any subset of a world's ranks, in any order.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/bruck.hpp"
#include "collectives/checked.hpp"
#include "collectives/group_world.hpp"
#include "collectives/sub_channel.hpp"
#include "tests/collectives/exercise.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

using Group = std::vector<int>;

constexpr int world_size = 7;
constexpr std::size_t part_count = 3;

bool contains(const Group& group, int rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

// Ranks of groups as they are numbered in the group around.
Group ranks_in(const Group& outer, const Group& inner) {
  Group ranks;
  for (const int index : inner) ranks.push_back(outer[static_cast<std::size_t>(index)]);
  return ranks;
}

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {
 protected:
  EveryAlgorithm() : world_(world_size) {
    for (int rank = 0; rank < world_size; ++rank) {
      blocks_.push_back(world_.allocate_block(world_size * part_count, DType::int32));
    }
  }

  // In groups of that size, with its last rank as the root.
  static Exercise exercise(const Group& group, const Algorithm& algorithm = *GetParam()) {
    const int root = is_rooted(algorithm.collective) ? static_cast<int>(group.size()) - 1 : 0;
    return {algorithm.collective, std::vector<std::size_t>(group.size(), part_count), root};
  }

  static bool supports(const Group& group, const Algorithm& algorithm = *GetParam()) {
    return algorithm.supports(
        {.ranks = static_cast<int>(group.size()), .count = group.size() * part_count});
  }

  Block block(const Group& group, int rank) const {
    return blocks_[static_cast<std::size_t>(rank)].slice(0, group.size() * part_count);
  }

  void fill(const Group& group, const Algorithm& algorithm = *GetParam()) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      exercise(group, algorithm).fill(block(group, group[i]), static_cast<int>(i));
    }
  }

  // As one rank, numbered `world_rank` in the world, in the group that `channel` is.
  void run_in(Channel& channel, const Group& group, int world_rank,
              const Algorithm& algorithm = *GetParam()) const {
    Checked checked(channel);
    run(algorithm, checked,
        {.output = block(group, world_rank), .root = exercise(group, algorithm).root});
  }

  void expect_results(const Group& group, const Algorithm& algorithm = *GetParam()) const {
    const Exercise done = exercise(group, algorithm);
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int index = static_cast<int>(i);
      const Block result = done.division().result_of(block(group, group[i]), index);
      EXPECT_TRUE(done.has_result(result, index)) << testing::PrintToString(group);
    }
  }

  LoopbackWorld world_;

 private:
  std::vector<Block> blocks_;
};

TEST_P(EveryAlgorithm, WorksInAnySubsetOfTheRanksInAnyOrder) {
  for (const Group& group : {Group{4},
                             {6, 1},
                             {5, 0, 3},
                             {2, 6, 4, 1},
                             {3, 2, 6, 0, 5},
                             {0, 1, 2, 4, 5, 6},
                             {6, 5, 4, 3, 2, 1, 0},
                             {3, 0, 6, 1, 5, 2, 4}}) {
    if (!supports(group)) continue;
    fill(group);
    world_.run([&](Rank& rank) {
      if (!contains(group, rank.index())) return;
      SubChannel channel(rank.channel(), group);
      run_in(channel, group, rank.index());
    });
    expect_results(group);
  }
}

TEST_P(EveryAlgorithm, WorksInTwoDisjointGroupsAtOnce) {
  const std::vector<std::vector<Group>> divisions = {
      {{6, 1, 3}, {0, 5, 2, 4}}, {{2, 0}, {1, 6, 4, 3}}, {{5, 3, 1}, {0, 2, 4}}};
  for (const std::vector<Group>& groups : divisions) {
    if (!supports(groups[0]) || !supports(groups[1])) continue;
    for (const Group& group : groups) fill(group);
    world_.run([&](Rank& rank) {
      for (const Group& group : groups) {
        if (!contains(group, rank.index())) continue;
        SubChannel channel(rank.channel(), group);
        run_in(channel, group, rank.index());
      }
    });
    for (const Group& group : groups) expect_results(group);
  }
}

TEST_P(EveryAlgorithm, WorksBesideAnyOtherCollectiveInADisjointGroup) {
  const Group own = {6, 1, 3, 4}, other = {5, 0, 2};
  for (const Collective collective : all_collectives()) {
    const Algorithm& neighbor = *algorithms_of(collective).front();
    ASSERT_TRUE(supports(own) && supports(other, neighbor));
    fill(own);
    fill(other, neighbor);
    world_.run([&](Rank& rank) {
      const bool is_own = contains(own, rank.index());
      const Group& group = is_own ? own : other;
      SubChannel channel(rank.channel(), group);
      run_in(channel, group, rank.index(), is_own ? *GetParam() : neighbor);
    });
    expect_results(own);
    expect_results(other, neighbor);
  }
}

TEST_P(EveryAlgorithm, WorksInGroupsOfGroups) {
  const Group outer = {6, 2, 5, 0, 1, 3};
  for (const Group& inner : {Group{3, 0, 4, 5}, {5, 1}, {2, 0, 1}, {0, 1, 2, 3, 4, 5}}) {
    const Group ranks = ranks_in(outer, inner);
    if (!supports(ranks)) continue;
    fill(ranks);
    world_.run([&](Rank& rank) {
      if (!contains(ranks, rank.index())) return;
      SubChannel outer_channel(rank.channel(), outer);
      SubChannel channel(outer_channel, inner);
      run_in(channel, ranks, rank.index());
    });
    expect_results(ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : catalogue()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

TEST(GroupWorld, RunsMembersOnlyRenumberedInTheirOrder) {
  LoopbackWorld all(5);
  GroupWorld world(all, {4, 0, 2});
  auto* const seen = reinterpret_cast<std::int32_t*>(world.allocate(3 * sizeof(std::int32_t)));
  std::atomic<int> started = 0;
  world.run([&](Rank& rank) {
    ++started;
    // From its lower neighbour, whose number it adds to ten times its own.
    const Block mine = Block{reinterpret_cast<std::byte*>(seen + rank.index()), 1, DType::int32};
    std::int32_t number = rank.index();
    const Block out{reinterpret_cast<std::byte*>(&number), 1, DType::int32};
    rank.channel().sendrecv((rank.index() + 1) % 3, out, (rank.index() + 2) % 3, mine);
    seen[rank.index()] += 10 * rank.index() + 100 * rank.size();
  });
  EXPECT_EQ(started, 3);
  EXPECT_EQ((std::vector<int>{seen, seen + 3}), (std::vector<int>{302, 310, 321}));
}

TEST(GroupWorld, TasksUseLanesOfTheirOwn) {
  LoopbackWorld all(4, {.lanes = 2});
  GroupWorld world(all, {3, 1});
  std::atomic<int> met = 0;
  world.run([&](Rank& rank) {
    rank.spawn([&met, &channel = rank.channel(1)] {
      barrier_dissemination(channel);
      ++met;
    });
    barrier_dissemination(rank.channel());
    ++met;
  });
  EXPECT_EQ(met, 4);
}

TEST(GroupWorld, AFailureNamesTheRankAsTheWorldAroundNumbersIt) {
  LoopbackWorld all(4);
  GroupWorld world(all, {1, 3});
  try {
    world.run([](Rank& rank) {
      if (rank.index() == 1) throw Error(ErrorKind::system, "broken");
    });
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.rank(), 3);
  }
}

TEST(GroupWorld, NoMembersAreAllRanksAsTheyWere) {
  LoopbackWorld all(3);
  std::optional<GroupWorld> group;
  EXPECT_EQ(&among(all, {}, group), &all);
  EXPECT_EQ(among(all, {2, 1}, group).size(), 2);
}

}  // namespace
}  // namespace tutti
