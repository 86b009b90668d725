// How many processors there are to use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tutti {

/// The processors this process may use: the affinity mask, limited by the control group's quota;
/// at least 1.
int available_cores();

/// Keeps the calling thread, and those it starts, on one of the processors it may use, `index`
/// modulo their number; does nothing where that is refused.
void pin_to_core(int index);

/// The smallest quota, in processors, of a control group and those above it, as far as they show.
/// `groups` is the text of /proc/self/cgroup; `root` is where the control groups are mounted.
std::optional<double> quota_cores(const std::string& groups, const std::filesystem::path& root);

}  // namespace tutti
