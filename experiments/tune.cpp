#include "experiments/tune.hpp"

#include <algorithm>
#include <cstddef>

namespace tutti {
namespace {

constexpr double hopeless_factor = 1.5;
constexpr std::size_t finalists = 4;
constexpr std::size_t final_rounds = 5;

struct Contender {
  Candidate candidate;
  std::vector<double> seconds = {};

  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

void time_once(std::vector<Contender>& contenders, const TimeCandidates& time) {
  std::vector<Candidate> candidates;
  for (const Contender& contender : contenders) candidates.push_back(contender.candidate);
  const std::vector<double> seconds = time(candidates);
  check(seconds.size() == candidates.size(), "tune: {} times of {} candidates", seconds.size(),
        candidates.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    contenders[i].seconds.push_back(seconds[i]);
  }
}

// The smaller of the two middle ones of an even number.
double median_of(std::vector<double> seconds) {
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// Drops the hopeless, and the slower half as long as finalists are left.
void drop_slow(std::vector<Contender>& contenders) {
  std::stable_sort(contenders.begin(), contenders.end(),
                   [](const Contender& a, const Contender& b) { return a.least() < b.least(); });
  const double limit = contenders.front().least() * hopeless_factor;
  std::erase_if(contenders, [&](const Contender& c) { return c.least() > limit; });
  const std::size_t half = std::max(finalists, (contenders.size() + 1) / 2);
  contenders.erase(
      contenders.begin() + static_cast<std::ptrdiff_t>(std::min(half, contenders.size())),
      contenders.end());
}

// What disturbs the machine for a while disturbs all of them, and not most of the rounds.
void time_finalists(std::vector<Contender>& contenders, const TimeCandidates& time) {
  for (std::size_t round = 0; round < final_rounds && contenders.size() > 1; ++round) {
    time_once(contenders, time);
    drop_slow(contenders);
  }
  std::stable_sort(contenders.begin(), contenders.end(),
                   [](const Contender& a, const Contender& b) {
                     return median_of(a.seconds) < median_of(b.seconds);
                   });
}

}  // namespace

void tune(Choice& choice, const TimeCandidates& time) {
  if (!choice.origin.empty()) return;
  std::vector<Contender> contenders;
  for (const Candidate& candidate : choice.candidates) contenders.push_back({candidate});
  if (contenders.empty()) return;
  while (contenders.size() > finalists) {
    time_once(contenders, time);
    drop_slow(contenders);
  }
  time_finalists(contenders, time);
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
