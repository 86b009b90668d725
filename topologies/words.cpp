#include "topologies/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace tutti {
namespace {

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

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string kept(text.substr(0, longest));
  std::replace_if(
      kept.begin(), kept.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, '?');
  return text.size() > longest ? kept + "..." : kept;
}

std::string quote(std::string_view text) {
  return fmt::format("'{}'", shown(text));
}

std::string shown_path(std::string_view path) {
  constexpr std::size_t longest = 200;
  if (path.size() <= longest) return std::string(path);
  return fmt::format("...{}", path.substr(path.size() - longest));
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& valid) {
  std::string_view nearest;
  int smallest = 0;
  for (const std::string_view candidate : valid) {
    const int distance = edit_distance(word.substr(0, 2 * candidate.size()), candidate);
    const int longest_distance = std::max(2, static_cast<int>(candidate.size()) / 3);
    if (distance > longest_distance || (!nearest.empty() && distance >= smallest)) continue;
    nearest = candidate;
    smallest = distance;
  }
  return nearest;
}

std::string hint_for(std::string_view word, const std::vector<std::string_view>& valid,
                     std::size_t most) {
  const auto end = valid.begin() + static_cast<std::ptrdiff_t>(std::min(valid.size(), most));
  const std::string all =
      fmt::format("{}{}", fmt::join(valid.begin(), end, ", "), valid.size() > most ? ", ..." : "");
  const std::string_view nearest = nearest_word(word, valid);
  if (nearest.empty()) return fmt::format("expected {}", all);
  return fmt::format("the nearest valid one is '{}' (all: {})", nearest, all);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& valid) {
  const std::string_view nearest = nearest_word(word, valid);
  return nearest.empty() ? std::string() : fmt::format(", did you mean {}?", quote(nearest));
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  // After a mismatch the last * takes one character more; earlier ones never need to.
  std::size_t at = 0, expected = 0, after_star = std::string_view::npos, star_end = 0;
  while (at < text.size()) {
    if (expected < pattern.size() && pattern[expected] == '*') {
      after_star = ++expected;
      star_end = at;
    } else if (expected < pattern.size() && pattern[expected] == text[at]) {
      ++expected;
      ++at;
    } else if (after_star != std::string_view::npos) {
      expected = after_star;
      at = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', expected) == std::string_view::npos;
}

}  // namespace tutti
