// Fit: a model of this machine from a short measurement.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/dtype.hpp"
#include "collectives/world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// One message of `bytes` took `seconds`, with or without the reduction of what it brought.
struct MessageTime {
  std::size_t bytes = 0;
  bool reduced = false;
  double seconds = 0.0;
};

/// The alpha, beta, gamma >= 0 that give the smallest sum of squared relative errors, so that small
/// messages count as much as large ones. Needs at least one message of positive time.
CostModel fit_cost_model(std::span<const MessageTime> messages);

/// Who else is busy while messages are timed.
enum class Load {
  alone,  ///< Nobody: ranks 0 and 1 send to and fro, the others sleep.
  full,   ///< Everybody: all pairs of neighbours (0-1, 2-3, ...) exchange at once.
};

/// Times messages of 64 B to about `largest_bytes`, in chains of a few as in a collective: medians
/// of the slowest rank's times. `world` has at least two ranks. Takes about a second.
std::vector<MessageTime> measure_messages(World& world, DType dtype, Op op, Load load,
                                          std::size_t largest_bytes);

/// Ranks that share a machine's cores and memory.
struct MachineModel {
  /// alpha and gamma with all ranks busy, beta of a message alone.
  CostModel cost;
  /// Seconds per byte of each message when all ranks receive at once.
  double loaded_beta_seconds_per_byte = 0.0;
};

MachineModel measure_machine(World& world, DType dtype, Op op, std::size_t largest_bytes);

/// A star with these figures; if messages slow each other down, all of them also cross one medium
/// that carries what `ranks` messages at once were measured to get.
Shape shape_of(const MachineModel& machine, int ranks);

}  // namespace tutti
