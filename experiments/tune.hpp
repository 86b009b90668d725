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
/// then again those that were at most 1.5 times slower than the first, but at most half of them,
/// until one is left: so the close ones are timed most, and each counts by the least of its times,
/// which is what least depends on what else the machine does. A choice that followed a rule is left
/// alone. Cost: some log2 of the candidates' number times as long as all of them take.
void tune(Choice& choice, const TimeCandidates& time);

/// The same for the choice of a job, which it then follows; times are medians of `meter`, which
/// takes as many jobs at once as there are candidates.
void tune(Job& job, Meter& meter);

}  // namespace tutti
