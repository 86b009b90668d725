// One run of the chaos test, in a process of its own that is watched.
#pragma once

#include <string>

#include "exec/fork_world.hpp"
#include "tests/chaos/scenario.hpp"

namespace tutti {

/// How a run ended.
struct Verdict {
  bool has_failed = false;     ///< The run ended with an Error, as it may where a rank is hit.
  std::string complaint = {};  ///< What must not be; "" if all is well.
  std::string error = {};      ///< The text of the run's Error.
};

/// Runs it and causes its trouble. Afterwards no process, descriptor, listening port or shared
/// memory segment may be left. The caller has no other children and is their subreaper.
Verdict run_scenario(const Scenario& scenario, Wire wire);

}  // namespace tutti
