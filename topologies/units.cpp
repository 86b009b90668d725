#include "topologies/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "topologies/shape.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

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
constexpr std::size_t decimal_prefixes = 5;

// How many make a second: a division by a power of ten is rounded once, so that 5us is 5e-6.
constexpr std::array<Unit, 4> durations = {{{"s", 1.0}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}};

constexpr std::string_view out_of_range = "beyond the numbers that a double can hold";

struct Quantity {
  double number = 0.0;
  std::string_view unit;
};

/// `value`, which is what `text` says as `number` in its own unit, in the base unit.
double checked(std::string_view text, double number, double value) {
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

/// `number` in few digits, of which `parse` makes `value` again; empty if no digits do.
template <typename Parse>
std::string shortest_text(double number, std::string_view unit, double value, Parse parse) {
  for (int digits = 3; digits <= 17; ++digits) {
    std::string text = fmt::format("{:.{}g}{}", number, digits, unit);
    if (parse(text) == value) return text;
  }
  return "";
}

}  // namespace

double parse_bandwidth(std::string_view text) {
  constexpr std::string_view example = "12.5GBps or 100Gbps";
  const Quantity quantity = split_quantity(text, example);
  for (const Unit& prefix : prefixes) {
    if (!quantity.unit.starts_with(prefix.name)) continue;
    const std::string_view base = quantity.unit.substr(prefix.name.size());
    if (base != "Bps" && base != "bps") continue;
    if (quantity.number == 0.0) {
      throw ShapeError(fmt::format("{} is zero, expected for example {}", quote(text), example));
    }
    const double factor = base == "Bps" ? prefix.factor : prefix.factor / 8;
    return checked(text, quantity.number, quantity.number * factor);
  }
  throw ShapeError(
      fmt::format("{} has the unknown unit {}, expected bps (bits) or Bps (bytes) after none of or "
                  "one of k, M, G, T, Ki, Mi, Gi, Ti, such as {}",
                  quote(text), quote(quantity.unit), example));
}

double parse_duration(std::string_view text) {
  const Quantity quantity = split_quantity(text, "5us");
  for (const Unit& unit : durations) {
    if (quantity.unit != unit.name) continue;
    return checked(text, quantity.number, quantity.number / unit.factor);
  }
  throw ShapeError(fmt::format("{} has the unknown unit {}, expected ns, us, ms or s", quote(text),
                               quote(quantity.unit)));
}

bool is_factor(std::string_view text) {
  return text.ends_with('%') || text.ends_with('x');
}

double parse_factor(std::string_view text) {
  const Quantity quantity = split_quantity(text, "50% or 0.5x");
  const double factor = quantity.unit == "%" ? quantity.number / 100 : quantity.number;
  if (quantity.unit != "%" && quantity.unit != "x") {
    throw ShapeError(fmt::format("{} is not a factor, such as 50% or 0.5x", quote(text)));
  }
  if (!(factor > 0.0)) {
    throw ShapeError(fmt::format("{} is zero, expected a factor such as 50% or 0.5x", quote(text)));
  }
  return factor;
}

std::string format_bandwidth(double bytes_per_second) {
  // Of the largest unit of which there is one.
  std::size_t prefix = decimal_prefixes - 1;
  while (prefix > 0 && bytes_per_second < prefixes[prefix].factor) --prefix;
  const std::string unit = fmt::format("{}Bps", prefixes[prefix].name);
  std::string text = shortest_text(bytes_per_second / prefixes[prefix].factor, unit,
                                   bytes_per_second, parse_bandwidth);
  return text.empty() ? fmt::format("{}Bps", bytes_per_second) : text;
}

std::string format_duration(double seconds) {
  if (seconds == 0.0) return "0s";
  std::size_t unit = 0;
  while (unit + 1 < durations.size() && seconds * durations[unit].factor < 1.0) ++unit;
  std::string text = shortest_text(seconds * durations[unit].factor, durations[unit].name, seconds,
                                   parse_duration);
  return text.empty() ? fmt::format("{}s", seconds) : text;
}

}  // namespace tutti
