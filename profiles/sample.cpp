#include "profiles/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace tutti {
namespace {

using BySize = std::map<std::size_t, std::vector<double>>;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool has(const std::vector<MeasuredCurve>& curves, Series series) {
  series.in_place = false;
  return std::any_of(curves.begin(), curves.end(),
                     [&](const MeasuredCurve& curve) { return curve.series == series; });
}

}  // namespace

std::string_view name_of(Statistic statistic) {
  constexpr std::array<std::string_view, 5> names = {"median", "mean", "min", "max", "p99"};
  return names[static_cast<std::size_t>(statistic)];
}

std::string Series::describe() const {
  std::string text = collective.empty() ? "unknown collective" : collective;
  text += " " + (algorithm.empty() ? "default" : algorithm);
  if (!library.empty()) text += ", " + library;
  text += ranks > 0 ? fmt::format(", {} ranks", ranks) : ", unknown ranks";
  if (in_place) text += ", in place";
  return text;
}

std::vector<MeasuredCurve> curves_of(const SampleSet& set) {
  constexpr std::array order = {Statistic::median, Statistic::mean, Statistic::min, Statistic::p99,
                                Statistic::max};
  std::vector<Series> begun;
  std::map<Series, std::map<Statistic, BySize>> all;
  for (const Sample& sample : set.samples) {
    if (!(sample.seconds > 0.0)) continue;
    const auto [found, is_new] = all.try_emplace(sample.series);
    if (is_new) begun.push_back(sample.series);
    found->second[sample.statistic][sample.bytes].push_back(sample.seconds);
  }
  std::vector<MeasuredCurve> curves;
  for (const Series& series : begun) {
    const std::map<Statistic, BySize>& kinds = all[series];
    const auto kind = std::find_if(order.begin(), order.end(),
                                   [&](Statistic each) { return kinds.contains(each); });
    MeasuredCurve curve{series, *kind, {}, {}};
    for (const auto& [bytes, seconds] : kinds.at(*kind)) {
      curve.bytes.push_back(bytes);
      curve.seconds.push_back(median_of(seconds));
    }
    curves.push_back(std::move(curve));
  }
  const std::vector<MeasuredCurve> unchanged = curves;
  std::erase_if(curves, [&](const MeasuredCurve& curve) {
    return curve.series.in_place && has(unchanged, curve.series);
  });
  return curves;
}

}  // namespace tutti
