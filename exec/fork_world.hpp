// ForkWorld: ranks as forked processes that talk through shared memory.
#pragma once

#include <cstdint>

#include "collectives/world.hpp"
#include "exec/cores.hpp"
#include "process/shared_memory.hpp"

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
/// The first rank to fail makes the others fail with Error(peer_lost) at their next wait, and its
/// failure is what run() throws: its own Error or ContractError; Error(system) for any other
/// exception; Error(peer_lost) where its process was killed or ended by itself, with where each of
/// the others was. Half a second later what still runs is killed. Messages that were sent but never
/// received are an Error(mismatch). A rank whose program returns early does not disturb those that
/// need nothing more of it. If the caller dies, the ranks die with it. Nothing is left in /dev/shm.
class ForkWorld final : public World {
 public:
  explicit ForkWorld(int size, ForkOptions options = {});

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

 private:
  ForkOptions options_;
  SharedArena arena_;
};

}  // namespace tutti
