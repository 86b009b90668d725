// Rule files for MPI libraries, NCCL, UCC and SMPI.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiles/sample.hpp"

namespace tutti {

/// A file to write.
struct RuleFile {
  int ranks = 0;  ///< That it is for; 0: all.
  std::string text;
};

struct RuleExport {
  std::vector<RuleFile> files;     ///< At least one.
  std::vector<std::string> notes;  ///< What the rules are keyed on, and what they could not say.
};

/// The names of the formats: openmpi, openmpi-json, mpich, ucc, nccl, simgrid.
const std::vector<std::string_view>& rule_formats();

/// Turns what `curves` say is best (see best_maps()) into rules. Algorithms without a counterpart
/// give way to the best that has one, which is noted with what it costs. Rule files of Open MPI's
/// classic format are one a number of ranks; all others are one file. Throws Error(usage) for an
/// unknown format, curves whose ranks or collective is not known, and where no algorithm has a
/// counterpart.
RuleExport export_rules(std::string_view format, const std::vector<MeasuredCurve>& curves,
                        double noise = 0.03);

}  // namespace tutti
