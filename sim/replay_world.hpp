// ReplayWorld: ranks as fibers on an event loop of our own, for sizes that SimGrid cannot reach.
#pragma once

#include <memory>

#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// The algorithms run unchanged, one fiber a rank, in the caller's process. Models: alpha_beta and
/// window (links: flows share links as in SimGrid's CM02, fluidly), exact (no contention).
///
/// A program's stack is limited (stack_bytes()), and guarded only up to 16,384 ranks. A crash in a
/// program is one of the caller. Ranks see what the caller and other ranks write, but only memory
/// of allocate() is promised to hold it.
class ReplayWorld final : public SimulatedWorld {
 public:
  /// Error(usage) if the shape has fewer ranks, size < 1, the model is lv08, or the shape is a
  /// platform file, which only SimGrid understands.
  ReplayWorld(Shape shape, int size, SimOptions options = {});
  ~ReplayWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

  /// Calls the program of one rank after the other to write down what they do, and then gives that
  /// its times; as run() does it, where that is not possible (see Recording) or observations are
  /// asked for.
  void run_repeatable(const Program& program) override;
  std::string_view engine() const override { return "replay"; }
  std::string describe() const override;

  /// Messages that the last run has finished.
  std::size_t messages() const;

 private:
  struct State;

  bool run_recorded(const Program& program);

  std::unique_ptr<State> state_;
};

}  // namespace tutti
