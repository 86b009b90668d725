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

/// Each adds its flags, help and examples to `app`.
Command add_explain(CLI::App& app);
Command add_catalogue(CLI::App& app);
Command add_replay(CLI::App& app);
Command add_topo(CLI::App& app);

}  // namespace tutti
