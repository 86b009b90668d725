// What is fuzzed: every parser of the project, by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

struct FuzzTarget {
  std::string name;  ///< "yaml", "import-simgrid"; of its corpus, too: tests/fuzz/corpus/NAME.

  /// Parses any bytes, and checks what has to hold of the result. Errors that bad input may lead to
  /// are caught; whatever else it throws is a finding.
  std::function<void(std::string_view)> run;
};

/// One for each parser and for each importer there is.
std::vector<FuzzTarget> fuzz_targets();

}  // namespace tutti
