// Plans to prove: algorithms, each for one problem, recorded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/plan.hpp"
#include "collectives/proof.hpp"

namespace tutti {

/// One plan to prove.
struct ProofCase {
  Problem problem;
  std::vector<std::size_t> counts = {};  ///< Of the parts; empty for equal ones.

  /// "5 ranks, 13 elements, root 0, 2 segments, radix 0, group 0, default x default, equal
  /// parts".
  std::string describe() const;
};

/// Rank counts of the sweep: all from 1 to 64, and some up to 512.
std::vector<int> proof_ranks();

/// Of an algorithm of two levels, every inner with every outer that `ranks` support: for up to 16
/// ranks in every group, for 24, 36 and 64 in some. Empty for others.
std::vector<Tuning> level_tunings(const Algorithm& algorithm, int ranks);

/// What the sweep proves of an algorithm on so many ranks. Up to 64 ranks: several counts, with
/// elements for few ranks only and for many, 1 to 4 segments, radices 2 to 5 and every group where
/// they matter, level_tunings(), uneven parts where they are allowed; every root up to 16 ranks,
/// two beyond. For more ranks: one count, the extremes of what can be tuned.
std::vector<ProofCase> proof_cases(const Algorithm& algorithm, int ranks);

/// Records `algorithm` through run(), in place (alltoall out of place), with float32 elements. Not
/// checked.
Plan plan_to_prove(const Algorithm& algorithm, const ProofCase& proof_case);

Promise promise_of(const Algorithm& algorithm, const ProofCase& proof_case);

void prove(const Algorithm& algorithm, const ProofCase& proof_case);

std::vector<FoldTree> fold_trees(const Algorithm& algorithm, const ProofCase& proof_case);

}  // namespace tutti
