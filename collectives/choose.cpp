#include "collectives/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace tutti {
namespace {

constexpr double equal_times = 1e-9;
constexpr int most_radix = 64;

// Keeps the tuning with the smallest time, of equal ones the first; none where none is supported.
class Best {
 public:
  Best(const Algorithm& algorithm, const Problem& problem, const CostProfile& profile)
      : problem_(problem), profile_(profile), candidate_{&algorithm, {}, 0.0} {}

  /// Whether the tuning is supported, and better than all before.
  bool offer(const Tuning& tuning) {
    const Algorithm& algorithm = *candidate_.algorithm;
    Problem tuned = problem_;
    tuned.tuning = tuning;
    if (!algorithm.supports(tuned)) return false;
    const double seconds = predicted_seconds(algorithm, tuned, profile_);
    if (found_ && !(seconds < candidate_.seconds * (1 - equal_times))) return false;
    candidate_.tuning = tuning;
    candidate_.seconds = seconds;
    found_ = true;
    return true;
  }

  bool found() const { return found_; }
  const Candidate& candidate() const { return candidate_; }

 private:
  const Problem& problem_;
  const CostProfile& profile_;
  Candidate candidate_;
  bool found_ = false;
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

// The best inner and outer for `tuning`'s groups. The times of the levels add up, and what one
// supports does not depend on the other: so each can be sought for itself.
Tuning with_levels(const Algorithm& algorithm, const Problem& problem, const CostProfile& profile,
                   Tuning tuning) {
  const Tuning& stated = problem.tuning;
  const Levels levels = levels_of(algorithm, stated);
  Best best(algorithm, problem, profile);
  const auto offer = [&](const Algorithm* Tuning::*level, const Algorithm* first,
                         Collective collective) {
    tuning.*level = first;
    best.offer(tuning);
    if (stated.*level != nullptr) return;
    for (const Algorithm* other : algorithms_of(collective)) {
      tuning.*level = other;
      best.offer(tuning);
    }
  };
  tuning.outer = levels.outer;
  offer(&Tuning::inner, levels.inner, inner_collective(algorithm.collective));
  if (!best.found()) return tuning;
  tuning = best.candidate().tuning;
  offer(&Tuning::outer, levels.outer, algorithm.collective);
  return best.candidate().tuning;
}

std::optional<Candidate> tuned(const Algorithm& algorithm, const Problem& problem,
                               const CostProfile& profile) {
  const bool open_segments = algorithm.uses_segments && problem.tuning.segments == 0;
  Tuning tuning = problem.tuning;
  if (open_segments) tuning.segments = 1;
  Best best(algorithm, problem, profile);
  for (const int radix : radices_of(algorithm, problem)) {
    for (const int group : groups_of(algorithm, problem)) {
      tuning.radix = radix;
      tuning.group = group;
      best.offer(algorithm.has_levels() ? with_levels(algorithm, problem, profile, tuning)
                                        : tuning);
    }
  }
  if (!best.found()) return std::nullopt;
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
  const auto pin = [](auto& own, const auto& wanted) {
    if (wanted) own = wanted;
  };
  pin(pinned.tuning.segments, rule.tuning.segments);
  pin(pinned.tuning.radix, rule.tuning.radix);
  pin(pinned.tuning.group, rule.tuning.group);
  pin(pinned.tuning.inner, rule.tuning.inner);
  pin(pinned.tuning.outer, rule.tuning.outer);
  const std::optional<Candidate> candidate = tuned(*rule.algorithm, pinned, profile);
  if (!candidate) refuse(rule, pinned);
  return *candidate;
}

std::vector<Candidate> candidates_of(Collective collective, const Problem& problem,
                                     const CostProfile& profile) {
  std::vector<Candidate> candidates;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (const auto candidate = tuned(*algorithm, problem, profile)) {
      candidates.push_back(*candidate);
    }
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
  if (algorithm.has_levels() && (tuning.inner != nullptr || tuning.outer != nullptr)) {
    const Levels levels = levels_of(algorithm, tuning);
    text += fmt::format(", {} x {}", levels.inner->name, levels.outer->name);
  }
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
