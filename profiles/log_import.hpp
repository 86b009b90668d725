// Imports logs of benchmarks of collectives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/sample.hpp"

namespace tutti {

/// What a log may leave out. What it says itself goes first.
struct LogOptions {
  int ranks = 0;           ///< 0: not known.
  std::string collective;  ///< Empty: not known.
};

/// One format.
struct LogFormat {
  std::string_view name;         ///< "osu"
  std::string_view description;  ///< "OSU micro-benchmarks, plain and -f"

  /// Whether the text looks like it: linear in the text, never throws.
  bool (*recognises)(std::string_view text);

  /// Throws as import_log().
  SampleSet (*import)(std::string_view text, const std::string& file, const LogOptions& options);
};

/// All formats, the most specific first.
const std::vector<LogFormat>& log_formats();

/// Reads a log of whatever format its content looks like. What is missing or odd is noted: times of
/// 0, sizes twice or descending, bandwidths that contradict times. Throws Error(usage)
/// "FILE:LINE:COLUMN: what was found, what is expected" where no sample can be read.
SampleSet import_log(std::string_view text, const std::string& file,
                     const LogOptions& options = {});

}  // namespace tutti
