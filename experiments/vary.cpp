#include "experiments/vary.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "collectives/error.hpp"
#include "experiments/output.hpp"
#include "experiments/sizes.hpp"
#include "topologies/shape.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_values = 10'000;
constexpr double rounding = 1e-9;  // Relative: what steps of a double may be off.

constexpr auto expected =
    "expected KEY=VALUES such as ranks=4,8,..,1024, bytes=1K..1G*4, "
    "links.spine.bandwidth=25%..200%*2 or algo=ring,tree";

struct Number {
  double value = 0.0;
  std::string unit;
};

std::optional<Number> parse_number(std::string_view text) {
  Number number;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number.value);
  if (status != std::errc{} || !std::isfinite(number.value)) return std::nullopt;
  number.unit.assign(rest, end);
  return number;
}

std::string format_plain(double value) {
  if (std::abs(value - std::round(value)) <= rounding * std::abs(value) && std::abs(value) < 1e15) {
    return fmt::format("{:.0f}", std::round(value));
  }
  return fmt::format("{:.12g}", value);
}

// Numbers as values of a common unit, and how values of it are written.
struct Scale {
  std::function<std::optional<double>(std::string_view text)> read;
  std::function<std::string(double value)> write;
};

Scale scale_of(const std::string& unit) {
  return {[unit](std::string_view text) -> std::optional<double> {
            const auto number = parse_number(text);
            if (!number || number->unit != unit) return std::nullopt;
            return number->value;
          },
          [unit](double value) { return format_plain(value) + unit; }};
}

template <typename Parse>
std::optional<double> value_or_none(Parse parse, std::string_view text) {
  try {
    return static_cast<double>(parse(std::string(text)));
  } catch (const Error&) {
    return std::nullopt;
  } catch (const ShapeError&) {
    return std::nullopt;
  }
}

// The first scale that all texts are on: that of one unit, then those of quantities.
std::optional<Scale> common_scale(const std::vector<std::string>& texts) {
  std::vector<Scale> scales;
  if (const auto first = parse_number(texts.front())) scales.push_back(scale_of(first->unit));
  scales.push_back(
      {[](std::string_view text) { return value_or_none(parse_size, text); },
       [](double value) { return format_size(static_cast<std::size_t>(std::round(value))); }});
  scales.push_back(
      {[](std::string_view text) { return value_or_none(parse_duration, text); }, format_duration});
  scales.push_back({[](std::string_view text) { return value_or_none(parse_bandwidth, text); },
                    format_bandwidth});
  for (Scale& scale : scales) {
    bool fits = true;
    for (const std::string& text : texts) fits = fits && scale.read(text).has_value();
    if (fits) return scale;
  }
  return std::nullopt;
}

// One step after another, and how a value follows from the one before it.
struct Step {
  bool multiplies = false;
  double by = 0.0;

  double after(double value) const { return multiplies ? value * by : value + by; }
};

class AxisParser {
 public:
  explicit AxisParser(const std::string& text) : text_(text) {}

