// tutti emulate: runs a command between real processes on a network that is shaped as a topology.
#pragma once

#include <string>
#include <vector>

#include "experiments/output.hpp"
#include "experiments/topology_file.hpp"

namespace tutti {

struct EmulateFlags {
  std::string topology;
  ShapeChanges changes;
  int ranks = 0;      ///< 0: all that the topology has room for.
  int mtu_bytes = 0;  ///< 0: what the fastest link needs.
  bool plan_only = false;
  bool is_program = false;           ///< The command is a program's, not one of tutti.
  std::vector<std::string> command;  ///< Its words.
};

/// Prints what would be made, or makes it, probes it, and runs the command as one process a rank.
/// Returns the exit code: that of the run. What is said about the network goes to stderr, so that
/// the output is that of rank 0. Throws as load_topology() and plan_emulation() do, and
/// Error(system) where the system refuses something or cannot keep up with the links.
int emulate(const EmulateFlags& flags, Output& output);

}  // namespace tutti
