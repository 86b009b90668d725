// The ranks of a run in an emulated network, each a process of its own.
#pragma once

#include <string>
#include <vector>

#include "emulation/emulated_network.hpp"

namespace tutti {

/// How the ranks ended, where not all did well.
struct RanksOutcome {
  int exit_code = 0;               ///< 0 if all did well, else that of the first to fail.
  std::vector<std::string> notes;  ///< Who failed and how, but for what rank 0 said itself.
};

/// Runs `command`, a program and its arguments, once for each rank, in the namespace of its host,
/// with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them, and LOCAL_RANK and
/// LOCAL_WORLD_SIZE as on one machine. Rank 0 has the output and errors of this process; the errors
/// of the others are kept, and become notes of those that fail first or otherwise than rank 0. A
/// rank that a signal killed counts as exit code 3. Five seconds after the first failure those that
/// still run are killed. Throws Error(system).
RanksOutcome run_ranks(const EmulatedNetwork& network, const std::vector<std::string>& command);

}  // namespace tutti
