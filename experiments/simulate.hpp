// simulate: how long would collectives take on a cluster of this shape?
#pragma once

#include <string>

#include "collectives/channel.hpp"
#include "experiments/cluster.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/rows.hpp"
#include "experiments/trial.hpp"

namespace tutti {

struct SimulateFlags {
  QuestionFlags question;
  ClusterFlags cluster;
  ConditionFlags conditions;
  bool check = false;  ///< Also move and check real data, which takes memory.
  /// Of simulated time that one run may take.
  double timeout_seconds = no_deadline;
  Format format = Format::table;
  std::string trace;
};

/// Prints a row per size and algorithm; with groups, its time is the slowest one's. Returns whether
/// all results that were checked were right.
bool simulate(const SimulateFlags& flags, Output& output);

}  // namespace tutti
