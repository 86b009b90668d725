// Choosing: which algorithm is the fastest for a problem, by what messages cost. Knows no size
// thresholds: they follow from the closed forms.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/catalogue.hpp"

namespace tutti {

/// What somebody wants for some uses of a collective, whatever is predicted.
struct Rule {
  Collective collective = Collective::allreduce;
  std::size_t min_bytes = 0;  ///< Of the whole buffer. All limits are inclusive.
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();
  int min_ranks = 1;
  int max_ranks = std::numeric_limits<int>::max();
  const Algorithm* algorithm = nullptr;
  Tuning tuning = {};  ///< 0: what is predicted to be the fastest.
  std::string origin;  ///< Where it was stated: "rules.csv line 4".

  bool matches(Collective of, const Problem& problem) const;
};

/// The first that matches wins.
using Rules = std::vector<Rule>;

/// A table as CSV, whose first line names the columns, in any order:
///
///   collective,min_bytes,max_bytes,min_ranks,max_ranks,algorithm,segments,radix,group,inner,outer
///   # Small ones by a tree.
///   allreduce,,65535,,,tree,,,,,
///   allreduce,65536,,8,,hierarchical,,,4,direct,
///
/// Only collective and algorithm are required. An empty field is no limit, or the best tuning.
/// Empty lines and what follows a # are skipped. `origin` names the table in errors and in
/// Rule::origin. Throws Error(usage) with the line and what is wrong with it.
Rules parse_rules(std::string_view text, std::string_view origin);

/// "allreduce:ring;broadcast:binomial" as rules without limits; with the two levels of a
/// hierarchical algorithm, "allreduce:hierarchical(direct,rabenseifner)". Throws Error(usage) that
/// lists the valid collectives or algorithms, or names both algorithms of a collective that comes
/// twice, and begins with `origin`.
Rules parse_forced(std::string_view text, std::string_view origin);

/// An algorithm with its best tuning.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  Tuning tuning;
  double seconds = 0.0;  ///< Predicted.
};

struct Choice {
  Candidate chosen;
  std::string origin;                 ///< Of the rule that was followed; empty where none was.
  std::vector<Candidate> candidates;  ///< All that support the problem, the fastest first.

  /// "ring, predicted 155.8 us" or "ring, by rules.csv line 4, predicted 155.8 us".
  std::string describe() const;
};

/// The algorithm of the first rule that matches; otherwise the one whose closed form gives the
/// smallest time (a bound counts like an exact form, and of those within 1e-9 the first in the
/// catalogue wins). What problem.tuning leaves open is chosen by the closed form too: segments up
/// to the elements there are, but at most `most_segments`, a radix up to 64, a group among the
/// divisors of N, and the two levels. Pure; cost: some hundred closed forms. Throws Error(usage)
/// where a rule asks for what its algorithm does not support.
Choice choose(Collective collective, const Problem& problem, const CostProfile& profile,
              const Rules& rules = {});

/// Each piece is a message with a cost of its own on a real machine, even where alpha is fitted 0.
inline constexpr int most_segments = 1024;

/// "ring", "ring_segmented, 8 segments" or "hierarchical, direct x rabenseifner, groups of 8".
std::string describe(const Algorithm& algorithm, const Tuning& tuning);

}  // namespace tutti
