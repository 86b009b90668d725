// What importers of plain text have in common: words, numbers, and quantities as other tools write
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import_yaml.hpp"

namespace tutti {

/// The lines of a text without their ends, be they of Unix or Windows, and without a byte order
/// mark.
class LineReader {
 public:
  explicit LineReader(std::string_view text);

  /// Moves to the next line; false behind the last.
  bool next();

  std::string_view line() const { return line_; }
  int number() const { return number_; }  ///< From 1; 0 before the first.

  /// Of a part of line(), such as one of its words.
  Place place_of(std::string_view part) const;

 private:
  std::string_view rest_;
  std::string_view line_;
  int number_ = 0;
};

/// What is between blanks and tabs; no more words than a line of any format may have.
std::vector<std::string_view> words_of(std::string_view line);

/// The whole text as a whole number from 0, or nothing.
std::optional<std::int64_t> whole_number(std::string_view text);

/// The whole text as a finite number, or nothing.
std::optional<double> decimal_number(std::string_view text);

/// A quantity of ns-3 in bytes per second ("200Gbps", "25GB/s", "100Mb/s") or seconds ("5ms",
/// "25ns"). A number alone is taken for what ns-3 takes it for, bits per second or seconds, which
/// is noted as suspicious. Throws as refuse_import() for anything else.
double ns3_bandwidth(const std::string& origin, const Place& place, std::string_view text,
                     ImportNotes& notes);
double ns3_duration(const std::string& origin, const Place& place, std::string_view text,
                    ImportNotes& notes);

/// Notes a bandwidth beyond, or a latency far from, those of all links that there are.
void note_odd_link(int line, const LinkSpec& link, ImportNotes& notes);

}  // namespace tutti
