// The seam to libtutti_mpi.so, the only part of the project that links MPI. It is loaded at run
// time, and only into processes that use MPI, so that all others start fast and need none.
#pragma once

#include <memory>
#include <string>

#include "exec/joined_world.hpp"

namespace tutti {

/// The module's only symbol: joins the launch, once a process. Null where that fails, with
/// `message` saying why.
using MpiEntry = std::unique_ptr<JoinedTransport> (*)(std::string& message);
inline constexpr const char* mpi_entry_name = "tutti_mpi_join";
inline constexpr const char* mpi_module_name = "libtutti_mpi.so";

}  // namespace tutti
