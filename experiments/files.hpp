// Files that commands are given.
#pragma once

#include <cstddef>
#include <string>

namespace tutti {

/// The content of a file. Throws Error(system) if it cannot be read, Error(usage) as soon as more
/// than `most_bytes` were.
std::string read_file(const std::string& name, std::size_t most_bytes = std::size_t{1} << 30);

/// Whether it is a regular file that can be opened.
bool is_readable(const std::string& name);

/// Throws Error(usage) where the trace would overwrite the topology.
void check_apart(const std::string& trace, const std::string& topology);

/// Throws Error(system) if it cannot be written.
void write_file(const std::string& name, const std::string& content);

}  // namespace tutti
