#include "topologies/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tutti {
namespace {

constexpr std::size_t maximum_file_bytes = std::size_t{1} << 20;
constexpr std::array<std::string_view, 5> valid_keys = {"shape", "hosts", "bandwidth", "latency",
                                                        "reduction"};

/// A key's value and where it was written, as a prefix for errors.
struct Entry {
  std::string value;
  std::string where;
};

using Entries = std::map<std::string, Entry, std::less<>>;

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> prefixes = {{{"", 1.0},
                                           {"k", 1e3},
                                           {"M", 1e6},
                                           {"G", 1e9},
                                           {"T", 1e12},
                                           {"Ki", 0x1p10},
                                           {"Mi", 0x1p20},
                                           {"Gi", 0x1p30},
                                           {"Ti", 0x1p40}}};
constexpr std::string_view out_of_range = "beyond the numbers that a double can hold";
constexpr std::array<Unit, 4> durations = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};

/// Shortens what a hostile file may hold, and hides control characters.
std::string quote(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string shown(text.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c >= 0 && c < ' '; }, '?');
  return fmt::format("'{}{}'", shown, text.size() > longest ? "..." : "");
}

/// Shortens what comes before the reason; of a path the end says most.
std::string shown_path(const std::string& path) {
  constexpr std::size_t longest = 200;
  if (path.size() <= longest) return path;
  return fmt::format("...{}", path.substr(path.size() - longest));
}

struct Quantity {
  double number = 0.0;
  std::string_view unit;
};

/// Of what `text` says in its own unit, in the base unit.
double scaled(const std::string& text, double number, double factor) {
  const double value = number * factor;
  if (std::isfinite(value) && (value > 0.0 || number == 0.0)) return value;
  throw ShapeError(fmt::format("{} is {}", quote(text), out_of_range));
}

/// Splits "12.5 GBps"; `example` tells the reader what a good value looks like.
Quantity split_quantity(std::string_view text, std::string_view example) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, quantity.number);
  if (status == std::errc::result_out_of_range) {
    throw ShapeError(fmt::format("{} is {}", quote(text), out_of_range));
  }
  if (status != std::errc{} || !std::isfinite(quantity.number)) {
    throw ShapeError(
        fmt::format("{} is not a number with a unit, such as {}", quote(text), example));
  }
  quantity.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  quantity.unit.remove_prefix(std::min(quantity.unit.find_first_not_of(' '), quantity.unit.size()));
  if (quantity.unit.empty()) {
    throw ShapeError(fmt::format("{} has no unit, expected for example {}", quote(text), example));
  }
  if (quantity.number < 0.0) {
    throw ShapeError(fmt::format("{} is negative, expected for example {}", quote(text), example));
  }
  return quantity;
}

int edit_distance(std::string_view left, std::string_view right) {
  std::vector<int> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char letter : left) {
    int diagonal = row[0]++;
    for (std::size_t column = 1; column < row.size(); ++column) {
      const int replaced = diagonal + (letter == right[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({replaced, row[column] + 1, row[column - 1] + 1});
    }
  }
  return row.back();
}

void check_key(std::string_view key, const std::string& where) {
  if (std::find(valid_keys.begin(), valid_keys.end(), key) != valid_keys.end()) return;
  const auto distance = [key](std::string_view valid) {
    return edit_distance(key.substr(0, 2 * valid.size()), valid);
  };
  const auto nearest =
      *std::min_element(valid_keys.begin(), valid_keys.end(),
                        [&](auto left, auto right) { return distance(left) < distance(right); });
  const int longest_distance = std::max(2, static_cast<int>(nearest.size()) / 3);
  const std::string hint = distance(nearest) <= longest_distance
                               ? fmt::format("the nearest valid one is '{}' (all: {})", nearest,
                                             fmt::join(valid_keys, ", "))
                               : fmt::format("expected {}", fmt::join(valid_keys, ", "));
  throw ShapeError(fmt::format("{}: unknown key {}, {}", where, quote(key), hint));
}

std::string read_bounded(const std::string& file) {
  const std::string shown = shown_path(file);
  // The opening of a named pipe would wait for a writer.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw ShapeError(fmt::format("{}: cannot be read, is it a file?", shown));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw ShapeError(
        fmt::format("{}: cannot be opened: {}", shown, std::generic_category().message(errno)));
  }
  std::string text(maximum_file_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) throw ShapeError(fmt::format("{}: cannot be read", shown));
  if (text.size() > maximum_file_bytes) {
    throw ShapeError(
        fmt::format("{}: larger than {} bytes, which no shape needs", shown, maximum_file_bytes));
  }
  return text;
}

std::string line_of(const std::string& file, const YAML::Mark& mark) {
  return fmt::format("{}:{}", shown_path(file), mark.line + 1);
}

