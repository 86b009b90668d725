// Rank groups: disjoint sets of ranks that run a collective each, all at once.
#pragma once

#include <string>
#include <vector>

namespace tutti {

struct ContendingGroup {
  std::string name;          ///< As typed.
  std::vector<int> members;  ///< In their order.
};

/// "0-3,4-7": groups are separated by commas; a group is ranks and ranges with '+' between them,
/// and a range may have a stride: "0-7:2,1-7:2" are the even and the odd of eight, "0+5+3" three
/// ranks in that order. "" is no group. Throws Error(usage) for what cannot be understood, a rank
/// that is none of `ranks`, and one that is in two groups.
std::vector<ContendingGroup> parse_groups(const std::string& text, int ranks);

/// The one with most members, of several such the first; there must be one.
const ContendingGroup& largest_group(const std::vector<ContendingGroup>& groups);

/// The different numbers of members, the largest first; `all_ranks` alone where there is no group.
std::vector<int> group_sizes(const std::vector<ContendingGroup>& groups, int all_ranks);

}  // namespace tutti
