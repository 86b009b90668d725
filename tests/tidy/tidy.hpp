// The mechanical part of the project's style, as a function from text to findings.
#pragma once

#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace tutti::tidy {

inline constexpr std::size_t longest_line_columns = 100;
inline constexpr std::size_t longest_file_lines = 500;
inline constexpr std::size_t longest_function_lines = 70;

/// A file of the source tree; `path` is relative to its root, with forward slashes.
struct SourceFile {
  std::string path;
  std::string text;

  bool is_header() const { return path.ends_with(".hpp"); }
  bool is_cpp() const { return is_header() || path.ends_with(".cpp"); }

  /// "collectives" of "collectives/ring.hpp", empty for a file in the root.
  std::string folder() const { return path.substr(0, path.find('/') + 1); }
};

/// Where a rule is broken; lines count from 1.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string rule;

  bool operator==(const Finding&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Finding& finding);

/// The text files of the tree at `root` that people wrote, in alphabetical order: no build folders,
/// results or golden files.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

/// All rules below.
std::vector<Finding> check(const SourceFile& file);

/// Tabs, blanks at the end of a line, no line feed at the end, names of one machine's places.
std::vector<Finding> check_characters(const SourceFile& file);

/// Too long lines, files and functions; a function is a brace block after a closing parenthesis
/// that is not within another.
std::vector<Finding> check_lengths(const SourceFile& file);

/// A header without #pragma once; an include that its folder must not have.
std::vector<Finding> check_includes(const SourceFile& file);

/// The text with comments, strings and characters replaced by blanks, of the same length and lines.
std::string without_comments_and_strings(const std::string& text);

}  // namespace tutti::tidy
