// ForkWorld: ranks as forked processes that talk through shared memory.
#pragma once

#include <cstdint>
#include <memory>

#include "collectives/world.hpp"

namespace tutti {

struct ForkOptions {
  /// The longest that one wait may take; after it the rank fails with Error(timeout).
  double timeout_seconds = 30.0;
  int lanes = 1;
  std::uint64_t seed = 0;
};

/// Each run() forks `size` processes and reaps them all, whatever happens. The caller must have no
/// threads. Messages of allocate()d memory are read in place by the receiver.
///
/// When a rank fails, throws or is killed, the others fail with Error(peer_lost) at their next wait;
/// a rank that does not end is killed within a second. If the caller dies, the ranks die with it.
/// Nothing is left in /dev/shm.
class ForkWorld final : public World {
 public:
  explicit ForkWorld(int size, ForkOptions options = {});
  ~ForkWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The processors this process may use: the affinity mask, limited by the control group's quota.
int available_cores();

}  // namespace tutti
