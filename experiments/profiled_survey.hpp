// Surveys of a question, and those that a profile predicts, with their uncertainty.
#pragma once

#include <string>
#include <vector>

#include "experiments/cluster.hpp"
#include "experiments/question.hpp"
#include "experiments/survey.hpp"
#include "profiles/profile.hpp"

namespace tutti {

/// Over the question's units, so that bisection too meets only counts that are multiples of them.
Survey survey_question(const Question& question, const Evaluate& evaluate,
                       double tolerance = equal_times);

/// Where a change may be, by a profile's uncertainty.
struct Interval {
  double low_count = 0.0;
  double high_count = 0.0;
  double share = 0.0;  ///< Of the draws that have the change.
};

struct ProfiledSurvey {
  Survey survey;
  std::vector<Interval> intervals;  ///< 90 %, of each change.
};

/// The times that the profile predicts, and how the changes move with 40 draws out of its
/// intervals.
ProfiledSurvey survey_predicted(const Question& question, const Profile& profile);

/// A star of what messages take while all ranks are busy: what explanations are made of. No ranks:
/// the most that were measured.
Cluster cluster_of(const Profile& profile, int ranks);

/// File, transport, element type and provenance in a line.
std::string describe(const Profile& profile, const std::string& file);

}  // namespace tutti
