#include "experiments/tune.hpp"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

constexpr double hopeless_factor = 1.5;

struct Contender {
  Candidate candidate;
  double least_seconds = std::numeric_limits<double>::infinity();
};

void time_once(std::vector<Contender>& contenders, const TimeCandidates& time) {
  std::vector<Candidate> candidates;
  for (const Contender& contender : contenders) candidates.push_back(contender.candidate);
  const std::vector<double> seconds = time(candidates);
  check(seconds.size() == candidates.size(), "tune: {} times of {} candidates", seconds.size(),
        candidates.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    contenders[i].least_seconds = std::min(contenders[i].least_seconds, seconds[i]);
  }
}

// Sorts by time and drops the slower half, and the hopeless.
void drop_slow(std::vector<Contender>& contenders) {
  std::stable_sort(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.least_seconds < b.least_seconds; });
  contenders.resize((contenders.size() + 1) / 2);
  const double limit = contenders.front().least_seconds * hopeless_factor;
  std::erase_if(contenders, [&](const Contender& c) { return c.least_seconds > limit; });
}

}  // namespace

void tune(Choice& choice, const TimeCandidates& time) {
  if (!choice.origin.empty()) return;
  std::vector<Contender> contenders;
  for (const Candidate& candidate : choice.candidates) contenders.push_back({candidate});
  while (contenders.size() > 1) {
    time_once(contenders, time);
    drop_slow(contenders);
  }
  if (contenders.empty()) return;
  choice.chosen = contenders.front().candidate;
  choice.origin = measured_origin;
}

void tune(Job& job, Meter& meter) {
  check(job.choice.has_value(), "tune: a job without a choice");
  tune(*job.choice, [&](std::span<const Candidate> candidates) {
    std::vector<Job> jobs(candidates.size(), job);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].algorithm = candidates[i].algorithm;
      jobs[i].tuning = candidates[i].tuning;
    }
    std::vector<double> seconds;
    for (const Timing& timing : meter.time(jobs)) seconds.push_back(timing.p50_seconds);
    return seconds;
  });
  job.algorithm = job.choice->chosen.algorithm;
  job.tuning = job.choice->chosen.tuning;
}

}  // namespace tutti