  Axis parse() {
    const std::size_t equals = text_.find('=');
    if (equals == std::string::npos || equals == 0) fail(expected);
    axis_.key = text_.substr(0, equals);
    const std::vector<std::string> items = split(std::string_view(text_).substr(equals + 1));
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] == "..") {
        if (i < 2 || i + 1 == items.size()) {
          fail("'..' needs two values before it and the last after it, such as 4,8,..,1024");
        }
        continue_to(items[i + 1]);
        ++i;
      } else if (!add_range(items[i])) {
        add(items[i]);
      }
    }
    return axis_;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorKind::usage, fmt::format("--vary {}: {}", shorten_words(text_), what));
  }

  std::vector<std::string> split(std::string_view values) const {
    std::vector<std::string> items(1);
    int depth = 0;
    for (const char c : values) {
      if (c == '[' || c == '{' || c == '(') ++depth;
      if (c == ']' || c == '}' || c == ')') --depth;
      if (c == ',' && depth == 0) {
        items.emplace_back();
      } else {
        items.back() += c;
      }
    }
    for (const std::string& item : items) {
      if (item.empty()) fail(fmt::format("an empty value, {}", expected));
    }
    return items;
  }

  void add(const std::string& value) {
    if (!seen_.insert(value).second) fail(fmt::format("{} comes twice", value));
    if (axis_.values.size() == most_values) fail(fmt::format("more than {} values", most_values));
    axis_.values.push_back(value);
  }

  // From a value that is not added to the last one, by steps. Returns whether the end was met.
  bool add_steps(const Scale& scale, double from, double last, Step step) {
    double value = from;
    const bool falls = step.after(from) < from;
    for (;;) {
      value = step.after(value);
      const double beyond = falls ? last - value : value - last;
      const double tolerance = rounding * std::max(std::abs(last), std::abs(value));
      if (beyond > tolerance) return false;
      const bool is_last = beyond >= -tolerance;
      add(scale.write(is_last ? last : value));
      if (is_last) return true;
    }
  }

  // Whether steps from `from` meet `last`.
  static bool meets(double from, double last, Step step) {
    if (step.multiplies) {
      const double steps = std::log(last / from) / std::log(step.by);
      return steps > 0.0 && std::abs(steps - std::round(steps)) < rounding * 100;
    }
    const double steps = (last - from) / step.by;
    return steps > 0.0 && std::abs(steps - std::round(steps)) < rounding * std::max(1.0, steps);
  }

  void continue_to(const std::string& last_text) {
    const std::size_t count = axis_.values.size();
    const std::vector<std::string> texts = {axis_.values[count - 2], axis_.values[count - 1],
                                            last_text};
    const std::optional<Scale> scale = common_scale(texts);
    if (!scale) fail(fmt::format("'..' needs numbers of one kind before and after it"));
    const double a = *scale->read(texts[0]), b = *scale->read(texts[1]);
    const double last = *scale->read(texts[2]);
    const double ratio = b > a ? b / a : a / b;
    const Step by_factor{true, b / a}, by_difference{false, b - a};
    if (a == b) fail(fmt::format("{} and {} are equal, '..' cannot go on from them", a, b));
    const bool is_whole = a > 0.0 && b > 0.0 && std::abs(ratio - std::round(ratio)) < rounding;
    if (is_whole && last > 0.0 && meets(b, last, by_factor)) {
      add_steps(*scale, b, last, by_factor);
    } else if (meets(b, last, by_difference)) {
      add_steps(*scale, b, last, by_difference);
    } else {
      fail(fmt::format("neither the factor nor the difference of {} and {} leads to {}", texts[0],
                       texts[1], last_text));
    }
  }

  // "1K..1G*4"; false for what has no number before and after "..".
  bool add_range(const std::string& item) {
    const std::size_t dots = item.find("..");
    if (dots == std::string::npos || !parse_number(item.substr(0, dots))) return false;
    const std::string from = item.substr(0, dots), rest = item.substr(dots + 2);
    const std::size_t sign = rest.find_last_of("*+");
    const bool is_exponent = sign != std::string::npos && sign > 0 && rest[sign] == '+' &&
                             (rest[sign - 1] == 'e' || rest[sign - 1] == 'E');
    if (sign == std::string::npos || sign == 0 || is_exponent) {
      fail(fmt::format("{}: expected a step, such as {}*2 or {}+1", item, item, item));
    }
    const std::string last = rest.substr(0, sign), by = rest.substr(sign + 1);
    const bool multiplies = rest[sign] == '*';
    std::vector<std::string> texts = {from, last};
    if (!multiplies) texts.push_back(by);
    const std::optional<Scale> scale = common_scale(texts);
    const auto factor = parse_number(by);
    if (!scale || !factor || (multiplies && !factor->unit.empty())) {
      fail(fmt::format("{}: expected numbers of one kind, such as 1K..1G*4 or 1us..9us+2us", item));
    }
    const Step step{multiplies, multiplies ? factor->value : *scale->read(by)};
    const double first = *scale->read(from), end = *scale->read(last);
    const bool advances = first <= end ? step.after(first) > first : step.after(first) < first;
    const bool falls_for_ever = multiplies && (step.by <= 0.0 || (first > end && end <= 0.0));
    if (first != end && (!advances || falls_for_ever)) {
      fail(fmt::format("{}: these steps do not lead from {} to {}", item, from, last));
    }
    add(scale->write(first));
    if (first != end) add_steps(*scale, first, end, step);
    return true;
  }

  const std::string& text_;
  Axis axis_;
  std::set<std::string> seen_;
};

}  // namespace

std::string format_size(std::size_t bytes) {
  constexpr std::array units = {"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, units[unit]);
}

Axis parse_axis(const std::string& text) {
  return AxisParser(text).parse();
}

}  // namespace tutti
