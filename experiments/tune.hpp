// Tune: what auto takes, by measurement instead of prediction.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collectives/choose.hpp"
#include "experiments/measure.hpp"

namespace tutti {

/// Chosen_by of what was measured to be the fastest.
inline constexpr const char* measured_origin = "measurement";

/// One time for each of the candidates, in seconds.
using TimeCandidates = std::function<std::vector<double>(std::span<const Candidate>)>;

/// Makes the fastest of choice.candidates the chosen one, with measured_origin. Times all of them,
/// then again those that were at most 1.5 times slower than the first, by the least of their times,
/// but at most half of them, until four are left. Those are timed five times more, and the least
/// median wins. So the close ones are timed most, in turns with each other. A choice that followed
/// a rule is left alone. Cost: the candidates' number, twice, and five times four of them.
void tune(Choice& choice, const TimeCandidates& time);

/// The same for the choice of a job, which it then follows; times are medians of `meter`, which
/// takes as many jobs at once as there are candidates.
void tune(Job& job, Meter& meter);

}  // namespace tutti
