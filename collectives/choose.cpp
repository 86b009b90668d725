#include "collectives/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tutti {
namespace {

constexpr double equal_times = 1e-9;
constexpr int most_radix = 64;

double seconds_of(const Algorithm& algorithm, const Problem& problem, const Tuning& tuning,
                  const CostProfile& profile) {
  Problem tuned = problem;
  tuned.tuning = tuning;
  return predicted_seconds(algorithm, tuned, profile);
}

// Keeps the tuning with the smallest time, of equal ones the first.
class Best {
 public:
  Best(const Algorithm& algorithm, const Problem& problem, const CostProfile& profile,
       const Tuning& tuning)
      : problem_(problem),
        profile_(profile),
        candidate_{&algorithm, tuning, seconds_of(algorithm, problem, tuning, profile)} {}

  /// Whether the tuning is better than all before.
  bool offer(const Tuning& tuning) {
    const double seconds = seconds_of(*candidate_.algorithm, problem_, tuning, profile_);
    if (!(seconds < candidate_.seconds * (1 - equal_times))) return false;
    candidate_.tuning = tuning;
    candidate_.seconds = seconds;
    return true;
  }

  const Candidate& candidate() const { return candidate_; }

 private:
  const Problem& problem_;
  const CostProfile& profile_;
  Candidate candidate_;
};

// The time is the sum of what grows with the segments and what shrinks with them: after doubling
// their number as long as that helps, the best lies within a factor of two.
void tune_segments(Best& best, std::size_t count) {
  const int most = static_cast<int>(std::min<std::size_t>(count, most_segments));
  Tuning tuning = best.candidate().tuning;
  const auto offer = [&](int segments) {
    tuning.segments = segments;
    return segments >= 1 && segments <= most && best.offer(tuning);
  };
  int segments = 1;
  while (offer(2 * segments)) segments *= 2;
  for (int step = segments / 2; step >= 1; step /= 2) {
    const int centre = best.candidate().tuning.segments;
    if (!offer(centre - step)) offer(centre + step);
  }
}

std::vector<int> radices_of(const Algorithm& algorithm, const Problem& problem) {
  std::vector<int> radices;
  if (!algorithm.uses_radix || problem.tuning.radix != 0) return {problem.tuning.radix};
  for (int radix = 2; radix <= std::max(2, std::min(problem.ranks, most_radix)); ++radix) {
    radices.push_back(radix);
  }
  return radices;
}

// The divisors of N but 1 and N, which leave no hierarchy; the default where there are none.
std::vector<int> groups_of(const Algorithm& algorithm, const Problem& problem) {
  std::vector<int> groups;
  if (algorithm.uses_group && problem.tuning.group == 0) {
    for (int group = 2; group < problem.ranks; ++group) {
      if (problem.ranks % group == 0) groups.push_back(group);
    }
  }
  return groups.empty() ? std::vector{problem.tuning.group} : groups;
}

Candidate tuned(const Algorithm& algorithm, const Problem& problem, const CostProfile& profile) {
  const bool open_segments = algorithm.uses_segments && problem.tuning.segments == 0;
  const int segments = open_segments ? 1 : problem.tuning.segments;
  const std::vector<int> radices = radices_of(algorithm, problem);
  const std::vector<int> groups = groups_of(algorithm, problem);
  Best best(algorithm, problem, profile, {segments, radices.front(), groups.front()});
  for (const int radix : radices) {
    for (const int group : groups) best.offer({segments, radix, group});
  }
  if (open_segments) tune_segments(best, problem.count);
  return best.candidate();
}

[[noreturn]] void refuse(const Rule& rule, const Problem& problem) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} of {} elements among {} ranks is not supported, expected {}",
                          rule.origin, describe(*rule.algorithm, problem.tuning), problem.count,
                          problem.ranks, rule.algorithm->supported));
}

Candidate follow(const Rule& rule, const Problem& problem, const CostProfile& profile) {
  Problem pinned = problem;
  const auto pin = [](int& own, int wanted) {
    if (wanted != 0) own = wanted;
  };
  pin(pinned.tuning.segments, rule.tuning.segments);
  pin(pinned.tuning.radix, rule.tuning.radix);
  pin(pinned.tuning.group, rule.tuning.group);
  if (!rule.algorithm->supports(pinned)) refuse(rule, pinned);
  return tuned(*rule.algorithm, pinned, profile);
}

std::vector<Candidate> candidates_of(Collective collective, const Problem& problem,
                                     const CostProfile& profile) {
  std::vector<Candidate> candidates;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (!algorithm->supports(problem)) continue;
    candidates.push_back(tuned(*algorithm, problem, profile));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  // Of equally fast ones the first of the catalogue comes first; its entries are one array.
  for (auto first = candidates.begin(); first != candidates.end();) {
    const double limit = first->seconds * (1 + equal_times);
    const auto last = std::find_if(first, candidates.end(),
                                   [&](const Candidate& c) { return c.seconds > limit; });
    std::sort(first, last, [](const Candidate& a, const Candidate& b) {
      return std::less<>()(a.algorithm, b.algorithm);
    });
    first = last;
  }
  return candidates;
}

}  // namespace

bool Rule::matches(Collective of, const Problem& problem) const {
  return collective == of && problem.bytes() >= min_bytes && problem.bytes() <= max_bytes &&
         problem.ranks >= min_ranks && problem.ranks <= max_ranks;
}

std::string describe(const Algorithm& algorithm, const Tuning& tuning) {
  std::string text(algorithm.name);
  if (algorithm.uses_segments && tuning.segments != 0) {
    text += fmt::format(", {} segment{}", tuning.segments, tuning.segments == 1 ? "" : "s");
  }
  if (algorithm.uses_radix && tuning.radix != 0) text += fmt::format(", radix {}", tuning.radix);
  if (algorithm.uses_group && tuning.group != 0) {
    text += fmt::format(", groups of {}", tuning.group);
  }
  return text;
}

std::string Choice::describe() const {
  return fmt::format("{}{}{}, predicted {:.1f} us",
                     tutti::describe(*chosen.algorithm, chosen.tuning),
                     origin.empty() ? "" : ", by ", origin, chosen.seconds * 1e6);
}

Choice choose(Collective collective, const Problem& problem, const CostProfile& profile,
              const Rules& rules) {
  Choice choice;
  choice.candidates = candidates_of(collective, problem, profile);
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& candidate) {
    return candidate.matches(collective, problem);
  });
  if (rule != rules.end()) {
    choice.chosen = follow(*rule, problem, profile);
    choice.origin = rule->origin;
  } else if (!choice.candidates.empty()) {
    choice.chosen = choice.candidates.front();
  } else {
    throw Error(ErrorKind::usage,
                fmt::format("{} of {} elements among {} ranks: no algorithm supports it",
                            name_of(collective), problem.count, problem.ranks));
  }
  return choice;
}

}  // namespace tutti
