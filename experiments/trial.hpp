// Trial: one job on a simulated cluster, under conditions: noise, groups, repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/channel.hpp"
#include "experiments/cluster.hpp"
#include "experiments/engine.hpp"
#include "experiments/measure.hpp"
#include "experiments/noise.hpp"
#include "experiments/question.hpp"
#include "experiments/rank_groups.hpp"
#include "experiments/trace_file.hpp"
#include "experiments/why.hpp"

namespace tutti {

/// Conditions as typed.
struct ConditionFlags {
  std::vector<std::string> jitters = {};
  int repetitions = 1;
  std::uint64_t seed = 1;
  std::string groups = {};
  int repeat = 1;
  bool why = false;
};

struct Conditions {
  std::vector<Jitter> jitters;
  int repetitions = 1;
  std::uint64_t seed = 1;
  std::vector<ContendingGroup>
      groups;      ///< All at once, each with the job of its own; none: all ranks.
  int repeat = 1;  ///< Collectives back to back, without a barrier.
  bool why = false;
  double limit_seconds = no_deadline;
};

/// Throws Error(usage), also for repetitions that would all be equal.
Conditions understand(const ConditionFlags& flags, int ranks);

/// What all rows are about, for comments and notes: "start=exponential:20us, 50 repetitions, seed
/// 7"; "" for a lone collective of all ranks without noise.
std::string describe(const ConditionFlags& flags);

struct Trial {
  Timing timing;                      ///< Over the repetitions; each is time / repeat.
  std::vector<double> group_seconds;  ///< The mean, by group, where there are several.
  std::vector<double> wait_seconds;   ///< The mean, by rank; see Observation.
  std::optional<Culprit> awaited;     ///< What most of the critical paths waits for.
  double awaited_share = 0.0;         ///< Of the time of all repetitions.
  std::optional<Why> why;             ///< Of the first repetition.
  std::string engine;
  std::string model;
};

/// On ghosts. Waits and culprits are looked at where the conditions ask why, or where there is
/// noise or a straggler. Throws what the world's run() throws.
Trial run_trial(const Cluster& cluster, Engine engine, const Job& job, const Conditions& conditions,
                const TraceFile& trace);

}  // namespace tutti
