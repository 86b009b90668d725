// Files that commands are given.
#pragma once

#include <string>

namespace tutti {

/// The content of a file. Throws Error(system) if it cannot be read, Error(usage) if it is over
/// 1 GiB.
std::string read_file(const std::string& name);

/// Whether it is a regular file that can be opened.
bool is_readable(const std::string& name);

/// Throws Error(usage) where the trace would overwrite the topology.
void check_apart(const std::string& trace, const std::string& topology);

/// Throws Error(system) if it cannot be written.
void write_file(const std::string& name, const std::string& content);

}  // namespace tutti
