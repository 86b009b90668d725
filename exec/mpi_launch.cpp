#include "exec/mpi_launch.hpp"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "exec/mpi_module.hpp"

namespace tutti {
namespace {

// Beside the executable, where the build and the installation put it.
std::filesystem::path module_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / mpi_module_name;
}

// -1 where the variable is not set to a number.
int number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return -1;
  const char* const end = text + std::strlen(text);
  int number = -1;
  const auto result = std::from_chars(text, end, number);
  return result.ec == std::errc() && result.ptr == end ? number : -1;
}

// The variables of a launcher.
struct Names {
  const char* rank = "";
  const char* size = "";
};

constexpr std::array launchers = {
    Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // Open MPI.
    Names{"PMI_RANK", "PMI_SIZE"},                          // MPICH and its kin.
    Names{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},          // srun.
};

}  // namespace

bool mpi_available() {
  return std::filesystem::exists(module_path());
}

Launch mpi_launch() {
  for (const Names& names : launchers) {
    const Launch launch{number_in_environment(names.rank), number_in_environment(names.size)};
    if (launch.size >= 1 && launch.rank >= 0 && launch.rank < launch.size) return launch;
  }
  return {};
}

std::unique_ptr<JoinedTransport> join_mpi() {
  if (!mpi_available()) {
    throw Error(ErrorKind::usage,
                fmt::format("this build has no mpi transport: {} does not exist; install an MPI "
                            "(libopenmpi-dev) and build again",
                            module_path().string()));
  }
  // SimGrid, which the program may be linked with, has functions of the same names as MPI; those of
  // the module's own libraries go before them.
  constexpr int own_first = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  void* const module = dlopen(module_path().c_str(), own_first);
  void* const entry = module == nullptr ? nullptr : dlsym(module, mpi_entry_name);
  if (entry == nullptr) {
    throw Error(ErrorKind::system, fmt::format("cannot load mpi: {}", dlerror()));
  }
  std::string message;
  auto transport = reinterpret_cast<MpiEntry>(entry)(message);
  if (transport == nullptr) throw Error(ErrorKind::system, "cannot start mpi: " + message);
  const int launched = mpi_launch().size;
  if (transport->size() == 1 && launched > 1) {
    throw Error(ErrorKind::usage,
                fmt::format("the launcher has started {} processes, but each sees only itself by "
                            "mpi; start them by the mpirun of the MPI that tutti was built with, "
                            "or by srun --mpi=pmix",
                            launched));
  }
  return transport;
}

}  // namespace tutti
