#include "experiments/study_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include "experiments/survey.hpp"
#include "experiments/vary.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_columns = 100;  // Of characters.
constexpr double small_margin = 0.05;

struct Text {
  std::string text;
  bool is_grey = false;
};

// What is in a row of a table: its name and its columns' texts.
struct Line {
  std::string name;
  std::vector<Text> cells;
};

std::string format_time(double seconds) {
  const double microseconds = seconds * 1e6;
  if (microseconds < 1e3) return fmt::format("{:.2f} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.2f} ms", microseconds / 1e3);
  return fmt::format("{:.2f} s", seconds);
}

// In as many tables below each other as the width of a page needs.
void write_lines(const std::string& corner, const std::vector<std::string>& columns,
                 const std::vector<Line>& lines, bool colours, Output& output) {
  std::size_t first_width = corner.size();
  for (const Line& line : lines) first_width = std::max(first_width, line.name.size());
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = columns[i].size();
    for (const Line& line : lines) width = std::max(width, line.cells[i].text.size());
    widths.push_back(width);
  }
  for (std::size_t begin = 0; begin < columns.size();) {
    std::size_t end = begin, used = first_width + 2;
    while (end < columns.size() && (end == begin || used + widths[end] + 2 <= most_columns)) {
      used += widths[end++] + 2;
    }
    std::string header = fmt::format("  {:>{}}", corner, first_width);
    for (std::size_t i = begin; i < end; ++i) {
      header += fmt::format("  {:>{}}", columns[i], widths[i]);
    }
    output.line(header);
    for (const Line& line : lines) {
      std::string text = fmt::format("  {:>{}}", line.name, first_width);
      for (std::size_t i = begin; i < end; ++i) {
        const std::string cell = fmt::format("  {:>{}}", line.cells[i].text, widths[i]);
        const bool is_grey = colours && line.cells[i].is_grey;
        text += is_grey ? fmt::format("\x1b[90m{}\x1b[0m", cell) : cell;
      }
      output.line(text);
    }
    begin = end;
  }
}

// The different values of one field, in order of appearance, or sorted.
template <typename Value>
std::vector<Value> distinct(const std::vector<const StudyEntry*>& entries, Value StudyEntry::*field,
                            bool sorts) {
  std::vector<Value> values;
  for (const StudyEntry* entry : entries) {
    if (std::find(values.begin(), values.end(), entry->*field) == values.end()) {
      values.push_back(entry->*field);
    }
  }
  if (sorts) std::sort(values.begin(), values.end());
  return values;
}

std::vector<const StudyEntry*> those(const std::vector<const StudyEntry*>& entries,
                                     const std::function<bool(const StudyEntry&)>& keep) {
  std::vector<const StudyEntry*> kept;
  for (const StudyEntry* entry : entries) {
    if (keep(*entry)) kept.push_back(entry);
  }
  return kept;
}

// The fastest first; those that failed are not there.
std::vector<const StudyEntry*> ranking(std::vector<const StudyEntry*> entries) {
  std::erase_if(entries, [](const StudyEntry* entry) { return !entry->seconds; });
  std::stable_sort(entries.begin(), entries.end(), [](const StudyEntry* a, const StudyEntry* b) {
    return *a->seconds < *b->seconds * (1 - equal_times);
  });
  return entries;
}

Text describe_winner(const std::vector<const StudyEntry*>& cell, bool has_rivals) {
  if (cell.empty()) return {"-"};
  const std::vector<const StudyEntry*> ranked = ranking(cell);
  if (ranked.empty()) return {"failed"};
  if (!has_rivals) return {format_time(*ranked[0]->seconds)};
  if (ranked.size() == 1) return {ranked[0]->algorithm};
  const double best = *ranked[0]->seconds;
  const double margin = best > 0.0 ? *ranked[1]->seconds / best - 1 : 0.0;
  return {fmt::format("{} +{:.{}f}%", ranked[0]->algorithm, 100 * std::max(margin, 0.0),
                      margin < 0.1 ? 1 : 0),
          margin < small_margin};
}

void write_winners(const std::vector<const StudyEntry*>& entries, bool colours, Output& output) {
  const bool has_rivals = distinct(entries, &StudyEntry::algorithm, false).size() > 1;
  const std::vector<int> ranks = distinct(entries, &StudyEntry::ranks, true);
  std::vector<std::string> columns;
  for (const int count : ranks) columns.push_back(counted(count, "rank"));
  std::vector<Line> lines;
  std::vector<std::string> hints;
  for (const std::size_t bytes : distinct(entries, &StudyEntry::bytes, true)) {
    Line line{format_size(bytes), {}};
    for (const int count : ranks) {
      const auto cell = those(entries, [&](const StudyEntry& entry) {
        return entry.bytes == bytes && entry.ranks == count;
      });
      line.cells.push_back(describe_winner(cell, has_rivals));
      const auto ranked = ranking(cell);
      if (ranked.empty() || ranked[0]->hint.empty()) continue;
      hints.push_back(fmt::format("{}, {}, {}: {}", line.name, counted(count, "rank"),
                                  ranked[0]->algorithm, ranked[0]->hint));
    }
    lines.push_back(std::move(line));
  }
  output.print("\n{}, {}: {}", entries[0]->collective, entries[0]->variant,
               has_rivals ? "the fastest, and its margin over the second"
                          : entries[0]->algorithm + ", time");
  write_lines("bytes", columns, lines, colours, output);
  for (const std::string& hint : hints) output.print("    {}", hint);
}

// Of three sizes: the smallest, the middle and the largest.
void write_scaling(const std::vector<const StudyEntry*>& entries, bool colours, Output& output) {
  const std::vector<int> ranks = distinct(entries, &StudyEntry::ranks, true);
  const std::vector<std::string> variants = distinct(entries, &StudyEntry::variant, false);
  if (ranks.size() < 2 && variants.size() < 2) return;
  const std::vector<std::size_t> sizes = distinct(entries, &StudyEntry::bytes, true);
  std::vector<std::size_t> chosen = {sizes.front()};
  for (const std::size_t size : {sizes[sizes.size() / 2], sizes.back()}) {
    if (size != chosen.back()) chosen.push_back(size);
  }
  for (const std::size_t size : chosen) {
    std::vector<Line> lines;
    for (const int count : ranks) {
      Line line{std::to_string(count), {}};
      for (const std::string& variant : variants) {
        const auto ranked = ranking(those(entries, [&](const StudyEntry& entry) {
          return entry.bytes == size && entry.ranks == count && entry.variant == variant;
        }));
        line.cells.push_back({ranked.empty() ? "-" : format_time(*ranked[0]->seconds)});
      }
      lines.push_back(std::move(line));
    }
    output.print("\n{} of {} bytes: the best time", entries[0]->collective, format_size(size));
    write_lines("ranks", variants, lines, colours, output);
  }
}

}  // namespace

void write_study_tables(const std::vector<StudyEntry>& entries, bool colours, Output& output) {
  std::vector<const StudyEntry*> all;
  for (const StudyEntry& entry : entries) all.push_back(&entry);
  for (const std::string& collective : distinct(all, &StudyEntry::collective, false)) {
    const auto of_collective =
        those(all, [&](const StudyEntry& entry) { return entry.collective == collective; });
    for (const std::string& variant : distinct(of_collective, &StudyEntry::variant, false)) {
      write_winners(
          those(of_collective, [&](const StudyEntry& entry) { return entry.variant == variant; }),
          colours, output);
    }
    write_scaling(of_collective, colours, output);
  }
}

bool wants_colours() {
  const char* const refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
}

}  // namespace tutti
