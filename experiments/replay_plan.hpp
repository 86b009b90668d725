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
  std::string bytes;  ///< Of an MSCCL file's buffer.
  int root = 0;       ///< Of its collective.
  bool json = false;
};

/// Simulates the plan and prints its times, and of an MSCCL file whether it is proved. Returns
/// false where its result would be wrong.
bool replay_plan(const ReplayFlags& flags, Output& output);

}  // namespace tutti
