// The proof: executes a plan on symbols instead of numbers, and so for every input at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/plan.hpp"

namespace tutti {

/// What one collective promises. Buffer 0 of the plan is every rank's `data`; out of place, what a
/// rank contributes is in buffer 1 instead, and a single part, contributed or promised, begins its
/// buffer. `counts` are the elements of each part, empty for equal parts.
struct Promise {
  Collective collective = Collective::allreduce;
  int ranks = 1;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  int root = 0;
  std::vector<std::size_t> counts = {};
  bool out_of_place = false;
  bool same_folds = true;  ///< Where the same is promised to all, it is the very same fold.
  std::string_view unit = "element";  ///< What an element is called in errors.
};

/// What the proof found out about one part of the result (or about all of it, where the collective
/// has no parts).
struct FoldTree {
  std::size_t first_element = 0;
  std::size_t last_element = 0;  ///< Inclusive.
  std::string text;              ///< "((0 + 1) + (2 + 3))": the ranks, in the order of the fold.
};

/// Gives each element of each rank's buffer the fold of contributions that it has absorbed,
/// executes the plan, and throws Error(mismatch), which names rank, element, step and what is
/// wrong, unless
///
/// * no element is read before it was written,
/// * no fold absorbs a contribution twice or mixes different elements,
/// * at the end every rank holds exactly what the collective promises; with `same_folds`, where the
///   same is promised to all ranks, the very same fold of it, hence the same bits,
/// * for a barrier, no rank ends before it has heard, directly or not, from every other.
///
/// Cost: linear in the elements moved, and N bits for each fold.
void prove(const Plan& plan, const Promise& promise);

/// Proves the promise and returns the folds of a reduction, equal neighbours together; empty for
/// the others. Cost: that of prove(), and the text.
std::vector<FoldTree> fold_trees(const Plan& plan, const Promise& promise);

}  // namespace tutti
