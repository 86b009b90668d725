// How much longer choose()'s algorithm takes in the simulation than the best of all, each with the
// tuning that choose() gives it: on a star and on four switches with an oversubscribed uplink each.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "experiments/choosing.hpp"
#include "experiments/cluster.hpp"
#include "experiments/measure.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace {

using namespace tutti;

constexpr double bandwidth = 12.5e9, latency_seconds = 5e-6;

Shape star(int hosts, double gamma) {
  return star_shape(hosts, bandwidth, latency_seconds,
                    gamma > 0.0 ? std::optional(1 / gamma) : std::nullopt);
}

// Hosts in four groups that share an uplink each, as fast as one host's.
Shape four_switches(int hosts, double gamma) {
  const LinkSpec half = {bandwidth, latency_seconds / 2};
  Shape shape = build_shape(
      leaf_spine(
          {.leaves = 4, .spines = 1, .hosts_per_leaf = hosts / 4, .host = half, .spine = half}),
      {.reduction_bytes_per_second = gamma > 0.0 ? std::optional(1 / gamma) : std::nullopt});
  shape.name = fmt::format("four switches with {} hosts each", hosts / 4);
  return shape;
}

// Prints what was chosen; returns the chosen algorithm's time divided by the best.
double regret(SimWorld& world, Collective collective, std::size_t count,
              const CostProfile& profile) {
  const TraceFile no_trace("");
  const Choice choice = choose(collective, {.ranks = world.size(), .count = count}, profile);
  double chosen = 0.0, best = std::numeric_limits<double>::infinity();
  std::string best_name;
  for (const Candidate& candidate : choice.candidates) {
    // Hopeless ones would take most of the time.
    if (candidate.seconds > 20 * choice.chosen.seconds) break;
    const double seconds = simulated_seconds(
        world, Job{.algorithm = candidate.algorithm, .count = count, .tuning = candidate.tuning},
        no_trace);
    if (candidate.algorithm == choice.chosen.algorithm) chosen = seconds;
    if (seconds >= best) continue;
    best = seconds;
    best_name = describe(*candidate.algorithm, candidate.tuning);
  }
  const double ratio = best > 0.0 ? chosen / best : 1.0;
  fmt::print("{:<14} {:>9} B  {:<34} predicted {:>10.1f}  simulated {:>10.1f} us  {:.3f} of {}\n",
             name_of(collective), count * 4,
             describe(*choice.chosen.algorithm, choice.chosen.tuning), choice.chosen.seconds * 1e6,
             chosen * 1e6, ratio, best_name);
  return ratio;
}

}  // namespace

int main() {
  double worst = 1.0;
  for (Shape (*build)(int, double) : {star, four_switches}) {
    for (const int ranks : {8, 12, 16}) {
      for (const double gamma : {0.0, 1e-10}) {
        const Shape shape = build(ranks, gamma);
        const CostProfile profile = cost_profile(shape, ranks);
        fmt::print("# {}: {}\n", shape.name, describe(profile));
        SimWorld world(shape, ranks, {});
        for (const Collective collective : all_collectives()) {
          for (const std::size_t part : {64UL, 4096UL, 65536UL, 2097152UL}) {
            const auto count = part / 4 * static_cast<std::size_t>(ranks);
            worst = std::max(worst, regret(world, collective, count, profile));
            if (collective == Collective::barrier) break;
          }
        }
      }
    }
  }
  fmt::print("# worst: {:.3f} times the best\n", worst);
  return 0;
}
