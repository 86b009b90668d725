// SimWorld: ranks as SimGrid actors on a Shape.
#pragma once

#include <memory>

#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Each run() is a simulation of its own, in a forked process (SimGrid has one engine a process).
/// Beside a SimulatedWorld's errors: system if the process could not be started or crashed.
///
/// Cost: about 1.5 ms a run and 3 us a message. The caller must have no threads. Files that the
/// program writes to are to be flushed before it returns.
class SimWorld final : public SimulatedWorld {
 public:
  /// Error(usage) if the shape has fewer ranks, size < 1, or the model is exact, which SimGrid has
  /// not.
  SimWorld(Shape shape, int size, SimOptions options = {});
  ~SimWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;
  std::string_view engine() const override { return "simgrid"; }
  std::string describe() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti
