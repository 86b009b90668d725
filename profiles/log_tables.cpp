// Tables in columns of text: OSU, Intel MPI Benchmarks and gloo.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "profiles/log_columns.hpp"
#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = LogColumn::Kind;

/// Cells with at least two blanks between them, without the '#' in front.
std::vector<std::string_view> wide_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  const std::size_t start = line.find_first_not_of("# \t");
  for (std::size_t begin = start; begin < line.size();) {
    std::size_t end = begin;
    while (end < line.size() && line.substr(end, 2) != "  " && line[end] != '\t') ++end;
    cells.push_back(line.substr(begin, end - begin));
    while (!cells.back().empty() && cells.back().back() == ' ') cells.back().remove_suffix(1);
    begin = line.find_first_not_of(" \t", end);
  }
  return cells;
}

std::vector<LogColumn> columns_of(const std::vector<std::string_view>& headings) {
  std::vector<LogColumn> columns;
  std::transform(headings.begin(), headings.end(), std::back_inserter(columns), log_column);
  return columns;
}

bool has_time(const std::vector<LogColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(),
                     [](const LogColumn& column) { return column.kind == Kind::time; });
}

bool is_row(const std::vector<std::string_view>& words) {
  return !words.empty() && std::isdigit(static_cast<unsigned char>(words[0][0])) != 0;
}

/// Whose sizes are of one rank's part.
bool is_of_parts(const std::string& collective) {
  return collective == "allgather" || collective == "alltoall" || collective == "gather" ||
         collective == "scatter";
}

/// The whole number after a word of a line that ends with '=' or stands before one.
int number_after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return 0;
  line.remove_prefix(at + word.size());
  const std::size_t begin = line.find_first_not_of(" =");
  if (begin == std::string_view::npos) return 0;
  const std::size_t end = std::min(line.find_first_not_of("0123456789", begin), line.size());
  const auto number = bytes_in(line.substr(begin, end - begin));
  return number && *number < (1U << 30) ? static_cast<int>(*number) : 0;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

SampleSet import_osu(std::string_view text, const std::string& file, const LogOptions& options) {
  SampleCollector collector("OSU micro-benchmarks", file, options);
  std::vector<LogColumn> columns;
  Sample base;
  base.series.library = "mpi";
  for (LineReader lines(text); lines.next();) {
    const std::string_view line = lines.line();
    base.line = lines.number();
    if (line.starts_with('#')) {
      const std::vector<LogColumn> headings = columns_of(wide_cells(line));
      if (contains(line, "OSU ")) {
        base.series.collective = collective_named(line);
        collector.add_provenance(line);
        columns.clear();
      } else if (contains(line, "Datatype:")) {
        base.series.dtype = shown(words_of(line).back());
      } else if (has_time(headings)) {
        columns = headings;
      }
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (!is_row(words)) continue;
    if (columns.empty()) {
      collector.notes().ignored(base.line, "a number without headings above it");
      continue;
    }
    const bool has_size = columns[0].kind == Kind::bytes;
    if (!has_size) {
      collector.notes().ignored(base.line, "a time without a size");
      continue;
    }
    add_log_row(collector, columns, words, base, is_of_parts(base.series.collective), line);
  }
  return collector.finish();
}

SampleSet import_imb(std::string_view text, const std::string& file, const LogOptions& options) {
  SampleCollector collector("Intel MPI Benchmarks", file, options);
  std::vector<LogColumn> columns;
  Sample base;
  base.series.library = "mpi";
  for (LineReader lines(text); lines.next();) {
    const std::string_view line = lines.line();
    base.line = lines.number();
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (contains(line, "#bytes")) {
      std::vector<std::string_view> headings = words;
      if (headings[0] == "#") headings.erase(headings.begin());
      columns = columns_of(headings);
      if (contains(line, "Mbytes/sec")) {
        collector.notes().ignored(base.line, "a benchmark of pairs, not of a collective");
        columns.clear();
      }
    } else if (words[0].starts_with('#')) {
      if (contains(line, "Benchmarking")) {
        base.series.collective = collective_named(words.back());
        base.series.ranks = 0;
        columns.clear();
      }
      if (contains(line, "#processes")) base.series.ranks = number_after(line, "#processes");
      if (contains(line, "groups of")) base.series.ranks = number_after(line, "groups of");
      if (contains(line, "Machine") || contains(line, "Date")) collector.add_provenance(line);
    } else if (is_row(words) && !columns.empty()) {
      add_log_row(collector, columns, words, base, is_of_parts(base.series.collective), line);
    }
  }
  return collector.finish();
}

/// "Algorithm:   allreduce_ring_chunked" names both.
void read_gloo_name(std::string_view line, Series& series) {
  const std::string_view name = words_of(line).back();
  series.collective = collective_named(name);
  const std::size_t end = name.find('_');
  series.algorithm = end == std::string_view::npos ? "" : shown(name.substr(end + 1));
}

SampleSet import_gloo(std::string_view text, const std::string& file, const LogOptions& options) {
  SampleCollector collector("gloo's benchmark", file, options);
  std::vector<LogColumn> columns;
  Sample base;
  base.series.library = "gloo";
  bool has_size = false;
  for (LineReader lines(text); lines.next();) {
    const std::string_view line = lines.line();
    base.line = lines.number();
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "Algorithm:") read_gloo_name(line, base.series);
    if (words[0] == "Options:") base.series.ranks = number_after(line, "processes");
    if (words[0].ends_with(':')) collector.add_provenance(line);
    if (contains(line, "elements") && contains(line, "p50")) {
      columns = columns_of(wide_cells(line));
      const auto is_size = [](const LogColumn& column) { return column.kind == Kind::bytes; };
      has_size = std::any_of(columns.begin(), columns.end(), is_size);
      if (!has_size) {
        collector.notes().assumed(base.line, "elements of 4 bytes: there is no column of sizes");
      }
    } else if (is_row(words) && !columns.empty()) {
      std::vector<LogColumn> known = columns;
      std::vector<std::string_view> cells = words;
      const auto elements = bytes_in(words[0]).value_or(0);
      const std::string bytes = std::to_string(4 * std::min<std::size_t>(elements, 1ULL << 60));
      if (!has_size) {
        known.push_back(log_column("size"));
        cells.emplace_back(bytes);
      }
      add_log_row(collector, known, cells, base, is_of_parts(base.series.collective), line);
    }
  }
  return collector.finish();
}

bool is_osu(std::string_view text) {
  return contains(text, "# OSU ");
}
bool is_imb(std::string_view text) {
  return contains(text, "#bytes") && contains(text, "[usec]");
}
bool is_gloo(std::string_view text) {
  return contains(text, "elements") && contains(text, "p50 (") && !contains(text, ",p50");
}

}  // namespace

LogFormat osu_log() {
  return {"osu", "OSU micro-benchmarks, plain and -f", is_osu, import_osu};
}
LogFormat imb_log() {
  return {"imb", "Intel MPI Benchmarks", is_imb, import_imb};
}
LogFormat gloo_log() {
  return {"gloo", "gloo's benchmark", is_gloo, import_gloo};
}

}  // namespace tutti
