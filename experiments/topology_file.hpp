// Topology files of any kind that commands are given.
#pragma once

#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// What changes a shape without touching its file.
struct ShapeChanges {
  std::vector<std::string> settings;  ///< "KEY=VALUE", see load_shape() and apply_edit().
  std::vector<std::string> failures;  ///< "link:NAME", see apply_failures().
};

/// What a SimGrid platform is to become.
enum class PlatformUse { as_it_is, imported };

/// Our own YAML, or any format of importers(), which is imported on the way; a warning tells how
/// much the importer assumed or suspects. A SimGrid platform that is used as it is takes no
/// changes, and has to be one that the importer understands, but for what only SimGrid can model
/// (UnmodelledError). Throws ShapeError, and Error(system)
/// for a file that cannot be read.
Shape load_topology(const std::string& file, const ShapeChanges& changes, PlatformUse platform);

}  // namespace tutti
