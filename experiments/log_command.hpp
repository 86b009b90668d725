// Logs of benchmarks that commands are given.
#pragma once

#include <string>

#include "experiments/command.hpp"
#include "profiles/log_import.hpp"

namespace tutti {

/// --ranks and --collective.
void add_log_options(CLI::App& app, LogOptions& options);

/// Reads a log, and writes its notes to stderr. Throws as read_file() and import_log().
SampleSet read_log(const std::string& file, const LogOptions& options);

}  // namespace tutti
