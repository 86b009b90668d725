#include "profiles/log_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = LogColumn::Kind;

struct Meaning {
  std::string_view heading;
  Kind kind;
};
constexpr std::array<Meaning, 33> meanings = {{{"size", Kind::bytes},
                                               {"size_bytes", Kind::bytes},
                                               {"size_b", Kind::bytes},
                                               {"bytes", Kind::bytes},
                                               {"msg_size", Kind::bytes},
                                               {"message_size", Kind::bytes},
                                               {"count", Kind::count},
                                               {"elements", Kind::count},
                                               {"collective", Kind::collective},
                                               {"coll", Kind::collective},
                                               {"operation", Kind::collective},
                                               {"algorithm", Kind::algorithm},
                                               {"algo", Kind::algorithm},
                                               {"library", Kind::library},
                                               {"transport", Kind::library},
                                               {"engine", Kind::library},
                                               {"ranks", Kind::ranks},
                                               {"nranks", Kind::ranks},
                                               {"processes", Kind::ranks},
                                               {"nprocs", Kind::ranks},
                                               {"comm_size", Kind::ranks},
                                               {"nodes", Kind::nodes},
                                               {"nnodes", Kind::nodes},
                                               {"dtype", Kind::dtype},
                                               {"type", Kind::dtype},
                                               {"datatype", Kind::dtype},
                                               {"op", Kind::op},
                                               {"redop", Kind::op},
                                               {"algbw", Kind::bandwidth},
                                               {"algbw_gbps", Kind::bandwidth},
                                               {"oop_algbw_gbps", Kind::bandwidth},
                                               {"ip_algbw_gbps", Kind::bandwidth},
                                               {"alg_bw", Kind::bandwidth}}};

struct Unit {
  std::string_view name;
  double per_second;
};
constexpr std::array<Unit, 8> units = {{{"us", 1e6},
                                        {"usec", 1e6},
                                        {"ns", 1e9},
                                        {"nsec", 1e9},
                                        {"ms", 1e3},
                                        {"msec", 1e3},
                                        {"s", 1.0},
                                        {"seconds", 1.0}}};

std::vector<std::string> parts_of(std::string_view heading) {
  std::vector<std::string> parts(1);
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '.' || c == '-') {
      parts.back() += static_cast<char>(std::tolower(byte));
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

bool set_statistic(const std::string& part, LogColumn& column) {
  constexpr std::array<std::pair<std::string_view, Statistic>, 7> statistics = {
      {{"avg", Statistic::mean},
       {"mean", Statistic::mean},
       {"median", Statistic::median},
       {"p50", Statistic::median},
       {"min", Statistic::min},
       {"max", Statistic::max},
       {"p99", Statistic::p99}}};
  for (const auto& [name, statistic] : statistics) {
    if (part != name) continue;
    column.statistic = statistic;
    return true;
  }
  return false;
}

/// Makes the column one of a time, if its heading says so.
void read_time(std::vector<std::string> parts, LogColumn& column) {
  const auto is_bandwidth = [](const std::string& part) { return part == "gb" || part == "mb"; };
  if (std::any_of(parts.begin(), parts.end(), is_bandwidth)) return;
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& each) { return parts.back() == each.name; });
  bool is_time = unit != units.end();
  if (is_time) {
    column.per_second = unit->per_second;
    column.has_unit = true;
    parts.pop_back();
  }
  bool has_statistic = false;
  for (const std::string& part : parts) {
    if (part == "time" || part == "latency" || part == "lat" || part == "t") {
      is_time = true;
    } else if (part == "oop" || part == "ip") {
      column.in_place = part == "ip";
    } else if (set_statistic(part, column)) {
      has_statistic = true;
    } else if (part != "tail") {
      column.algorithm += (column.algorithm.empty() ? "" : "_") + part;
    }
  }
  const bool is_percentile = column.algorithm.size() > 1 && column.algorithm[0] == 'p' &&
                             std::isdigit(static_cast<unsigned char>(column.algorithm[1])) != 0;
  if (!is_time || is_percentile || column.algorithm == "lower_bound") return;
  if (has_statistic && !column.has_unit && !column.algorithm.empty()) return;
  column.kind = Kind::time;
}

std::string_view unquoted(std::string_view cell) {
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
    return cell.substr(1, cell.size() - 2);
  }
  return cell;
}

bool is_missing(std::string_view cell) {
  return cell.empty() || cell == "N/A" || cell == "n/a" || cell == "null" || cell == "nan";
}

