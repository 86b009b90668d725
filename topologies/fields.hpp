// The keys of a map in a YAML text, read with checks whose errors say where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/document.hpp"
#include "topologies/shape.hpp"
#include "topologies/words.hpp"

namespace tutti {

/// A map and the path of keys to it. Refers to the tree and the sources, which must live longer.
/// All errors are ShapeErrors "FILE:LINE:COLUMN: PATH.KEY: what was found, what is expected".
class Fields {
 public:
  /// Throws unless the node is a map. `path` is empty for the outermost.
  Fields(const Sources& sources, const DocumentNode& node, std::string path);

  /// Throws for the first key that is not valid (with the nearest one that is) or given twice.
  void check_keys(const std::vector<std::string_view>& valid) const;

  bool has(std::string_view key) const { return map_.find(key) != nullptr; }
  const DocumentNode& map() const { return map_; }
  const std::string& path() const { return path_; }

  /// The values of keys. All throw where the key is missing, of another kind or out of range.
  const DocumentNode& value(std::string_view key) const;
  const std::string& word(std::string_view key) const;
  std::int64_t whole(std::string_view key, std::int64_t smallest, std::int64_t largest) const;
  int count(std::string_view key, int smallest = 1) const;  ///< At most maximum_hosts.
  double number(std::string_view key) const;                ///< Greater than zero.
  double bandwidth(std::string_view key) const;             ///< In bytes per second.
  double duration(std::string_view key) const;              ///< In seconds.
  Fields fields(std::string_view key) const;

  /// Elements of a list; none where the key is missing.
  const std::vector<DocumentNode>& list(std::string_view key) const;

  /// "[4, 2]" or "4x2", or a number alone.
  std::vector<int> counts(std::string_view key, int smallest = 1) const;

  /// The index of the word among the valid ones.
  std::size_t choice(std::string_view key, const std::vector<std::string_view>& valid) const;

  /// What `parse` makes of the word; its ShapeErrors get place and key.
  template <typename Parse>
  auto parsed(std::string_view key, Parse parse) const {
    const std::string& text = word(key);
    try {
      return parse(text);
    } catch (const ShapeError& error) {
      fail(key, error.what());
    }
  }

  /// What `build` returns; its ShapeErrors get the place of the key that they begin with ("'radix'
  /// is 3, ..."), or else of this map.
  template <typename Build>
  auto built(Build build) const {
    try {
      return build();
    } catch (const ShapeError& error) {
      fail_building(error.what());
    }
  }

  /// Fields, word or whole number of an element of list(key).
  Fields element_fields(std::string_view key, std::size_t index) const;
  const std::string& element_word(std::string_view key, std::size_t index) const;

  [[noreturn]] void fail(std::string_view key, std::string_view what) const;
  [[noreturn]] void fail_at(const DocumentNode& node, std::string_view key,
                            std::string_view what) const;

 private:
  [[noreturn]] void fail_building(const std::string& what) const;
  std::string path_of(std::string_view key) const;

  const Sources& sources_;
  const DocumentNode& map_;
  std::string path_;
};

/// A whole number, or ShapeError "'x' is not a whole number from 1 to 8".
std::int64_t parse_whole(std::string_view text, std::int64_t smallest, std::int64_t largest);

}  // namespace tutti