YAML::Node parse_document(const std::string& file) {
  const std::string text = read_bounded(file);
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() == 1 && documents[0].IsMap()) return documents[0];
    const YAML::Mark mark = documents.empty() ? YAML::Mark() : documents.back().Mark();
    throw ShapeError(fmt::format("{}: not one set of 'key: value' lines, with the keys {}",
                                 line_of(file, mark), fmt::join(valid_keys, ", ")));
  } catch (const YAML::Exception& error) {
    throw ShapeError(fmt::format("{}: not valid YAML: {}", line_of(file, error.mark), error.msg));
  }
}

Entries read_entries(const std::string& file) {
  Entries entries;
  for (const auto& item : parse_document(file)) {
    const std::string where = line_of(file, item.first.Mark());
    if (!item.first.IsScalar()) throw ShapeError(fmt::format("{}: a key is not a word", where));
    const std::string& key = item.first.Scalar();
    check_key(key, where);
    if (!item.second.IsScalar()) {
      throw ShapeError(
          fmt::format("{}: {} has no single value, expected 'key: value'", where, key));
    }
    const auto [earlier, added] = entries.try_emplace(key, Entry{item.second.Scalar(), where});
    if (!added) {
      throw ShapeError(
          fmt::format("{}: {} is given twice, first at {}", where, key, earlier->second.where));
    }
  }
  return entries;
}

std::string shown_setting(std::string_view setting) {
  std::string quoted = quote(setting);
  return quoted.substr(1, quoted.size() - 2);
}

void apply_setting(Entries& entries, const std::string& setting) {
  const std::string where = fmt::format("--set {}", shown_setting(setting));
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos) {
    throw ShapeError(fmt::format("{}: expected KEY=VALUE with one of the keys {}", where,
                                 fmt::join(valid_keys, ", ")));
  }
  const std::string key = setting.substr(0, equals);
  check_key(key, where);
  entries[key] = Entry{setting.substr(equals + 1), where};
}

int parse_hosts(const std::string& text) {
  int hosts = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, hosts);
  if (status != std::errc{} || rest != end || hosts < 1 || hosts > maximum_hosts) {
    throw ShapeError(
        fmt::format("{} is not a whole number from 1 to {}", quote(text), maximum_hosts));
  }
  return hosts;
}

/// The value of `key`, parsed; errors name the key and where it was written.
template <typename Parse>
auto parse_entry(const Entries& entries, const std::string& file, std::string_view key,
                 Parse parse) {
  const auto found = entries.find(key);
  if (found == entries.end()) {
    throw ShapeError(fmt::format("{}: the key '{}' is missing", shown_path(file), key));
  }
  try {
    return parse(found->second.value);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}: {}: {}", found->second.where, key, error.what()));
  }
}

std::optional<double> parse_reduction(const std::string& text) {
  if (text == "free") return std::nullopt;
  try {
    return parse_bandwidth(text);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}, or 'free'", error.what()));
  }
}

bool parse_shape_name(const std::string& text) {
  if (text == "star") return true;
  throw ShapeError(fmt::format("{} is not a known shape, expected star", quote(text)));
}

}  // namespace

double parse_bandwidth(const std::string& text) {
  constexpr std::string_view example = "12.5GBps or 100Gbps";
  const Quantity quantity = split_quantity(text, example);
  for (const Unit& prefix : prefixes) {
    if (!quantity.unit.starts_with(prefix.name)) continue;
    const std::string_view base = quantity.unit.substr(prefix.name.size());
    if (base != "Bps" && base != "bps") continue;
    if (quantity.number == 0.0) {
      throw ShapeError(fmt::format("{} is zero, expected for example {}", quote(text), example));
    }
    return scaled(text, quantity.number, base == "Bps" ? prefix.factor : prefix.factor / 8);
  }
  throw ShapeError(
      fmt::format("{} has the unknown unit {}, expected bps (bits) or Bps (bytes) after none of or "
                  "one of k, M, G, T, Ki, Mi, Gi, Ti, such as {}",
                  quote(text), quote(quantity.unit), example));
}

double parse_duration(const std::string& text) {
  const Quantity quantity = split_quantity(text, "5us");
  for (const Unit& unit : durations) {
    if (quantity.unit == unit.name) return scaled(text, quantity.number, unit.factor);
  }
  throw ShapeError(fmt::format("{} has the unknown unit {}, expected ns, us, ms or s", quote(text),
                               quote(quantity.unit)));
}

Shape load_shape(const std::string& file, const std::vector<std::string>& settings) {
  Entries entries = read_entries(file);
  for (const std::string& setting : settings) apply_setting(entries, setting);
  entries.try_emplace("reduction", Entry{"free", file});

  parse_entry(entries, file, "shape", parse_shape_name);
  Star star;
  star.hosts = parse_entry(entries, file, "hosts", parse_hosts);
  star.bandwidth_bytes_per_second = parse_entry(entries, file, "bandwidth", parse_bandwidth);
  star.latency_seconds = parse_entry(entries, file, "latency", parse_duration);
  star.reduction_bytes_per_second = parse_entry(entries, file, "reduction", parse_reduction);
  Shape shape = build_star(star);
  shape.file = file;
  return shape;
}

}  // namespace tutti
