#include "topologies/import_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

// The fastest that is sold has less: NVLink 5, 0.9 TB/s per direction and GPU.
constexpr double largest_usual_bandwidth = 2e12;
constexpr double smallest_usual_bandwidth = 1e6;
constexpr double largest_usual_latency = 1.0;

struct Unit {
  std::string_view name;
  double factor;
};

/// In how many of them a second is, which unlike its inverse is a whole number.
constexpr std::array<Unit, 6> durations = {
    {{"s", 1.0}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}, {"ps", 1e12}, {"fs", 1e15}}};
constexpr std::array<Unit, 8> prefixes = {{{"Ki", 1024.0},
                                           {"Mi", 1048576.0},
                                           {"Gi", 1073741824.0},
                                           {"k", 1e3},
                                           {"K", 1e3},
                                           {"M", 1e6},
                                           {"G", 1e9},
                                           {"T", 1e12}}};

struct Quantity {
  double number = 0.0;
  std::string_view unit;
};

Quantity split_quantity(const std::string& origin, const Place& place, std::string_view text,
                        std::string_view expected) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, quantity.number);
  if (status != std::errc{} || !std::isfinite(quantity.number) || quantity.number < 0.0) {
    refuse_import(origin, place, fmt::format("found {}, expected {}", quote(text), expected));
  }
  quantity.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return quantity;
}

/// Bytes per second of "Gbps", "GB/s", "Mb/s"; nothing if it is none of them.
std::optional<double> bandwidth_unit(std::string_view unit) {
  double factor = 1.0;
  for (const Unit& prefix : prefixes) {
    if (!unit.starts_with(prefix.name)) continue;
    unit.remove_prefix(prefix.name.size());
    factor = prefix.factor;
    break;
  }
  if (unit == "bps" || unit == "b/s") return factor / 8;
  if (unit == "Bps" || unit == "B/s") return factor;
  return std::nullopt;
}

}  // namespace

LineReader::LineReader(std::string_view text) : rest_(text) {
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

bool LineReader::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  while (line_.ends_with('\r')) line_.remove_suffix(1);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return true;
}

Place LineReader::place_of(std::string_view part) const {
  const auto bytes = static_cast<std::size_t>(part.data() - line_.data());
  return {number_, column_after(line_.substr(0, bytes))};
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\v\f\r\n";
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(blanks);
       begin != std::string_view::npos && words.size() <= maximum_import_nodes;
       begin = line.find_first_not_of(blanks)) {
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end || number < 0) return std::nullopt;
  return number;
}

std::optional<double> decimal_number(std::string_view text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc{} || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

double ns3_bandwidth(const std::string& origin, const Place& place, std::string_view text,
                     ImportNotes& notes) {
  constexpr std::string_view expected = "a bandwidth such as 200Gbps or 25GB/s";
  const Quantity quantity = split_quantity(origin, place, text, expected);
  std::optional<double> factor = bandwidth_unit(quantity.unit);
  if (quantity.unit.empty()) {
    notes.suspicious(place.line,
                     fmt::format("the bandwidth {} has no unit, taken as bits/s", quote(text)));
    factor = 0.125;
  }
  const double bandwidth = quantity.number * factor.value_or(0.0);
  if (bandwidth > 0.0 && std::isfinite(bandwidth)) return bandwidth;
  refuse_import(origin, place, fmt::format("found {}, expected {}", quote(text), expected));
}

double ns3_duration(const std::string& origin, const Place& place, std::string_view text,
                    ImportNotes& notes) {
  constexpr std::string_view expected = "a latency such as 0.005ms or 500ns";
  const Quantity quantity = split_quantity(origin, place, text, expected);
  for (const Unit& unit : durations) {
    if (quantity.unit == unit.name) return quantity.number / unit.factor;
  }
  if (!quantity.unit.empty()) {
    refuse_import(origin, place, fmt::format("found {}, expected {}", quote(text), expected));
  }
  if (quantity.number > 0.0) {
    notes.suspicious(place.line,
                     fmt::format("the latency {} has no unit, taken as seconds", quote(text)));
  }
  return quantity.number;
}

void note_odd_link(int line, const LinkSpec& link, ImportNotes& notes) {
  const double bandwidth = link.bandwidth_bytes_per_second;
  if (bandwidth > largest_usual_bandwidth) {
    notes.suspicious(line, fmt::format("a bandwidth of {}, more than any link has",
                                       format_bandwidth(bandwidth)));
  }
  if (bandwidth < smallest_usual_bandwidth) {
    notes.suspicious(line, fmt::format("a bandwidth of {}, less than any link has",
                                       format_bandwidth(bandwidth)));
  }
  if (link.latency_seconds > largest_usual_latency) {
    notes.suspicious(line, fmt::format("a latency of {}, more than any link has",
                                       format_duration(link.latency_seconds)));
  }
}

}  // namespace tutti
