// World: N ranks and the memory they share with the caller, on any substrate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>

#include "collectives/channel.hpp"

namespace tutti {

/// One running rank, as its program sees it. A substrate derives from it.
class Rank {
 public:
  virtual ~Rank() = default;
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int index() const { return index_; }
  int size() const { return size_; }

  /// The channel of `lane` (0 <= lane < World::lanes()); always the same object. Lanes are
  /// independent of each other; each is used by one task at a time.
  virtual Channel& channel(int lane = 0) = 0;

  /// Runs `task` beside the program: a thread in a real world, an actor on the same host in a
  /// simulated one. All tasks are joined when the rank's program returns; a task's failure is the
  /// rank's failure. A task uses a lane that nobody else uses meanwhile, and may outlive the
  /// program's own variables.
  virtual void spawn(std::function<void()> task) = 0;

  /// A generator of the rank's own, seeded by the world's seed and the rank.
  std::mt19937_64& random();

 protected:
  Rank(int index, int size, std::uint64_t seed) : index_(index), size_(size), seed_(seed) {}

 private:
  const int index_;
  const int size_;
  const std::uint64_t seed_;
  std::unique_ptr<std::mt19937_64> random_;  // Once asked for: it is large and slow to seed.
};

using Program = std::function<void(Rank&)>;

/// A set of ranks that can run a program. A world may run several programs, one after another.
class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return size_; }
  int lanes() const { return lanes_; }

  /// Zeroed memory, aligned to 128 bytes, that all ranks and the caller see at the same address, so
  /// that a program's results can be read after run() and fetch(). It lives as long as the world.
  /// Only between runs. Throws Error(system) when there is none. `bytes` may be 0.
  virtual std::byte* allocate(std::size_t bytes) = 0;

  /// Runs `program` once on every rank and returns when all have ended. The ranks see the caller's
  /// variables as they were; what they write outside allocate()d memory is lost or unspecified.
  /// If ranks fail, the first failure is thrown, with its rank; the others are stopped.
  virtual void run(const Program& program) = 0;

  /// Between runs: makes what `rank` wrote into [data, data + bytes), memory from allocate(),
  /// visible to the caller. A no-op where the ranks share their memory with the caller. Where each
  /// rank is a process with a caller of its own, all callers must fetch the same, in the same
  /// order.
  virtual void fetch(int rank, std::byte* data, std::size_t bytes);

  /// A block of `count` elements in memory from allocate().
  Block allocate_block(std::size_t count, DType dtype) {
    return Block{allocate(count * bytes_of(dtype)), count, dtype};
  }

 protected:
  World(int size, int lanes) : size_(size), lanes_(lanes) {}

 private:
  const int size_;
  const int lanes_;
};

/// Throws what World::run() throws where `failure` was the first and `rank` failed with it: an
/// Error gets the rank, a ContractError is prefixed with it, any other exception becomes
/// Error(system).
[[noreturn]] void throw_failure(const std::exception_ptr& failure, int rank);

}  // namespace tutti
