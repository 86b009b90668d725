#include "exec/gloo_reference.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "collectives/bruck.hpp"
#include "exec/fork_world.hpp"
#include "exec/gloo_module.hpp"

namespace tutti {
namespace {

// Tells failures among gloo's ranks from those of the process that forks them.
const std::string group_prefix = "gloo: ";

// Beside the executable, where the build and the installation put it.
std::filesystem::path module_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / gloo_module_name;
}

GlooEntry load_module() {
  // Ranks share the machine: one thread each.
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const module = dlopen(module_path().c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const entry = module == nullptr ? nullptr : dlsym(module, gloo_entry_name);
  if (entry == nullptr) {
    throw Error(ErrorKind::system, fmt::format("cannot load gloo: {}", dlerror()));
  }
  return reinterpret_cast<GlooEntry>(entry);
}

// A file without a name, which goes with the last process that has it.
std::string make_store() {
  const int descriptor = memfd_create("tutti-gloo-store", 0);
  if (descriptor < 0) {
    throw Error(ErrorKind::system,
                fmt::format("cannot make a store for gloo: {}", std::strerror(errno)));
  }
  return fmt::format("/proc/self/fd/{}", descriptor);
}

void run_ranks(int ranks, const GlooJob& job, GlooEntry entry, const std::string& store_path) {
  ForkWorld world(ranks, {.timeout_seconds = job.timeout_seconds});
  try {
    world.run([&](Rank& rank) {
      GlooJob own = job;
      own.rank = rank.index();
      own.ranks = ranks;
      own.store_path = store_path;
      if (job.seconds != nullptr) own.seconds = job.seconds + rank.index() * job.iterations;
      own.barrier = [&] { barrier_dissemination(rank.channel()); };
      std::string message;
      entry(own, message);
      if (message.empty()) return;
      throw Error(ErrorKind::system, fmt::format("rank {}: {}", rank.index(), message),
                  rank.index());
    });
  } catch (const Error& error) {
    throw Error(error.kind(), group_prefix + error.what(), error.rank());
  }
}

// One process loads libtorch and forks the ranks before that has any thread, so that the loading is
// paid once and the caller stays free of it.
void run_in_group(int ranks, const GlooJob& job) {
  ForkWorld loader(1, {.timeout_seconds = job.timeout_seconds});
  try {
    loader.run([&](Rank&) { run_ranks(ranks, job, load_module(), make_store()); });
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(group_prefix)) throw;
    throw Error(
        error.kind(),
        fmt::format("the process that loads gloo, rank 0 of its own world: {}", error.what()),
        error.rank());
  }
}

void check_case(int ranks, const GlooCase& gloo_case) {
  check(gloo_case.data.size() == static_cast<std::size_t>(ranks),
        "a gloo case of {} ranks has data of {}", ranks, gloo_case.data.size());
  for (const Block block : gloo_case.data) {
    check(block.is_empty() || !block.is_ghost(), "gloo needs real blocks");
    check(block.count == gloo_case.data[0].count && block.dtype == gloo_case.data[0].dtype,
          "the blocks of a gloo case differ in count or dtype");
  }
  if (!gloo_supports(gloo_case.data[0].dtype)) {
    throw Error(ErrorKind::usage, fmt::format("gloo does not know {}; use float16 or float32",
                                              name_of(gloo_case.data[0].dtype)));
  }
  const std::size_t count = gloo_case.data[0].count;
  if (gloo_case.collective == Collective::alltoall && count % gloo_case.data.size() != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("gloo's alltoall has equal parts only, but {} ranks do not divide {} "
                            "elements",
                            ranks, count));
  }
  if (reduces(gloo_case.collective) &&
      (gloo_case.op == Op::average || gloo_case.op == Op::replace)) {
    throw Error(ErrorKind::usage, fmt::format("gloo has no {}; it has sum, product, min and max",
                                              name_of(gloo_case.op)));
  }
}

void check_available() {
  if (gloo_available()) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("this build has no gloo: {} does not exist; build with TUTTI_WITH_TORCH=ON",
                  module_path().string()));
}

}  // namespace

bool gloo_available() {
  return std::filesystem::exists(module_path());
}

bool gloo_supports(DType dtype) {
  return dtype != DType::bfloat16;
}

void run_gloo(int ranks, const std::vector<GlooCase>& cases, double timeout_seconds) {
  check_available();
  for (const GlooCase& gloo_case : cases) check_case(ranks, gloo_case);
  GlooJob job;
  job.timeout_seconds = timeout_seconds;
  job.cases = cases;
  run_in_group(ranks, job);
}

std::vector<double> time_gloo(int ranks, const GlooCase& gloo_case, int warmup, int iterations,
                              double timeout_seconds) {
  check_available();
  check_case(ranks, gloo_case);
  const auto iteration_count = static_cast<std::size_t>(iterations);
  SharedArena arena;
  auto* const seconds = reinterpret_cast<double*>(
      arena.allocate(static_cast<std::size_t>(ranks) * iteration_count * sizeof(double)));
  GlooJob job;
  job.timeout_seconds = timeout_seconds;
  job.cases = std::span(&gloo_case, 1);
  job.warmup = warmup;
  job.iterations = iterations;
  job.seconds = seconds;
  run_in_group(ranks, job);
  std::vector<double> slowest(seconds, seconds + iteration_count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(ranks) * iteration_count; ++i) {
    slowest[i % iteration_count] = std::max(slowest[i % iteration_count], seconds[i]);
  }
  return slowest;
}

}  // namespace tutti
