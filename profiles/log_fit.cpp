#include "profiles/log_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "collectives/error.hpp"

namespace tutti {
namespace {

/// What two runs of a benchmark differ by at least, so that a piece through two points is not
/// infinitely good.
constexpr double repeatability = 0.01;

struct Line {
  double latency = 0.0;
  double per_byte = 0.0;

  double at(double bytes) const { return latency + bytes * per_byte; }
};

using Doubles = std::span<const double>;

/// Weighted least squares of relative errors, with both figures at least 0.
Line weighted_line(Doubles bytes, Doubles seconds, const Eigen::VectorXd& weights) {
  const auto size = static_cast<Eigen::Index>(bytes.size());
  Eigen::MatrixXd matrix(size, 2);
  for (Eigen::Index i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    matrix.row(i) << weights(i) / seconds[at], weights(i) * bytes[at] / seconds[at];
  }
  const Eigen::RowVector2d scale = matrix.colwise().norm().cwiseMax(1e-300);
  const Eigen::MatrixXd scaled = matrix.array().rowwise() / scale.array();
  const Eigen::Vector2d both = scaled.colPivHouseholderQr().solve(weights);
  if (size > 1 && both.minCoeff() >= 0.0) return {both(0) / scale(0), both(1) / scale(1)};
  const double latency = scaled.col(0).dot(weights), slope = scaled.col(1).dot(weights);
  const double latency_error = (scaled.col(0) * latency - weights).norm();
  const double slope_error = (scaled.col(1) * slope - weights).norm();
  if (size == 1 || latency_error <= slope_error) return {latency / scale(0), 0.0};
  return {0.0, slope / scale(1)};
}

Eigen::VectorXd errors_of(const Line& line, Doubles bytes, Doubles seconds) {
  Eigen::VectorXd errors(static_cast<Eigen::Index>(bytes.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    errors(static_cast<Eigen::Index>(i)) = line.at(bytes[i]) / seconds[i] - 1;
  }
  return errors;
}

/// Huber's weights, iterated.
Line robust_line(Doubles bytes, Doubles seconds) {
  constexpr int iterations = 10;
  constexpr double tuning = 1.345;  // 95 % of the efficiency of plain least squares.
  Eigen::VectorXd weights = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(bytes.size()));
  Line line = weighted_line(bytes, seconds, weights);
  for (int i = 0; i < iterations && bytes.size() > 2; ++i) {
    const Eigen::VectorXd errors = errors_of(line, bytes, seconds).cwiseAbs();
    std::vector<double> sorted(errors.begin(), errors.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(sorted.size() / 2),
                     sorted.end());
    const double limit = tuning * std::max(1.4826 * sorted[sorted.size() / 2], repeatability);
    weights = (limit / errors.array().max(limit)).sqrt();
    line = weighted_line(bytes, seconds, weights);
  }
  return line;
}

/// Indices [begin, end) of a piece.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The spans of the best number of pieces.
std::vector<Span> choose_spans(Doubles bytes, Doubles seconds) {
  const std::size_t size = bytes.size();
  if (size < 4) return {{0, size}};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t most = size / 2;
  const auto row = [&] { return std::vector<double>(size + 1, infinity); };
  std::vector<std::vector<double>> cost(size + 1, row()), best(most + 1, row());
  std::vector<std::vector<std::size_t>> from(most + 1, std::vector<std::size_t>(size + 1));
  for (std::size_t begin = 0; begin < size; ++begin) {
    for (std::size_t end = begin + 2; end <= size; ++end) {
      const Doubles b = bytes.subspan(begin, end - begin), s = seconds.subspan(begin, end - begin);
      cost[begin][end] = errors_of(robust_line(b, s), b, s).squaredNorm();
    }
  }
  best[0][0] = 0.0;
  for (std::size_t pieces = 1; pieces <= most; ++pieces) {
    for (std::size_t end = 2; end <= size; ++end) {
      for (std::size_t begin = 0; begin + 2 <= end; ++begin) {
        const double total = best[pieces - 1][begin] + cost[begin][end];
        if (total >= best[pieces][end]) continue;
        best[pieces][end] = total;
        from[pieces][end] = begin;
      }
    }
  }
  const auto n = static_cast<double>(size);
  std::size_t chosen = 1;
  double smallest = infinity;
  for (std::size_t pieces = 1; pieces <= most; ++pieces) {
    // Two figures a piece, and where it ends.
    const double figures = 3.0 * static_cast<double>(pieces) - 1;
    const double variance = best[pieces][size] / n + repeatability * repeatability;
    const double criterion = n * std::log(variance) + figures * std::log(n);
    if (criterion >= smallest) continue;
    smallest = criterion;
    chosen = pieces;
  }
  std::vector<Span> spans(chosen);
  for (std::size_t piece = chosen, end = size; piece > 0; --piece) {
    spans[piece - 1] = {from[piece][end], end};
    end = from[piece][end];
  }
  return spans;
}

FittedFigure with_interval(double value, std::vector<double> resampled) {
  std::sort(resampled.begin(), resampled.end());
  const std::size_t tail = resampled.size() / 40;
  return {value, std::min(value, resampled[tail]),
          std::max(value, resampled[resampled.size() - 1 - tail])};
}

FittedPiece fit_piece(Doubles bytes, Doubles seconds, std::mt19937_64& random) {
  constexpr int resamplings = 200;
  const Line line = robust_line(bytes, seconds);
  const Eigen::VectorXd errors = errors_of(line, bytes, seconds);
  std::vector<double> latencies, slopes;
  for (int i = 0; i < resamplings; ++i) {
    std::vector<double> other(bytes.size());
    for (std::size_t j = 0; j < other.size(); ++j) {
      const auto drawn = static_cast<Eigen::Index>(random() % bytes.size());
      other[j] = std::max(line.at(bytes[j]), 1e-300) / std::max(1 + errors(drawn), 0.1);
    }
    const Line again = robust_line(bytes, other);
    latencies.push_back(again.latency);
    slopes.push_back(again.per_byte);
  }
  return {static_cast<std::size_t>(bytes.front()), static_cast<std::size_t>(bytes.back()),
          with_interval(line.latency, latencies), with_interval(line.per_byte, slopes)};
}

}  // namespace

double CurveFit::seconds(std::size_t bytes) const {
  const auto at = [](const FittedPiece& piece, std::size_t size) {
    return piece.latency_seconds.value + static_cast<double>(size) * piece.seconds_per_byte.value;
  };
  std::size_t i = 0;
  while (i + 1 < pieces.size() && bytes >= pieces[i + 1].first_bytes) ++i;
  if (bytes <= pieces[i].last_bytes || i + 1 == pieces.size()) return at(pieces[i], bytes);
  // Where the step lies between two pieces is not known.
  const double low = static_cast<double>(std::max<std::size_t>(pieces[i].last_bytes, 1));
  const double high = static_cast<double>(pieces[i + 1].first_bytes);
  const double before = at(pieces[i], pieces[i].last_bytes);
  const double after = at(pieces[i + 1], pieces[i + 1].first_bytes);
  const double share = std::log(static_cast<double>(bytes) / low) / std::log(high / low);
  return before * std::pow(after / before, share);
}

CurveFit fit_curve(const MeasuredCurve& curve, std::uint64_t seed) {
  check(!curve.bytes.empty() && curve.bytes.size() == curve.seconds.size(), "no curve to fit");
  const std::vector<double> bytes(curve.bytes.begin(), curve.bytes.end());
  const Doubles all_bytes(bytes), all_seconds(curve.seconds);
  std::mt19937_64 random(seed);
  CurveFit fit;
  for (const Span& span : choose_spans(all_bytes, all_seconds)) {
    const std::size_t size = span.end - span.begin;
    fit.pieces.push_back(fit_piece(all_bytes.subspan(span.begin, size),
                                   all_seconds.subspan(span.begin, size), random));
  }
  std::vector<double> sizes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    fit.residuals.push_back(fit.seconds(curve.bytes[i]) / curve.seconds[i] - 1);
    sizes.push_back(std::abs(fit.residuals.back()));
  }
  std::sort(sizes.begin(), sizes.end());
  fit.median_residual = sizes[sizes.size() / 2];
  fit.largest_residual = sizes.back();
  return fit;
}

}  // namespace tutti
