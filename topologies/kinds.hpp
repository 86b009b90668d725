// The kinds of shapes that a YAML text can name, and their keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/fabric.hpp"
#include "topologies/fields.hpp"

namespace tutti {

/// One kind: `shape: name`.
struct ShapeKind {
  std::string_view name;
  std::string_view description;  ///< For --help: its keys and what they mean.
  std::vector<std::string_view> keys;
  Fabric (*read)(const Fields& fields);
};

/// All kinds, the simple ones first.
const std::vector<ShapeKind>& shape_kinds();

/// The keys that every kind has, besides its own.
const std::vector<std::string_view>& common_shape_keys();

/// All kinds and keys, for --help: some lines of at most 100 columns.
std::string describe_shape_keys();

/// The kind that the map names, after a check of the map's keys.
const ShapeKind& kind_of(const Fields& fields);

/// A link value: {bandwidth: 50GBps, latency: 1us, overhead: 0.2us, duplex: full}. If a bandwidth
/// is given, it takes the place of the key.
LinkSpec read_link(const Fields& fields,
                   std::optional<double> bandwidth_bytes_per_second = std::nullopt);

/// A text for tables, pictures and other programs' files: 1 to 200 bytes without control
/// characters.
const std::string& read_label(const Fields& fields, const DocumentNode& node);

/// Kinds that are written in files of their own.
Fabric read_product(const Fields& fields);
Fabric read_machine(const Fields& fields);
Fabric read_graph(const Fields& fields);

}  // namespace tutti
