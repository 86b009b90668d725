// Study: the points of a what-if question, all checked before any of them runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/cluster.hpp"
#include "experiments/question.hpp"
#include "experiments/trial.hpp"

namespace tutti {

/// A study as typed.
struct StudyFlags {
  std::string collectives = "allreduce";
  std::vector<std::string> topologies;
  ClusterFlags cluster;           ///< Without its topology.
  std::vector<std::string> axes;  ///< "KEY=VALUES", see parse_axis().
  std::string algorithms = "all";
  int ranks = 0;        ///< 0: all that there is room for.
  bool resize = false;  ///< Whether topologies get room for exactly the ranks that are asked for.
  std::string dtype = "float32";
  std::string op = "sum";
  int root = 0;
  Tuning tuning;
  LevelNames levels;
  std::string rules;                     ///< See QuestionFlags.
  std::vector<int> members;              ///< The ranks that take part; none: all.
  std::vector<std::size_t> part_counts;  ///< Elements of each rank's part, instead of sizes.
  ConditionFlags conditions;
  double limit_seconds = no_deadline;  ///< Of simulated time, for each run.
};

struct NamedValue {
  std::string name;
  std::string value;

  bool operator==(const NamedValue&) const = default;
};

/// A cluster of the study.
struct Site {
  std::string topology;            ///< As typed.
  std::vector<NamedValue> varied;  ///< What of it varies, but for ranks.
  Cluster cluster;
  Conditions conditions;
  int ranks = 1;              ///< In each collective: all, or those of the largest group.
  std::vector<int> sizes;     ///< Different numbers of ranks in a collective, the largest first.
  Shape shape;                ///< With the ranks of the largest.
  std::string topology_hash;  ///< Of the shape as changed, and of its file.
  std::string content;        ///< A hash of all that the times depend on, but for the job.

  /// Of its topology, for tables: "ring.yaml".
  std::string file_name() const;
};

/// One job at one site.
struct Point {
  std::size_t site = 0;
  Job job;
  std::vector<NamedValue> varied;  ///< What of the job varies beside size and algorithm.
  std::string key;                 ///< Of its result: equal for equal points, whatever the study.

  /// How much work it is, about: for estimates of the time left.
  double weight = 1.0;
};

struct Study {
  std::vector<std::shared_ptr<const Site>> sites;
  std::vector<Point> points;       ///< By collective, site, what varies of the job, and algorithm.
  std::vector<std::string> notes;  ///< What was left out.
};

/// Throws Error(usage) and ShapeError for whatever could not run, naming the flag or the value of
/// --vary and the nearest valid name.
Study plan_study(const StudyFlags& flags);

/// The names that --vary knows beside keys of topologies.
extern const char* const axis_names_help;

}  // namespace tutti
