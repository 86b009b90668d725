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

constexpr std::array<std::string_view, 9> columns = {"collective", "min_bytes", "max_bytes",
                                                     "min_ranks",  "max_ranks", "algorithm",
                                                     "segments",   "radix",     "group"};

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

void check_used(const Rule& rule, std::string_view column, int value, bool is_used) {
  if (value == 0 || is_used) return;
  fail(rule.origin, fmt::format("{} {} has no {}, expected an empty field",
                                name_of(rule.collective), rule.algorithm->name, column));
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
  check_used(rule, "segments", rule.tuning.segments, rule.algorithm->uses_segments);
  check_used(rule, "radix", rule.tuning.radix, rule.algorithm->uses_radix);
  check_used(rule, "group", rule.tuning.group, rule.algorithm->uses_group);
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
    rules.push_back(parse_at(rule.origin, [&] {
      rule.collective = parse_collective(trimmed(pair.substr(0, colon)));
      rule.algorithm = &find_algorithm(rule.collective, trimmed(pair.substr(colon + 1)));
      return rule;
    }));
  }
  return rules;
}

}  // namespace tutti
