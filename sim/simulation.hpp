// Simulation: one run of a program on SimGrid, in a process of its own.
#pragma once

#include <simgrid/s4u.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/outcome.hpp"
#include "sim/sim_channel.hpp"
#include "sim/sim_observer.hpp"
#include "sim/sim_rank.hpp"
#include "sim/sim_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Runs once. The process must not have used SimGrid before and must not do anything else.
class Simulation {
 public:
  /// The outcome and each rank's end are written there; the number of ranks is
  /// `end_seconds.size()`. What is observed goes to `observed`, null for nothing.
  Simulation(const Shape& shape, const SimOptions& options, Outcome& outcome,
             std::span<double> end_seconds, const TemporaryFile* observed);

  /// Runs `program` on all ranks and ends the process with the outcome recorded.
  [[noreturn]] void run(const Program& program);

 private:
  void build_platform();
  void set_overheads();
  [[noreturn]] void fail(int rank, std::exception_ptr failure);
  [[noreturn]] void report_deadlock();
  void check_end() const;

  const Shape& shape_;
  Outcome& outcome_;
  const std::span<double> end_seconds_;
  std::optional<SimObserver> observer_;
  SimStreams streams_;
  simgrid::s4u::Engine engine_;
  std::vector<simgrid::s4u::Host*> hosts_;  ///< By rank.
  std::vector<std::unique_ptr<SimRank>> ranks_;
};

}  // namespace tutti
