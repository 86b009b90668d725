// replay: how long does a plan from a file take on a cluster of this shape?
#pragma once

#include <string>

#include "experiments/cluster.hpp"
#include "experiments/output.hpp"

namespace tutti {

/// The flags of replay, as typed.
struct ReplayFlags {
  std::string file;
  ClusterFlags cluster;
  bool json = false;
};

/// Simulates the plan and prints its times.
void replay_plan(const ReplayFlags& flags, Output& output);

}  // namespace tutti
