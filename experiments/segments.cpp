#include "experiments/segments.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr std::size_t fewest_times = 4;  // Of a segment, unless there are no more.
constexpr std::size_t most_segments = 4;
constexpr double huber_limit = 1.345;    // Deviations; 95 % as good as least squares on clean data.
constexpr double smallest_error = 1e-3;  // Relative: finer differences are no sign of a step.
constexpr int reweightings = 8;
constexpr std::size_t resamples = 200;

struct Line {
  double start = 0.0;
  double slope = 0.0;

  double at(std::size_t bytes) const { return start + slope * static_cast<double>(bytes); }
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Least squares of the weighted relative errors.
Line weighted_line(std::span<const TimedBytes> times, const Eigen::VectorXd& weights) {
  Eigen::MatrixXd matrix(weights.size(), 2);
  Eigen::VectorXd target(weights.size());
  const auto scale = static_cast<double>(times.back().bytes);
  for (Eigen::Index i = 0; i < weights.size(); ++i) {
    const TimedBytes& time = times[static_cast<std::size_t>(i)];
    const double weight = std::sqrt(weights(i));
    matrix.row(i) << weight / time.seconds,
        weight * static_cast<double>(time.bytes) / scale / time.seconds;
    target(i) = weight;
  }
  const Eigen::Vector2d both = matrix.colPivHouseholderQr().solve(target);
  if (both(1) >= 0.0) return {both(0), both(1) / scale};
  return {matrix.col(0).dot(target) / matrix.col(0).squaredNorm(), 0.0};
}

std::vector<double> relative_errors(std::span<const TimedBytes> times, const Line& line) {
  std::vector<double> errors;
  for (const TimedBytes& time : times) errors.push_back(line.at(time.bytes) / time.seconds - 1);
  return errors;
}

Line robust_line(std::span<const TimedBytes> times) {
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(times.size()));
  Line line = weighted_line(times, weights);
  for (int i = 0; i < reweightings; ++i) {
    const std::vector<double> errors = relative_errors(times, line);
    std::vector<double> sizes;
    for (const double error : errors) sizes.push_back(std::abs(error));
    constexpr double deviations_per_median = 1.4826;  // Of normally distributed errors.
    const double limit = huber_limit * deviations_per_median *
                         std::max(median_of(sizes), smallest_error / deviations_per_median);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      weights(static_cast<Eigen::Index>(k)) = sizes[k] <= limit ? 1.0 : limit / sizes[k];
    }
    line = weighted_line(times, weights);
  }
  return line;
}

// Huber's loss in units of smallest_error would depend on it; the mean absolute error does not.
double cost_of(std::span<const TimedBytes> times) {
  double sum = 0.0;
  for (const double error : relative_errors(times, robust_line(times))) sum += std::abs(error);
  return sum;
}

// The cheapest ends of 1, 2, ... segments, by dynamic programming.
class Partitions {
 public:
  explicit Partitions(std::span<const TimedBytes> times) : size_(times.size()) {
    most_ = std::clamp<std::size_t>(size_ / fewest_times, 1, most_segments);
    const auto none = std::vector<double>(size_ + 1, std::numeric_limits<double>::infinity());
    costs_.assign(most_ + 1, none);
    begins_.assign(most_ + 1, std::vector<std::size_t>(size_ + 1, 0));
    costs_[0][0] = 0.0;
    const std::size_t fewest = std::min(fewest_times, size_);
    for (std::size_t begin = 0; begin + fewest <= size_; ++begin) {
      for (std::size_t end = begin + fewest; end <= size_; ++end) {
        const double cost = cost_of(times.subspan(begin, end - begin));
        for (std::size_t k = 1; k <= most_; ++k) consider(k, begin, end, cost);
      }
    }
  }

  // The ends of the segments of the number with the lowest criterion.
  std::vector<std::size_t> best() const {
    std::size_t best = 1;
    double lowest = std::numeric_limits<double>::infinity();
    const auto count = static_cast<double>(size_);
    for (std::size_t k = 1; k <= most_; ++k) {
      // A line goes through two of its times whatever they are.
      const double free = count - 2 * static_cast<double>(k);
      const double mean = std::max(costs_[k][size_] / std::max(free, 1.0), smallest_error);
      // Of Laplace's distribution; a segment has a step, a start and a slope.
      const double criterion =
          2 * count * std::log(mean) + 3 * static_cast<double>(k) * std::log(count);
      if (criterion < lowest) best = k;
      lowest = std::min(lowest, criterion);
    }
    std::vector<std::size_t> ends;
    for (std::size_t k = best, end = size_; k > 0; --k) {
      ends.push_back(end);
      end = begins_[k][end];
    }
    std::reverse(ends.begin(), ends.end());
    return ends;
  }

 private:
  // Segments are considered by ascending begin, so what ends at `begin` is known.
  void consider(std::size_t k, std::size_t begin, std::size_t end, double cost) {
    const double whole = costs_[k - 1][begin] + cost;
    if (whole >= costs_[k][end]) return;
    costs_[k][end] = whole;
    begins_[k][end] = begin;
  }

  std::size_t size_;
  std::size_t most_ = 1;
  std::vector<std::vector<double>> costs_;        // By number of segments and end.
  std::vector<std::vector<std::size_t>> begins_;  // Of the last of them.
};

Estimate interval_of(double value, std::vector<double>& outcomes) {
  std::sort(outcomes.begin(), outcomes.end());
  const std::size_t tail = outcomes.size() / 20;
  return {value, std::min(value, outcomes[tail]),
          std::max(value, outcomes[outcomes.size() - 1 - tail])};
}

Segment segment_of(std::span<const TimedBytes> times, std::mt19937_64& random) {
  const Line line = robust_line(times);
  const std::vector<double> errors = relative_errors(times, line);
  std::vector<double> starts, slopes, sizes;
  for (std::size_t i = 0; i < resamples; ++i) {
    std::vector<TimedBytes> drawn(times.begin(), times.end());
    for (TimedBytes& time : drawn) {
      const double error = errors[random() % errors.size()];
      time.seconds = std::max(line.at(time.bytes) / (1 + error), time.seconds * 1e-3);
    }
    const Line outcome = robust_line(drawn);
    starts.push_back(outcome.start);
    slopes.push_back(outcome.slope);
  }
  for (const double error : errors) sizes.push_back(std::abs(error));
  return {times.front().bytes, times.back().bytes, interval_of(line.start, starts),
          interval_of(line.slope, slopes), median_of(sizes)};
}

}  // namespace

std::vector<Segment> fit_segments(std::span<const TimedBytes> times, std::uint64_t seed) {
  check(times.size() >= 3, "{} times, expected at least 3 for a line", times.size());
  std::mt19937_64 random(seed);
  std::vector<Segment> segments;
  std::size_t begin = 0;
  for (const std::size_t end : Partitions(times).best()) {
    segments.push_back(segment_of(times.subspan(begin, end - begin), random));
    begin = end;
  }
  return segments;
}

}  // namespace tutti
