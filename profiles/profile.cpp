#include "profiles/profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "collectives/error.hpp"

namespace tutti {
namespace {

// Of one buffer.
double interpolate(std::span<const ProfilePoint> points, Curve curve, std::size_t message_bytes) {
  const auto above = std::lower_bound(
      points.begin(), points.end(), message_bytes,
      [](const ProfilePoint& point, std::size_t bytes) { return point.message_bytes < bytes; });
  if (above == points.begin()) return above->time(curve).seconds;
  const ProfilePoint& below = *std::prev(above);
  const double low = below.time(curve).seconds;
  const double ratio =
      static_cast<double>(message_bytes) / static_cast<double>(below.message_bytes);
  if (above == points.end()) return low * ratio;
  const double high = above->time(curve).seconds;
  const double width =
      static_cast<double>(above->message_bytes) / static_cast<double>(below.message_bytes);
  if (low <= 0.0 || high <= 0.0) return low + (high - low) * (ratio - 1) / (width - 1);
  return low * std::pow(high / low, std::log(ratio) / std::log(width));
}

// Those of the buffer that `point` is of.
std::span<const ProfilePoint> buffer_of(const std::vector<ProfilePoint>& points,
                                        std::vector<ProfilePoint>::const_iterator point) {
  const auto [begin, end] = std::equal_range(
      points.begin(), points.end(), *point,
      [](const ProfilePoint& a, const ProfilePoint& b) { return a.buffer_bytes < b.buffer_bytes; });
  return {begin, end};
}

}  // namespace

std::string_view name_of(Curve curve) {
  constexpr std::array<std::string_view, curves> names = {
      "sent",    "alone",          "loaded", "loaded_shared",
      "reduced", "reduced_shared", "copied", "combined"};
  return names[static_cast<std::size_t>(curve)];
}

double RankProfile::seconds(Curve curve, std::size_t message_bytes,
                            std::size_t buffer_bytes) const {
  check(!points.empty(), "a profile without points");
  const auto above = std::lower_bound(
      points.begin(), points.end(), buffer_bytes,
      [](const ProfilePoint& point, std::size_t bytes) { return point.buffer_bytes < bytes; });
  if (above == points.begin()) return interpolate(buffer_of(points, above), curve, message_bytes);
  const auto below = buffer_of(points, std::prev(above));
  if (above == points.end()) return interpolate(below, curve, message_bytes);
  const auto larger = buffer_of(points, above);
  const double high = interpolate(larger, curve, message_bytes);
  // A message that the smaller buffer does not have.
  if (message_bytes > below.back().message_bytes) return high;
  const double low = interpolate(below, curve, message_bytes);
  const double share =
      std::log(static_cast<double>(buffer_bytes) / static_cast<double>(below[0].buffer_bytes)) /
      std::log(static_cast<double>(larger[0].buffer_bytes) /
               static_cast<double>(below[0].buffer_bytes));
  if (low <= 0.0 || high <= 0.0) return low + (high - low) * share;
  return low * std::pow(high / low, share);
}

const RankProfile& Profile::of(int count) const {
  check(!ranks.empty(), "a profile without ranks");
  const auto distance = [count](const RankProfile& each) {
    return std::abs(std::log(static_cast<double>(each.ranks) / count));
  };
  return *std::min_element(
      ranks.begin(), ranks.end(),
      [&](const RankProfile& a, const RankProfile& b) { return distance(a) < distance(b); });
}

Profile Profile::resampled(std::uint64_t seed) const {
  Profile result = *this;
  std::mt19937_64 random(seed);
  const auto move = [&random](Estimate& estimate) {
    // Uniform, from the generator's bits: the same everywhere.
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    estimate.seconds =
        estimate.low_seconds + share * (estimate.high_seconds - estimate.low_seconds);
  };
  for (RankProfile& each : result.ranks) {
    move(each.call);
    move(each.gap);
    for (ProfilePoint& point : each.points) {
      for (Estimate& estimate : point.times) move(estimate);
    }
  }
  return result;
}

}  // namespace tutti
