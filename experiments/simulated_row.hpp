// Rows of simulated results: times with what closed forms say of them, and why.
#pragma once

#include <string>
#include <vector>

#include "experiments/cut_bound.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/rows.hpp"
#include "experiments/trial.hpp"

namespace tutti {

/// A time that no algorithm can beat: in the terms of the alpha-beta-gamma model, and by cuts.
struct BoundTerms {
  double latency_seconds = 0.0;
  double bandwidth_seconds = 0.0;
  double reduction_seconds = 0.0;
  double cut_seconds = 0.0;  ///< See cut_bound.hpp.

  /// They may overlap.
  double seconds() const;
};

/// Makes rows for the first `ranks` of a shape.
class RowMaker {
 public:
  /// `shape` is among() those that take part; `shares_links` is false where no flow slows another.
  /// Cost: see cost_model() and cuts_below_switches().
  RowMaker(const Shape& shape, int ranks, bool shares_links);

  /// Closed forms, and so bounds and notes, are of equal parts only.
  Row row(const Job& job, const Trial& trial, const std::string& topology) const;

  BoundTerms bound(const Job& job) const;

 private:
  const int ranks_;
  const CostModel model_;
  const double slowest_bytes_per_second_;
  const double widest_bytes_per_second_;  ///< Of a host's links together.
  const std::vector<Cut> cuts_;
};

/// The keys of the conditions, and of what the trial observed; `shape` names its links.
/// Nothing for a lone collective of all ranks without noise of which nobody asked why.
Json extras_json(const Trial& trial, const ConditionFlags& flags, const BoundTerms& bound,
                 const Shape& shape);

/// The same for people, in lines: groups, waits, and why. `indent` begins each.
std::vector<std::string> describe_extras(const Trial& trial, const Conditions& conditions,
                                         const BoundTerms& bound, const Shape& shape);

/// What the keys mean, for --help.
extern const char* const extras_help;

}  // namespace tutti