/// One row on its way to samples.
class Row {
 public:
  Row(SampleCollector& collector, const Sample& base, std::string_view line)
      : collector_(collector), sample_(base), line_(line) {}

  void read(const LogColumn& column, std::string_view cell) {
    Series& series = sample_.series;
    switch (column.kind) {
      case Kind::bytes:
        sample_.bytes = whole(cell, "a whole number of bytes");
        has_bytes_ = true;
        break;
      case Kind::ranks:
        series.ranks = static_cast<int>(std::min<std::size_t>(whole(cell, "ranks"), 1U << 30));
        break;
      case Kind::nodes:
        series.nodes = static_cast<int>(std::min<std::size_t>(whole(cell, "nodes"), 1U << 30));
        break;
      case Kind::collective: {
        const std::string known = collective_named(cell);
        series.collective = known.empty() ? shown(cell) : known;
        break;
      }
      case Kind::algorithm:
        series.algorithm = shown(cell);
        break;
      case Kind::library:
        series.library = shown(cell);
        break;
      case Kind::dtype:
        series.dtype = shown(cell);
        break;
      case Kind::op:
        series.op = cell == "none" ? "" : shown(cell);
        break;
      default:
        break;
    }
  }

  void add(const LogColumn& column, std::string_view cell) {
    const auto seconds = seconds_in(cell, column.per_second);
    if (!seconds) refuse(cell, fmt::format("a time of at least 0 in '{}'", column.heading));
    Sample sample = sample_;
    sample.seconds = *seconds;
    sample.statistic = column.statistic;
    sample.series.in_place = column.in_place;
    if (!column.algorithm.empty()) sample.series.algorithm = column.algorithm;
    collector_.add(sample);
    last_ = sample;
  }

  void compare(std::string_view cell) {
    const auto bandwidth = decimal_number(cell);
    if (bandwidth && *bandwidth > 0.0) collector_.compare_bandwidth(last_, *bandwidth, 0.01);
  }

  void finish_keys(bool is_part) {
    if (!has_bytes_) refuse_log(collector_.file(), {sample_.line, 0}, "no size in this row");
    if (!is_part) return;
    sample_.bytes = collector_.whole_bytes(sample_.series, sample_.bytes, sample_.line);
  }

 private:
  std::size_t whole(std::string_view cell, std::string_view expected) const {
    const auto bytes = bytes_in(cell);
    if (!bytes) refuse(cell, expected);
    return *bytes;
  }

  [[noreturn]] void refuse(std::string_view cell, std::string_view expected) const {
    const auto offset = static_cast<std::size_t>(cell.data() - line_.data());
    refuse_log(collector_.file(), {sample_.line, column_after(line_.substr(0, offset))},
               fmt::format("found {}, expected {}", quote(cell), expected));
  }

  SampleCollector& collector_;
  Sample sample_;
  Sample last_;
  std::string_view line_;
  bool has_bytes_ = false;
};

}  // namespace

LogColumn log_column(std::string_view heading) {
  LogColumn column;
  column.heading = shown(heading);
  const std::vector<std::string> parts = parts_of(heading);
  if (parts.empty()) return column;
  std::string plain;
  for (const std::string& part : parts) plain += (plain.empty() ? "" : "_") + part;
  const auto found = std::find_if(meanings.begin(), meanings.end(),
                                  [&](const Meaning& meaning) { return plain == meaning.heading; });
  if (found != meanings.end()) {
    column.kind = found->kind;
  } else {
    read_time(parts, column);
  }
  return column;
}

void add_log_row(SampleCollector& collector, const std::vector<LogColumn>& columns,
                 const std::vector<std::string_view>& cells, const Sample& base, bool is_part,
                 std::string_view line) {
  Row row(collector, base, line);
  const std::size_t size = std::min(columns.size(), cells.size());
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view cell = unquoted(cells[i]);
    if (!is_missing(cell)) row.read(columns[i], cell);
  }
  row.finish_keys(is_part);
  bool has_time = false;
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view cell = unquoted(cells[i]);
    if (is_missing(cell)) continue;
    if (columns[i].kind == Kind::time) row.add(columns[i], cell);
    has_time = has_time || columns[i].kind == Kind::time;
    if (columns[i].kind == Kind::bandwidth && has_time && !is_part) row.compare(cell);
  }
  if (cells.size() != columns.size() || !has_time) {
    collector.notes().suspicious(
        base.line, fmt::format("{} values under {} headings{}", cells.size(), columns.size(),
                               has_time ? "" : ", and no time"));
  }
}

}  // namespace tutti
