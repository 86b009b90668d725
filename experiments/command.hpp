// Command: what a subcommand of tutti is to the command line.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "experiments/output.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti {

/// Runs what was asked for; returns whether all results were right.
using Command = std::function<bool(Output&)>;

/// The last lines of every --help.
inline constexpr auto exit_codes =
    "\nExit codes: 0 good, 1 a result is wrong, 2 usage, 3 operating error.";

/// Thrown by a command that has said all there is to say.
struct ExitWithCode {
  int code = 0;
};

struct ClusterFlags;
struct ConditionFlags;
struct LevelNames;
struct ShapeChanges;
struct Tuning;

/// --topology, --set, --fail, --straggle, --model and --engine.
void add_cluster(CLI::App& app, ClusterFlags& flags);

/// The same without --topology.
void add_cluster_changes(CLI::App& app, ClusterFlags& flags);

/// --set and --fail.
void add_changes(CLI::App& app, ShapeChanges& changes);

/// --segments, --radix, --group, --inner and --outer.
void add_tuning(CLI::App& app, Tuning& tuning, LevelNames& levels);

/// --members and --counts; returns the latter.
CLI::Option* add_parts(CLI::App& app, std::vector<int>& members,
                       std::vector<std::size_t>& part_counts);

/// --jitter, --repetitions, --seed, --groups, --repeat and --why.
void add_conditions(CLI::App& app, ConditionFlags& flags);

/// What the values of add_cluster()'s flags look like, for --help.
extern const char* const cluster_help;

/// Each adds its flags, help and examples to `app`.
Command add_emulate(CLI::App& app);
Command add_rank(CLI::App& app);
Command add_explain(CLI::App& app);
Command add_catalogue(CLI::App& app);
Command add_replay(CLI::App& app);
Command add_topo(CLI::App& app);
Command add_whatif(CLI::App& app);
Command add_log(CLI::App& app);
Command add_export_rules(CLI::App& app);
Command add_calibrate(CLI::App& app);
Command add_validate(CLI::App& app);

}  // namespace tutti
