// What importers have in common: refusals, notes, places, and writing our YAML. What a file
// holds is shown by quote() of words.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/fabric.hpp"
#include "topologies/fabrics.hpp"
#include "topologies/import.hpp"

namespace tutti {

/// One for each format; importers() lists them.
Importer simgrid_importer();
Importer nccl_importer();
Importer hwloc_importer();
Importer astra_importer();
Importer nvidia_smi_importer();
Importer simai_importer();
Importer ns3_importer();
Importer htsim_importer();

/// Windows begins texts of UTF-8 with it.
inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// The most nodes, and the most cables, that an import may result in.
inline constexpr std::size_t maximum_import_nodes = maximum_hosts / 16;
inline constexpr std::size_t maximum_import_cables = 2 * maximum_import_nodes;

/// The longest name of a node that is taken, so that what is appended to it fits in the 200 bytes
/// that our format allows.
inline constexpr std::size_t maximum_import_name_bytes = 160;

/// Where something is in a text; columns count characters.
struct Place {
  int line = 0;    ///< From 1; 0: the text as a whole.
  int column = 0;  ///< From 1; 0: the line as a whole.
};

/// "ORIGIN:LINE:COLUMN: REASON", without line or column where they are 0.
std::string located_import(const std::string& origin, const Place& place, std::string_view reason);

/// Throws ShapeError with that text.
[[noreturn]] void refuse_import(const std::string& origin, const Place& place,
                                std::string_view reason);

/// What is wrong with a name that is empty, longer than maximum_import_name_bytes or has control
/// characters; empty for all others.
std::string fault_of_import_name(std::string_view name);

/// Throws as refuse_import() if the graph has more nodes or cables than an import may have, or two
/// nodes of the same name.
void check_import_size(const std::string& origin, const GraphSpec& graph);

/// Throws as refuse_import() unless every host reaches every other. Cost: linear.
void check_import_ways(const std::string& origin, const GraphSpec& graph);

/// The column of what `before` is in front of on its line: characters of UTF-8, from 1.
int column_after(std::string_view before);

/// Places by offset: built in one pass, then a binary search each, and for columns the line from
/// the place that was asked for before, or from its beginning: linear for all in order.
class PlaceIndex {
 public:
  explicit PlaceIndex(std::string_view text);  ///< The text must live longer.
  int line_of(std::size_t offset) const;
  Place place_of(std::size_t offset) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> ends_;
  mutable Place last_;  ///< None where its line is 0.
  mutable std::size_t last_offset_ = 0;
};

/// Collects notes in order. Of the same text only the first is kept, with the number of the others;
/// of different ones the first hundred of a kind, and then one that counts the rest.
class ImportNotes {
 public:
  void ignored(int line, std::string text);
  void assumed(int line, std::string text);
  void suspicious(int line, std::string text);

  /// The notes so far, by line.
  std::vector<ImportNote> notes() const;

 private:
  struct Counted {
    ImportNote note;
    std::size_t times = 1;
  };

  void add(ImportNote::Kind kind, int line, std::string text);

  std::vector<Counted> kept_;
  std::array<std::size_t, 3> kept_of_kind_ = {};
  std::array<std::size_t, 3> left_out_ = {};
};

/// A scalar: as it is where that is safe, else in double quotes with escapes. What is not UTF-8 is
/// written as the code point of each byte.
std::string yaml_string(std::string_view text);

/// "[4, 4, 2]".
std::string yaml_list(const std::vector<int>& values);

/// "bandwidth: 50GBps, latency: 1us", then overhead and duplex where they are not the default.
std::string yaml_link_keys(const LinkSpec& link);

/// yaml_link_keys() in braces.
std::string yaml_link(const LinkSpec& link);

/// "host: {cores: 2, ...}" and a line's end; nothing where all is as by default.
std::string yaml_host(const HostSpec& host);

/// "shape: graph" and all that it needs. A cable between two nodes each way.
std::string yaml_graph(const GraphSpec& graph);

/// The import whose YAML is a comment with the kind, the origin and the notes, then `body`. Throws
/// as refuse_import() if that is more than load_shape() reads.
Import make_import(std::string kind, const std::string& origin, const ImportNotes& notes,
                   std::string_view body);

}  // namespace tutti
