// The two notations of Rules: a CSV table, and NAME:ALGORITHM pairs.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "collectives/choose.hpp"

namespace tutti {
namespace {

constexpr int most_tuning = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = text.find(separator);
    fields.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

constexpr std::array<std::string_view, 11> columns = {
    "collective", "min_bytes", "max_bytes", "min_ranks", "max_ranks", "algorithm",
    "segments",   "radix",     "group",     "inner",     "outer"};

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", where, what));
}

// What parse_collective and find_algorithm complain about, with the place.
template <typename Parse>
auto parse_at(const std::string& where, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    fail(where, error.what());
  }
}

// The fields of one line by column.
class Fields {
 public:
  Fields(const std::vector<std::string_view>& header, std::string_view line, std::string where)
      : header_(header), fields_(split(line, ',')), where_(std::move(where)) {
    if (fields_.size() == header.size()) return;
    fail(where_, fmt::format("{} fields, expected {}: {}", fields_.size(), header.size(),
                             fmt::join(header, ",")));
  }

  const std::string& where() const { return where_; }

  std::string_view text(std::string_view column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    return found == header_.end() ? std::string_view()
                                  : fields_[static_cast<std::size_t>(found - header_.begin())];
  }

  /// Leaves `value` as it is where the field is empty.
  template <typename Number>
  void read(std::string_view column, Number& value, Number smallest,
            Number largest = std::numeric_limits<Number>::max()) const {
    const std::string_view field = text(column);
    if (field.empty()) return;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    const bool is_number = error == std::errc() && end == field.data() + field.size();
    if (is_number && value >= smallest && value <= largest) return;
    fail(where_, fmt::format("{} is '{}', expected an integer from {} to {}", column, field,
                             smallest, largest));
  }

 private:
  const std::vector<std::string_view>& header_;
  std::vector<std::string_view> fields_;
  std::string where_;
};

void check_header(const std::vector<std::string_view>& header, const std::string& where) {
  for (const std::string_view column : header) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      fail(where, fmt::format("unknown column '{}', expected some of {}", column,
                              fmt::join(columns, ",")));
    }
    if (std::count(header.begin(), header.end(), column) > 1) {
      fail(where, fmt::format("column {} is there twice", column));
    }
  }
  for (const std::string_view required : {"collective", "algorithm"}) {
    if (std::find(header.begin(), header.end(), required) == header.end()) {
      fail(where,
           fmt::format("there is no column {}, expected {}", required, fmt::join(columns, ",")));
    }
  }
}

void check_used(const Rule& rule, std::string_view column, bool is_stated, bool is_used) {
  if (!is_stated || is_used) return;
  fail(rule.origin, fmt::format("{} {} has no {}, expected an empty field",
                                name_of(rule.collective), rule.algorithm->name, column));
}

// The algorithms that the levels of a two-level one run; an empty name leaves one open.
void parse_levels(Rule& rule, std::string_view inner, std::string_view outer) {
  if (!inner.empty()) {
    rule.tuning.inner = &find_algorithm(inner_collective(rule.collective), inner);
  }
  if (!outer.empty()) rule.tuning.outer = &find_algorithm(rule.collective, outer);
}

// "ring", or with its two levels "hierarchical(direct,rabenseifner)".
void parse_forced_algorithm(Rule& rule, std::string_view text) {
  const std::size_t bracket = std::min(text.find('('), text.size());
  const std::string_view name = trimmed(text.substr(0, bracket));
  rule.algorithm = &find_algorithm(rule.collective, name);
  if (bracket == text.size()) return;
  const std::vector<std::string_view> levels = split(text.substr(bracket + 1), ',');
  if (!rule.algorithm->has_levels() || levels.size() != 2 || !levels[1].ends_with(')')) {
    throw Error(
        ErrorKind::usage,
        fmt::format("'{}': expected an algorithm of two levels as NAME(INNER,OUTER)", text));
  }
  parse_levels(rule, levels[0], trimmed(levels[1].substr(0, levels[1].size() - 1)));
}

Rule parse_rule(const Fields& fields) {
  Rule rule;
  rule.origin = fields.where();
  parse_at(rule.origin, [&] {
    rule.collective = parse_collective(fields.text("collective"));
    rule.algorithm = &find_algorithm(rule.collective, fields.text("algorithm"));
    return true;
  });
  fields.read("min_bytes", rule.min_bytes, std::size_t{0});
  fields.read("max_bytes", rule.max_bytes, std::size_t{0});
  fields.read("min_ranks", rule.min_ranks, 1);
  fields.read("max_ranks", rule.max_ranks, 1);
  fields.read("segments", rule.tuning.segments, 1, most_tuning);
  fields.read("radix", rule.tuning.radix, 2, most_tuning);
  fields.read("group", rule.tuning.group, 1, most_tuning);
  if (rule.min_bytes > rule.max_bytes || rule.min_ranks > rule.max_ranks) {
    fail(rule.origin, "the smallest is above the largest, so that it never matches");
  }
  check_used(rule, "segments", rule.tuning.segments != 0, rule.algorithm->uses_segments);
  check_used(rule, "radix", rule.tuning.radix != 0, rule.algorithm->uses_radix);
  check_used(rule, "group", rule.tuning.group != 0, rule.algorithm->uses_group);
  for (const std::string_view level : {"inner", "outer"}) {
    check_used(rule, level, !fields.text(level).empty(), rule.algorithm->has_levels());
  }
  parse_at(rule.origin, [&] {
    parse_levels(rule, fields.text("inner"), fields.text("outer"));
    return true;
  });
  return rule;
}

}  // namespace

Rules parse_rules(std::string_view text, std::string_view origin) {
  Rules rules;
  std::optional<std::vector<std::string_view>> header;
  int number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const std::string where = fmt::format("{} line {}", origin, number);
    if (header) {
      rules.push_back(parse_rule(Fields(*header, line, where)));
    } else {
      header = split(line, ',');
      check_header(*header, where);
    }
  }
  if (!header) {
    fail(std::string(origin),
         fmt::format("there is no header, expected {}", fmt::join(columns, ",")));
  }
  return rules;
}

Rules parse_forced(std::string_view text, std::string_view origin) {
  Rules rules;
  for (const std::string_view pair : split(text, ';')) {
    if (pair.empty()) continue;
    const std::size_t colon = pair.find(':');
    if (colon == std::string_view::npos) {
      fail(std::string(origin),
           fmt::format("'{}' is no pair, expected COLLECTIVE:ALGORITHM, separated by ;", pair));
    }
    Rule rule;
    rule.origin = origin;
    parse_at(rule.origin, [&] {
      rule.collective = parse_collective(trimmed(pair.substr(0, colon)));
      parse_forced_algorithm(rule, trimmed(pair.substr(colon + 1)));
      return true;
    });
    for (const Rule& earlier : rules) {
      if (earlier.collective != rule.collective) continue;
      fail(rule.origin,
           fmt::format("{} is forced twice, to {} and to {}, expected one algorithm",
                       name_of(rule.collective), earlier.algorithm->name, rule.algorithm->name));
    }
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace tutti
