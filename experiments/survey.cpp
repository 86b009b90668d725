#include "experiments/survey.hpp"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t resolution = 100;  // Bisect to a hundredth of the count.

std::size_t fastest(const std::vector<double>& seconds, std::size_t except) {
  std::size_t best = seconds.size();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (i == except) continue;
    if (best == seconds.size() || seconds[i] < seconds[best] * (1 - equal_times)) best = i;
  }
  return best;
}

Change crossing(const Sample& low, const Sample& high) {
  const std::size_t from = low.winner(), to = high.winner();
  const double before = low.seconds[to] - low.seconds[from];
  const double after = high.seconds[from] - high.seconds[to];
  const double share = before + after > 0.0 ? before / (before + after) : 0.5;
  const auto width = static_cast<double>(high.count - low.count);
  return {from, to, static_cast<double>(low.count) + share * width};
}

void bisect(const Sample& low, const Sample& high, const Evaluate& evaluate,
            std::vector<Change>& changes) {
  if (low.winner() == high.winner()) return;
  const std::size_t width = high.count - low.count;
  if (width <= std::max<std::size_t>(1, low.count / resolution)) {
    changes.push_back(crossing(low, high));
    return;
  }
  const std::size_t middle_count = low.count + width / 2;
  const Sample middle{middle_count, evaluate(middle_count)};
  bisect(low, middle, evaluate, changes);
  bisect(middle, high, evaluate, changes);
}

}  // namespace

std::size_t Sample::winner() const {
  return fastest(seconds, seconds.size());
}

std::size_t Sample::runner_up() const {
  return seconds.size() > 1 ? fastest(seconds, winner()) : winner();
}

double Sample::margin() const {
  const double best = seconds[winner()], second = seconds[runner_up()];
  return second > best * (1 + equal_times) ? second / best - 1 : 0.0;
}

Survey survey(std::vector<std::size_t> counts, const Evaluate& evaluate, double tolerance) {
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  Survey result;
  for (const std::size_t count : counts) result.samples.push_back({count, evaluate(count)});
  std::size_t held = 0;  // The last sample that the present winner won.
  for (std::size_t i = 1; i < result.samples.size(); ++i) {
    const Sample& sample = result.samples[i];
    const bool is_timeless = result.samples[held].seconds[result.samples[held].winner()] <= 0.0;
    if (is_timeless) {
      held = i;
      continue;
    }
    const std::size_t holder = result.samples[held].winner(), winner = sample.winner();
    const bool is_beaten = sample.seconds[holder] > sample.seconds[winner] * (1 + tolerance);
    if (is_beaten) bisect(result.samples[held], sample, evaluate, result.changes);
    if (is_beaten || winner == holder) held = i;
  }
  return result;
}

}  // namespace tutti
