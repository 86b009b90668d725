// CSV with a line of headings: long (a column of algorithms) or wide (a column for each).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "profiles/log_columns.hpp"
#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = LogColumn::Kind;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// Commas within double quotes separate nothing.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') is_quoted = !is_quoted;
    if (line[i] != ',' || is_quoted) continue;
    cells.push_back(trimmed(line.substr(begin, i - begin)));
    begin = i + 1;
  }
  cells.push_back(trimmed(line.substr(begin)));
  return cells;
}

std::vector<LogColumn> columns_of(std::string_view line) {
  std::vector<LogColumn> columns;
  for (const std::string_view cell : cells_of(line)) {
    const bool is_quoted = cell.size() >= 2 && cell.front() == '"';
    columns.push_back(log_column(is_quoted ? cell.substr(1, cell.size() - 2) : cell));
  }
  return columns;
}

bool has(const std::vector<LogColumn>& columns, Kind kind) {
  return std::any_of(columns.begin(), columns.end(),
                     [&](const LogColumn& column) { return column.kind == kind; });
}

bool is_comment(std::string_view line) {
  return trimmed(line).empty() || trimmed(line).front() == '#';
}

/// "128 ranks", or "32 nodes x 1 process": what a comment says of how many there were.
void read_scale(std::string_view comment, Series& series) {
  const std::vector<std::string_view> words = words_of(comment);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto number = bytes_in(words[i]);
    if (!number || *number == 0 || *number > 1U << 24) continue;
    if (words[i + 1].starts_with("ranks")) series.ranks = static_cast<int>(*number);
    if (!words[i + 1].starts_with("nodes")) continue;
    series.nodes = static_cast<int>(*number);
    const auto each =
        i + 4 < words.size() && words[i + 2] == "x" ? bytes_in(words[i + 3]) : std::nullopt;
    const bool is_processes =
        each && (words[i + 4].starts_with("process") || words[i + 4].starts_with("ppn"));
    if (is_processes && *each <= 1U << 12 && series.ranks == 0) {
      series.ranks = static_cast<int>(*number * *each);
    }
  }
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file, const LogOptions& options)
      : lines_(text), collector_("CSV", file, options) {}

  SampleSet read() {
    while (lines_.next()) {
      const std::string_view line = lines_.line();
      if (is_comment(line)) {
        read_comment(line);
      } else if (columns_.empty()) {
        read_headings(line);
      } else {
        base_.line = lines_.number();
        add_log_row(collector_, columns_, cells_of(line), base_, false, line);
      }
    }
    return collector_.finish();
  }

 private:
  void read_comment(std::string_view line) {
    collector_.add_provenance(line);
    if (columns_.empty()) read_scale(line, base_.series);
    if (comment_collective_.empty() && line.find("://") == std::string_view::npos) {
      comment_collective_ = collective_named(line);
    }
  }

  void read_headings(std::string_view line) {
    columns_ = columns_of(line);
    const bool is_long = has(columns_, Kind::algorithm);
    for (LogColumn& column : columns_) {
      if (column.kind != Kind::time) {
        if (column.kind == Kind::other) {
          collector_.notes().ignored(lines_.number(),
                                     fmt::format("the column {}", quote(column.heading)));
        }
        continue;
      }
      if (is_long && !column.algorithm.empty()) column.kind = Kind::other;
      if (!column.has_unit) {
        collector_.notes().assumed(lines_.number(),
                                   fmt::format("{} is in us", quote(column.heading)));
      }
    }
    if (!has(columns_, Kind::collective)) name_collective();
    if (has(columns_, Kind::ranks)) {
      base_.series.ranks = 0;
    } else if (collector_.options().ranks > 0) {
      base_.series.ranks = collector_.options().ranks;
    } else if (base_.series.ranks > 0) {
      collector_.notes().assumed(0, fmt::format("{} ranks, from a comment", base_.series.ranks));
    }
  }

  void name_collective() {
    std::string& collective = base_.series.collective;
    collective = collector_.options().collective;
    if (!collective.empty()) return;
    collective = collective_named(std::filesystem::path(collector_.file()).stem().string());
    const bool is_from_name = !collective.empty();
    if (!is_from_name) collective = comment_collective_;
    if (collective.empty()) return;
    collector_.notes().assumed(
        0, fmt::format("{}, from {}", collective, is_from_name ? "the file's name" : "a comment"));
  }

  LineReader lines_;
  SampleCollector collector_;
  std::vector<LogColumn> columns_;
  Sample base_;
  std::string comment_collective_;
};

bool recognises(std::string_view text) {
  for (LineReader lines(text); lines.next();) {
    if (is_comment(lines.line())) continue;
    const std::vector<LogColumn> columns = columns_of(lines.line());
    return has(columns, Kind::bytes) && has(columns, Kind::time);
  }
  return false;
}

SampleSet import_csv(std::string_view text, const std::string& file, const LogOptions& options) {
  return CsvReader(text, file, options).read();
}

}  // namespace

LogFormat csv_log() {
  return {"csv", "CSV with a line of headings, of which one is of sizes and one of times",
          recognises, import_csv};
}

}  // namespace tutti
