#include "profiles/log_validation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "profiles/log_fit.hpp"

namespace tutti {
namespace {

struct Tested {
  const MeasuredCurve* curve = nullptr;
  CurveFit fit;
};

MeasuredCurve every_second(const MeasuredCurve& curve) {
  MeasuredCurve part{curve.series, curve.statistic, {}, {}};
  for (std::size_t i = 0; i < curve.bytes.size(); i += 2) {
    part.bytes.push_back(curve.bytes[i]);
    part.seconds.push_back(curve.seconds[i]);
  }
  return part;
}

std::string name_in(const Series& series) {
  std::string name = series.algorithm.empty() ? "default" : series.algorithm;
  return series.library.empty() ? name : series.library + ":" + name;
}

void add_errors(const std::vector<Tested>& all, HeldOutCheck& check) {
  std::vector<double> errors;
  for (const Tested& tested : all) {
    for (std::size_t i = 1; i < tested.curve->bytes.size(); i += 2) {
      errors.push_back(
          std::abs(tested.fit.seconds(tested.curve->bytes[i]) / tested.curve->seconds[i] - 1));
    }
  }
  std::sort(errors.begin(), errors.end());
  check.tested = static_cast<int>(errors.size());
  check.median_error = errors[errors.size() / 2];
  check.largest_error = errors.back();
}

void add_regrets(const std::vector<Tested>& all, HeldOutCheck& check) {
  struct Choice {
    double best = std::numeric_limits<double>::infinity();
    double predicted = best;
    double taken = best;
    int algorithms = 0;
  };
  std::map<std::size_t, Choice> choices;
  for (const Tested& tested : all) {
    for (std::size_t i = 1; i < tested.curve->bytes.size(); i += 2) {
      Choice& choice = choices[tested.curve->bytes[i]];
      const double measured = tested.curve->seconds[i];
      const double predicted = tested.fit.seconds(tested.curve->bytes[i]);
      ++choice.algorithms;
      choice.best = std::min(choice.best, measured);
      if (predicted >= choice.predicted) continue;
      choice.predicted = predicted;
      choice.taken = measured;
    }
  }
  for (const auto& [bytes, choice] : choices) {
    if (choice.algorithms < 2) continue;
    const double regret = choice.taken / choice.best - 1;
    ++check.choices;
    check.mean_regret += regret;
    check.largest_regret = std::max(check.largest_regret, regret);
  }
  check.mean_regret /= std::max(check.choices, 1);
}

/// Sizes at which `difference` changes its sign, by straight lines over the logarithm of the size.
template <typename Difference>
std::vector<double> changes(const std::vector<double>& sizes, Difference difference) {
  std::vector<double> found;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    const double before = difference(sizes[i - 1]), after = difference(sizes[i]);
    if ((before < 0.0) == (after < 0.0)) continue;
    const double share = before / (before - after);
    found.push_back(sizes[i - 1] * std::pow(sizes[i] / sizes[i - 1], share));
  }
  return found;
}

double measured_at(const MeasuredCurve& curve, double bytes) {
  const auto found =
      std::find(curve.bytes.begin(), curve.bytes.end(), static_cast<std::size_t>(bytes));
  return curve.seconds[static_cast<std::size_t>(found - curve.bytes.begin())];
}

void add_crossover(const Tested& first, const Tested& second, HeldOutCheck& check) {
  std::vector<std::size_t> common;
  std::set_intersection(first.curve->bytes.begin(), first.curve->bytes.end(),
                        second.curve->bytes.begin(), second.curve->bytes.end(),
                        std::back_inserter(common));
  const std::vector<double> sizes(common.begin(), common.end());
  const auto measured = [&](double bytes) {
    return std::log(measured_at(*first.curve, bytes) / measured_at(*second.curve, bytes));
  };
  const std::vector<double> real = changes(sizes, measured);
  if (real.size() != 1 || sizes[0] < 1.0) return;
  constexpr int steps_a_size = 16;
  std::vector<double> fine;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    for (int step = 0; step < steps_a_size; ++step) {
      fine.push_back(sizes[i - 1] *
                     std::pow(sizes[i] / sizes[i - 1], static_cast<double>(step) / steps_a_size));
    }
  }
  fine.push_back(sizes.back());
  const auto predicted = [&](double bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    return std::log(first.fit.seconds(size) / second.fit.seconds(size));
  };
  const bool is_first_below = measured(sizes[0]) < 0.0;
  const Tested& below = is_first_below ? first : second;
  const Tested& above = is_first_below ? second : first;
  CrossoverCheck result{name_in(below.curve->series), name_in(above.curve->series), real[0], 0.0};
  for (const double bytes : changes(fine, predicted)) {
    const bool is_nearer =
        std::abs(std::log(bytes / real[0])) < std::abs(std::log(result.predicted_bytes / real[0]));
    if (result.predicted_bytes <= 0.0 || is_nearer) result.predicted_bytes = bytes;
  }
  check.crossovers.push_back(result);
}

}  // namespace

double CrossoverCheck::ratio() const {
  if (predicted_bytes <= 0.0) return std::numeric_limits<double>::infinity();
  const double ratio = predicted_bytes / measured_bytes;
  return std::max(ratio, 1 / ratio);
}

std::vector<HeldOutCheck> check_held_out(const SampleSet& set) {
  constexpr std::size_t fewest_sizes = 4;
  const std::vector<MeasuredCurve> curves = curves_of(set);
  std::map<Series, std::vector<Tested>> groups;
  for (const MeasuredCurve& curve : curves) {
    if (curve.bytes.size() < fewest_sizes) continue;
    Series key = curve.series;
    key.algorithm.clear();
    key.library.clear();
    groups[key].push_back({&curve, fit_curve(every_second(curve))});
  }
  std::vector<HeldOutCheck> checks;
  for (const auto& [series, all] : groups) {
    HeldOutCheck check;
    check.series = series;
    check.algorithms = static_cast<int>(all.size());
    add_errors(all, check);
    add_regrets(all, check);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = i + 1; j < all.size(); ++j) add_crossover(all[i], all[j], check);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace tutti
