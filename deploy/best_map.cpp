#include "deploy/best_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace tutti {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Times by algorithm and size; infinite where there is none.
struct Times {
  std::vector<std::size_t> bytes;
  std::vector<std::string> algorithms;
  std::vector<std::vector<double>> seconds;  ///< By algorithm, then size.
  std::vector<double> best;                  ///< By size, of all algorithms.
};

using Group = std::tuple<std::string, int, int>;

bool is_algorithm(const MeasuredCurve& curve) {
  const std::string& name = curve.series.algorithm;
  return !name.empty() && !name.starts_with("default");
}

Times times_of(const std::vector<const MeasuredCurve*>& curves) {
  std::map<std::string, std::map<std::size_t, double>> all;
  std::set<std::size_t> sizes;
  for (const MeasuredCurve* curve : curves) {
    for (std::size_t i = 0; i < curve->bytes.size(); ++i) {
      sizes.insert(curve->bytes[i]);
      const auto [found, is_new] =
          all[curve->series.algorithm].try_emplace(curve->bytes[i], curve->seconds[i]);
      if (!is_new) found->second = std::min(found->second, curve->seconds[i]);
    }
  }
  Times times{{sizes.begin(), sizes.end()}, {}, {}, std::vector<double>(sizes.size(), infinity)};
  for (const auto& [algorithm, points] : all) {
    times.algorithms.push_back(algorithm);
    std::vector<double>& seconds = times.seconds.emplace_back();
    for (std::size_t i = 0; i < times.bytes.size(); ++i) {
      const auto found = points.find(times.bytes[i]);
      seconds.push_back(found == points.end() ? infinity : found->second);
      times.best[i] = std::min(times.best[i], seconds.back());
    }
  }
  return times;
}

/// The cheapest path through sizes: fewest switches, then least time lost.
struct Step {
  int switches = std::numeric_limits<int>::max() / 2;
  double lost = infinity;
  std::size_t before = 0;

  bool operator<(const Step& other) const {
    return std::tie(switches, lost) < std::tie(other.switches, other.lost);
  }
};

std::vector<std::size_t> fewest_switches(const Times& times, const std::vector<bool>& is_allowed,
                                         double noise) {
  const std::size_t algorithms = times.algorithms.size(), sizes = times.bytes.size();
  std::vector<std::vector<Step>> steps(sizes, std::vector<Step>(algorithms));
  for (std::size_t size = 0; size < sizes; ++size) {
    double best = infinity;
    for (std::size_t a = 0; a < algorithms; ++a) {
      if (is_allowed[a]) best = std::min(best, times.seconds[a][size]);
    }
    for (std::size_t a = 0; a < algorithms; ++a) {
      const bool is_good = is_allowed[a] && (times.seconds[a][size] <= best * (1 + noise));
      // Where no allowed one was timed, all go on as they were.
      if (!is_allowed[a] || (!is_good && best < infinity)) continue;
      const double lost = best < infinity ? times.seconds[a][size] / best - 1 : 0.0;
      Step& step = steps[size][a];
      if (size == 0) step = {0, lost, a};
      for (std::size_t b = 0; size > 0 && b < algorithms; ++b) {
        const Step& previous = steps[size - 1][b];
        const Step next{previous.switches + (a == b ? 0 : 1), previous.lost + lost, b};
        if (next < step) step = next;
      }
    }
  }
  std::vector<std::size_t> path(sizes);
  const auto last = std::min_element(steps.back().begin(), steps.back().end());
  std::size_t now = static_cast<std::size_t>(last - steps.back().begin());
  for (std::size_t size = sizes; size-- > 0;) {
    path[size] = now;
    now = steps[size][now].before;
  }
  return path;
}

std::size_t middle(std::size_t low, std::size_t high) {
  const double root = std::sqrt(static_cast<double>(low) * static_cast<double>(high));
  return std::clamp(static_cast<std::size_t>(std::llround(root)), low + 1, high);
}

void add_regrets(const Times& times, const std::vector<std::size_t>& path,
                 const std::vector<bool>& is_allowed, BestMap& map) {
  std::set<std::string> left_out;
  int known = 0;
  for (std::size_t size = 0; size < path.size(); ++size) {
    for (std::size_t a = 0; a < times.algorithms.size(); ++a) {
      const bool is_best = times.seconds[a][size] <= times.best[size];
      if (is_best && !is_allowed[a]) left_out.insert(times.algorithms[a]);
    }
    const double seconds = times.seconds[path[size]][size];
    if (seconds == infinity) continue;
    const double regret = seconds / times.best[size] - 1;
    map.mean_regret += regret;
    map.largest_regret = std::max(map.largest_regret, regret);
    ++known;
  }
  map.mean_regret /= std::max(known, 1);
  map.left_out = {left_out.begin(), left_out.end()};
}

using Choose = std::function<std::vector<std::size_t>(const Times&, const std::vector<bool>&)>;

std::vector<BestMap> maps_by(const std::vector<MeasuredCurve>& curves, const Allowed& allowed,
                             const Choose& choose) {
  std::map<Group, std::vector<const MeasuredCurve*>> groups;
  for (const MeasuredCurve& curve : curves) {
    const Series& series = curve.series;
    if (is_algorithm(curve)) {
      groups[{series.collective, series.ranks, series.nodes}].push_back(&curve);
    }
  }
  std::vector<BestMap> maps;
  for (const auto& [group, members] : groups) {
    BestMap map{.collective = std::get<0>(group),
                .ranks = std::get<1>(group),
                .nodes = std::get<2>(group),
                .choices = {},
                .left_out = {}};
    const Times times = times_of(members);
    std::vector<bool> is_allowed;
    for (const std::string& algorithm : times.algorithms) {
      is_allowed.push_back(allowed(map.collective, algorithm));
    }
    if (std::find(is_allowed.begin(), is_allowed.end(), true) == is_allowed.end()) continue;
    const std::vector<std::size_t> path = choose(times, is_allowed);
    map.choices.push_back({0, times.algorithms[path[0]]});
    for (std::size_t i = 1; i < path.size(); ++i) {
      if (path[i] == path[i - 1]) continue;
      map.choices.push_back(
          {middle(times.bytes[i - 1], times.bytes[i]), times.algorithms[path[i]]});
    }
    add_regrets(times, path, is_allowed, map);
    maps.push_back(std::move(map));
  }
  return maps;
}

std::vector<std::size_t> best_constant(const Times& times, const std::vector<bool>& is_allowed) {
  std::size_t best = 0;
  double smallest = infinity;
  for (std::size_t a = 0; a < times.algorithms.size(); ++a) {
    double lost = 0.0;
    for (std::size_t size = 0; size < times.bytes.size(); ++size) {
      // An algorithm that was not timed at a size may be twice as slow there.
      const double seconds = times.seconds[a][size];
      lost += seconds < infinity ? seconds / times.best[size] - 1 : 1.0;
    }
    if (!is_allowed[a] || lost >= smallest) continue;
    smallest = lost;
    best = a;
  }
  return std::vector<std::size_t>(times.bytes.size(), best);
}

}  // namespace

std::vector<BestMap> best_maps(const std::vector<MeasuredCurve>& curves, const Allowed& allowed,
                               double noise) {
  return maps_by(curves, allowed, [noise](const Times& times, const std::vector<bool>& may) {
    return fewest_switches(times, may, noise);
  });
}

std::vector<BestMap> best_constants(const std::vector<MeasuredCurve>& curves,
                                    const Allowed& allowed) {
  return maps_by(curves, allowed, best_constant);
}

}  // namespace tutti
