#include "experiments/rank_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "collectives/error.hpp"
#include "experiments/output.hpp"

namespace tutti {
namespace {

[[noreturn]] void fail(const std::string& text, std::string_view what) {
  throw Error(ErrorKind::usage, fmt::format("--groups {}: {}", shorten_words(text), what));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// "0-7:2" or "5".
void add_range(const std::string& text, const std::string& range, int ranks,
               std::vector<int>& members) {
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [rest, status] = std::from_chars(digits.data(), end, value);
    if (status != std::errc{} || rest != end || value < 0) {
      fail(text, fmt::format("'{}' is no range of ranks, expected such as 0-3,4-7 or 0-7:2,1-7:2",
                             shorten_words(range)));
    }
    return value;
  };
  const std::string_view all = range;
  const std::size_t colon = std::min(all.find(':'), all.size());
  const std::size_t dash = std::min(all.find('-'), colon);
  const int first = number(all.substr(0, dash));
  const int last = dash == colon ? first : number(all.substr(dash + 1, colon - dash - 1));
  const int stride = colon == all.size() ? 1 : number(all.substr(colon + 1));
  if (stride == 0 || last < first) fail(text, fmt::format("'{}' is an empty range", range));
  if (last >= ranks) {
    fail(text, fmt::format("{} is not a rank, expected 0 to {}", last, ranks - 1));
  }
  for (int rank = first; rank <= last; rank += stride) members.push_back(rank);
}

}  // namespace

std::vector<ContendingGroup> parse_groups(const std::string& text, int ranks) {
  std::vector<ContendingGroup> groups;
  if (text.empty()) return groups;
  std::map<int, std::string> seen;
  for (const std::string& name : split(text, ',')) {
    ContendingGroup group{name, {}};
    for (const std::string& range : split(name, '+')) add_range(text, range, ranks, group.members);
    for (const int member : group.members) {
      const auto [found, is_new] = seen.emplace(member, name);
      if (!is_new) {
        fail(text, fmt::format("rank {} is in {} and in {}, expected disjoint groups", member,
                               found->second, name));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

const ContendingGroup& largest_group(const std::vector<ContendingGroup>& groups) {
  return *std::max_element(groups.begin(), groups.end(),
                           [](const ContendingGroup& a, const ContendingGroup& b) {
                             return a.members.size() < b.members.size();
                           });
}

std::vector<int> group_sizes(const std::vector<ContendingGroup>& groups, int all_ranks) {
  std::set<int, std::greater<>> sizes;
  for (const ContendingGroup& group : groups) {
    sizes.insert(static_cast<int>(group.members.size()));
  }
  if (sizes.empty()) sizes.insert(all_ranks);
  return {sizes.begin(), sizes.end()};
}

}  // namespace tutti
