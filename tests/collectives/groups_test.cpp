// Groups: every collective on any subset of a world's ranks, in any order.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/checked.hpp"
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
  static Exercise exercise(const Group& group) {
    const int root = is_rooted(GetParam()->collective) ? static_cast<int>(group.size()) - 1 : 0;
    return {GetParam()->collective, std::vector<std::size_t>(group.size(), part_count), root};
  }

  static bool supports(const Group& group) {
    return GetParam()->supports(
        {.ranks = static_cast<int>(group.size()), .count = group.size() * part_count});
  }

  Block block(const Group& group, int rank) const {
    return blocks_[static_cast<std::size_t>(rank)].slice(0, group.size() * part_count);
  }

  void fill(const Group& group) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      exercise(group).fill(block(group, group[i]), static_cast<int>(i));
    }
  }

  // As one rank, numbered `world_rank` in the world, in the group that `channel` is.
  void run_in(Channel& channel, const Group& group, int world_rank) const {
    Checked checked(channel);
    run(*GetParam(), checked, {.output = block(group, world_rank), .root = exercise(group).root});
  }

  void expect_results(const Group& group) const {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int index = static_cast<int>(i);
      const Block result = exercise(group).result_of(block(group, group[i]), index);
      EXPECT_TRUE(exercise(group).has_result(result, index)) << testing::PrintToString(group);
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

}  // namespace
}  // namespace tutti
