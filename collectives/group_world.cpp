#include "collectives/group_world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "collectives/sub_channel.hpp"

namespace tutti {
namespace {

class GroupRank final : public Rank {
 public:
  GroupRank(Rank& inner, int index, const std::vector<int>& members, int lanes, std::uint64_t seed)
      : Rank(index, static_cast<int>(members.size()), seed),
        inner_(inner),
        members_(members),
        channels_(static_cast<std::size_t>(lanes)) {}

  Channel& channel(int lane) override {
    Channel& inner = inner_.channel(lane);
    auto& own = channels_[static_cast<std::size_t>(lane)];
    if (own == nullptr) own = std::make_unique<SubChannel>(inner, members_);
    return *own;
  }

  void spawn(std::function<void()> task) override { inner_.spawn(std::move(task)); }

 private:
  Rank& inner_;
  const std::vector<int>& members_;
  std::vector<std::unique_ptr<SubChannel>> channels_;
};

}  // namespace

GroupWorld::GroupWorld(World& inner, std::vector<int> members, std::uint64_t seed)
    : World(static_cast<int>(members.size()), inner.lanes()),
      inner_(inner),
      members_(std::move(members)),
      seed_(seed) {}

void GroupWorld::run(const Program& program) {
  // They outlive the tasks that ranks spawn.
  std::vector<std::unique_ptr<GroupRank>> ranks(members_.size());
  inner_.run([&](Rank& inner) {
    const auto found = std::find(members_.begin(), members_.end(), inner.index());
    if (found == members_.end()) return;
    const auto index = static_cast<std::size_t>(found - members_.begin());
    ranks[index] =
        std::make_unique<GroupRank>(inner, static_cast<int>(index), members_, lanes(), seed_);
    program(*ranks[index]);
  });
}

void GroupWorld::fetch(int rank, std::byte* data, std::size_t bytes) {
  inner_.fetch(members_[static_cast<std::size_t>(rank)], data, bytes);
}

World& among(World& world, const std::vector<int>& members, std::optional<GroupWorld>& group) {
  if (members.empty()) return world;
  return group.emplace(world, members);
}

}  // namespace tutti
