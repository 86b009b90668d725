// GroupWorld: a subset of a world's ranks as a world of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/world.hpp"

namespace tutti {

/// The ranks `members` of `inner`, renumbered in that order; the others end at once. `inner`
/// outlives it. Members are distinct. A failure carries the number that its rank has in `inner`.
class GroupWorld final : public World {
 public:
  GroupWorld(World& inner, std::vector<int> members, std::uint64_t seed = 1);

  std::byte* allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void run(const Program& program) override;
  void fetch(int rank, std::byte* data, std::size_t bytes) override;

 private:
  World& inner_;
  const std::vector<int> members_;
  const std::uint64_t seed_;
};

/// The world of `members`, made in `group`, which must outlive it; `world` itself where there are
/// none.
World& among(World& world, const std::vector<int>& members, std::optional<GroupWorld>& group);

}  // namespace tutti
