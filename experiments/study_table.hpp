// The tables of a what-if study: who wins where, and how times scale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiments/output.hpp"

namespace tutti {

/// The result of one point, as far as tables need it.
struct StudyEntry {
  std::string collective;
  std::string variant;  ///< The topology and whatever varies beside ranks, size and algorithm.
  std::string algorithm;
  int ranks = 1;
  std::size_t bytes = 0;
  std::optional<double> seconds;  ///< None where it failed.
  std::string hint;               ///< Why it takes that long, if that was asked.
};

/// For each collective and variant the winner by size and ranks with its margin over the second
/// (with one algorithm its time), then the best times by ranks at the smallest, middle and largest
/// size, one column a variant. Margins under 5 % are grey where `colours` are. Entries of a table
/// keep their order.
void write_study_tables(const std::vector<StudyEntry>& entries, bool colours, Output& output);

/// Whether stdout is a terminal and NO_COLOR is not set, or empty.
bool wants_colours();

}  // namespace tutti
