// whatif: many clusters, sizes and algorithms compared in one study.
#pragma once

#include <string>

#include "experiments/output.hpp"
#include "experiments/rows.hpp"
#include "experiments/study.hpp"

namespace tutti {

struct WhatifFlags {
  StudyFlags study;
  int jobs = 0;  ///< Processes at once; 0: one a core, or one where mpirun or srun started this.
  std::string file;               ///< See StudyStore; "" keeps nothing.
  Format format = Format::table;  ///< Of what is printed.
};

/// Computes the points that the file does not hold yet, in parallel processes, and prints the
/// tables or the rows. A point that fails is kept with its error, and the others go on; throws
/// Error(system) about it in the end. Ends the process by SIGINT or SIGTERM if it gets one, with
/// what was finished in the file. Returns true.
bool whatif(const WhatifFlags& flags, Output& output);

}  // namespace tutti
