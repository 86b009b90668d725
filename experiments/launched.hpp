// Launched: the command as one of the processes that mpirun or srun has started.
#pragma once

namespace tutti {

/// As run_command_line(). A bench whose --transport is mpi, or that leaves it to the launcher of
/// several processes, and a whatif of several processes, join the others first: all run the
/// command, rank 0 alone speaks, and all end with the same exit code.
int run_launched(int argc, const char* const* argv);

}  // namespace tutti
