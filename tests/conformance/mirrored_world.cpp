#include "tests/conformance/mirrored_world.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

namespace tutti {
namespace {

// Bytes that a rank has changed, one after the other; they follow in the text.
struct Change {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

MirroredWorld::MirroredWorld(std::unique_ptr<World> world, JoinedTransport& transport,
                             double timeout_seconds)
    : World(world->size(), world->lanes()),
      world_(std::move(world)),
      transport_(transport),
      timeout_seconds_(timeout_seconds) {}

std::byte* MirroredWorld::allocate(std::size_t bytes) {
  regions_.push_back({world_->allocate(bytes), bytes});
  return regions_.back().data;
}

void MirroredWorld::run(const Program& program) {
  std::vector<std::byte> before;
  for (const Region& region : regions_) {
    before.insert(before.end(), region.data, region.data + region.bytes);
  }
  std::exception_ptr failure;
  try {
    world_->run(program);
  } catch (...) {
    failure = std::current_exception();
  }
  for (const std::string& changes : transport_.exchange(changes_since(before), timeout_seconds_)) {
    apply(changes);
  }
  if (failure) std::rethrow_exception(failure);
}

void MirroredWorld::fetch(int rank, std::byte* data, std::size_t bytes) {
  world_->fetch(rank, data, bytes);
}

std::string MirroredWorld::changes_since(const std::vector<std::byte>& before) const {
  std::string changes;
  const std::byte* old = before.data();
  for (std::size_t index = 0; index < regions_.size(); old += regions_[index++].bytes) {
    const Region& region = regions_[index];
    if (region.bytes == 0 || std::memcmp(region.data, old, region.bytes) == 0) continue;
    for (std::size_t i = 0; i < region.bytes;) {
      std::size_t end = i;
      while (end < region.bytes && region.data[end] != old[end]) ++end;
      if (end > i) {
        const Change change{index, i, end - i};
        changes.append(reinterpret_cast<const char*>(&change), sizeof change);
        changes.append(reinterpret_cast<const char*>(region.data + i), end - i);
      }
      i = end + 1;
    }
  }
  return changes;
}

void MirroredWorld::apply(const std::string& changes) const {
  for (std::size_t i = 0; i < changes.size();) {
    Change change;
    std::memcpy(&change, changes.data() + i, sizeof change);
    i += sizeof change;
    std::memcpy(regions_.at(change.region).data + change.offset, changes.data() + i, change.bytes);
    i += change.bytes;
  }
}

}  // namespace tutti
