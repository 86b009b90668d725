// A YAML text as a tree that remembers where everything was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// Where something was written: a place in one of the texts that Sources knows.
struct Mark {
  int source = 0;
  int line = 0;  ///< From 1; 0: the source as a whole.
  int column = 0;
};

/// The texts that a tree comes from: files, and settings of the command line.
class Sources {
 public:
  /// Returns the number for Mark::source.
  int add(std::string name);

  /// "shapes/fat_tree.yaml:7:8"; long names are cut.
  std::string where(const Mark& mark) const;

  const std::string& name(int source) const { return names_[static_cast<std::size_t>(source)]; }

 private:
  std::vector<std::string> names_;
};

/// A value: empty (a key without one), a word, a list of values, or a map of keys to values.
struct DocumentNode {
  enum class Kind : std::uint8_t { empty, word, list, map };

  Kind kind = Kind::empty;
  Mark mark;                           ///< Where the value begins.
  Mark key_mark;                       ///< Where its key begins, in a map.
  std::string key;                     ///< In a map.
  std::string text;                    ///< Of a word.
  std::vector<DocumentNode> children;  ///< Of a list or map, as written; keys may come twice.

  /// The value of a key, or null if there is none or this is no map.
  const DocumentNode* find(std::string_view wanted) const;
  DocumentNode* find(std::string_view wanted);
};

/// Longer texts and lines, deeper trees and trees of more values are refused. Enough for a graph of
/// 100000 links, and a bound on memory: some 500 MB at most.
inline constexpr std::size_t maximum_document_bytes = std::size_t{16} << 20;
inline constexpr int maximum_line_bytes = 1 << 20;
inline constexpr int maximum_document_marks = 1 << 21;  ///< Characters that may begin a value.
inline constexpr std::size_t maximum_document_nodes = std::size_t{3} << 19;
inline constexpr std::size_t maximum_document_depth = 32;

/// Parses one YAML document, whose name is source `source`. Throws ShapeError "FILE:LINE:COLUMN:
/// what" for what is not YAML, anchors, aliases, tags, several documents, control characters, what
/// is not UTF-8, and what is beyond the limits. Time and memory are linear in the text.
DocumentNode parse_document(std::string_view text, const Sources& sources, int source,
                            std::size_t maximum_nodes = maximum_document_nodes);

/// The content of a regular file of at most `maximum_bytes`. Throws ShapeError "FILE: why" for
/// anything else, without reading (or waiting for) it.
std::string read_source(const std::string& file,
                        std::size_t maximum_bytes = maximum_document_bytes);

}  // namespace tutti
