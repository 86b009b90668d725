// Whole files.
#pragma once

#include <string>

namespace tutti {

/// The content of a file of up to 1 GiB. Throws Error(usage) if it cannot be read.
std::string read_file(const std::string& name);

/// Throws Error(system) if it cannot be written.
void write_file(const std::string& name, const std::string& content);

}  // namespace tutti
