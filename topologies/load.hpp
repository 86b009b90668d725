// Reads shapes from YAML files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// Reads a shape after applying `settings` in order: "hosts=64", "host.cores=2" replace a key of
/// the file (the last of a key wins) or add it; what is_edit() says is applied to the shape that
/// was built, and then `failures` (edits.hpp). "links.spine.latency=2us" replaces the key if the
/// file has it. The keys are those that `tutti topo check --help` lists (describe_shape_keys()).
/// Throws ShapeError whose text is "FILE:LINE:COLUMN: what is wrong, what was expected" for a
/// number without unit, an unknown or repeated key (with the valid one it resembles), a value out
/// of range, a missing key, what is not a regular file, cannot be read, is too large, too deep, has
/// anchors or aliases, or is not YAML; a setting is named "--set KEY=VALUE" in FILE:LINE:COLUMN's
/// place. Long names and values are cut.
Shape load_shape(const std::string& file, const std::vector<std::string>& settings = {},
                 const std::vector<std::string>& failures = {});

/// The same of a text; `origin` takes the file's place in errors.
Shape parse_shape(std::string_view text, const std::string& origin,
                  const std::vector<std::string>& settings = {},
                  const std::vector<std::string>& failures = {});

}  // namespace tutti
