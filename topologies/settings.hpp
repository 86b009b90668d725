// Changes to the tree of a shape's text before it is read: settings and included files.
#pragma once

#include <string>

#include "topologies/document.hpp"

namespace tutti {

/// Replaces the value of a key, such as "hosts=64" or "links.spine.latency=2us", or adds it. A
/// value that begins with [ or { is YAML. A number in a path is an element of a list, from 0:
/// "dimensions.1.size=8". Throws ShapeError "--set SETTING: ..." for what is not KEY=VALUE or leads
/// nowhere.
void apply_setting(DocumentNode& root, Sources& sources, const std::string& setting);

/// Whether the key of the setting, such as "links.spine.latency=2us", is in the tree.
bool has_key_of(DocumentNode& root, const std::string& setting);

/// Replaces {file: machine.yaml} of `host`, and of the host in that, by the file's content. Paths
/// are relative to the folder of the file that names them, those of settings to the working folder.
/// Throws ShapeError for a file that cannot
/// be read, and for files in a circle or too deep.
void include_files(DocumentNode& root, Sources& sources);

/// How many shapes may be in each other.
inline constexpr int maximum_shapes_in_each_other = 8;

}  // namespace tutti
