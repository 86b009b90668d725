// Whether this process is one of those that mpirun or srun has started, and how to join the others.
#pragma once

#include <memory>

#include "exec/joined_world.hpp"

namespace tutti {

/// True where this build has the mpi transport.
bool mpi_available();

/// What a launcher has written into the environment of each process that it started. A process that
/// no launcher has started is alone.
struct Launch {
  int rank = 0;
  int size = 1;
};
Launch mpi_launch();

/// Joins all processes of the launch, which do the same; one that is alone is a world of one. Once
/// a process. Throws Error(usage) where !mpi_available() or MPI does not see the others,
/// Error(system) where it cannot be loaded or started.
std::unique_ptr<JoinedTransport> join_mpi();

}  // namespace tutti
