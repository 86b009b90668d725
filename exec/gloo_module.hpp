// The seam to libtutti_gloo.so, the only part of the project that links c10d. It is loaded at run
// time, and only into processes that need it: libtorch takes almost half a second to load.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "exec/gloo_reference.hpp"

namespace tutti {

/// What one rank of the process group has to do.
struct GlooJob {
  int rank = 0;
  int ranks = 1;
  std::string store_path;         ///< An empty file that all ranks of the group can open.
  double timeout_seconds = 30.0;  ///< Of each wait.
  std::span<const GlooCase> cases;

  /// Runs of each case; before each the rank's data is restored and `barrier` called.
  int warmup = 0;
  int iterations = 1;
  double* seconds = nullptr;  ///< Of `iterations`, or null.

  /// Returns when all ranks have called it.
  std::function<void()> barrier;
};

/// The module's only symbol. On failure `message` is gloo's; errors of the barrier pass through.
using GlooEntry = void (*)(const GlooJob& job, std::string& message);
inline constexpr const char* gloo_entry_name = "tutti_gloo_run";
inline constexpr const char* gloo_module_name = "libtutti_gloo.so";

}  // namespace tutti
