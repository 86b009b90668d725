// MirroredWorld: joined processes that seem to share their memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collectives/world.hpp"
#include "exec/joined_world.hpp"

namespace tutti {

/// After each run, failed or not, every process gets what the others changed in allocated memory,
/// so that tests need not know whose memory it is that they read.
class MirroredWorld final : public World {
 public:
  /// `transport` is that of `world` and outlives both.
  MirroredWorld(std::unique_ptr<World> world, JoinedTransport& transport, double timeout_seconds);

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;
  void fetch(int rank, std::byte* data, std::size_t bytes) override;

 private:
  struct Region {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  std::string changes_since(const std::vector<std::byte>& before) const;
  void apply(const std::string& changes) const;

  std::unique_ptr<World> world_;
  JoinedTransport& transport_;
  const double timeout_seconds_;
  std::vector<Region> regions_;
};

}  // namespace tutti
