// Command: what a subcommand of tutti is to the command line.
#pragma once

#include <functional>

#include "experiments/output.hpp"

namespace CLI {
class App;
}

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
struct ShapeChanges;

/// --topology, --set, --fail, --straggle, --model and --engine.
void add_cluster(CLI::App& app, ClusterFlags& flags);

/// The same without --topology.
void add_cluster_changes(CLI::App& app, ClusterFlags& flags);

/// --set and --fail.
void add_changes(CLI::App& app, ShapeChanges& changes);

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

}  // namespace tutti
