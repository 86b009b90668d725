#include "collectives/catalogue.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "collectives/entries.hpp"

namespace tutti {
namespace {

constexpr std::array collectives = {
    Collective::allreduce,      Collective::broadcast, Collective::allgather,
    Collective::reduce_scatter, Collective::reduce,    Collective::gather,
    Collective::scatter,        Collective::alltoall,  Collective::barrier};

std::vector<Algorithm> collect() {
  std::vector<Algorithm> all;
  for (const auto& entries :
       {ring_entries(), tree_entries(), recursive_entries(), linear_entries(), butterfly_entries(),
        direct_entries(), hierarchical_entries(), pipeline_entries(), bruck_entries(),
        exchange_entries(), scatter_allgather_entries()}) {
    all.insert(all.end(), entries.begin(), entries.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const Algorithm& a, const Algorithm& b) {
    return a.collective < b.collective;
  });
  return all;
}

// Alpha with what one message keeps its two ranks busy for; for the closed forms.
CostModel with_overhead_in_alpha(const CostModel& model) {
  return {model.alpha_seconds + model.overhead_seconds(), model.beta_seconds_per_byte,
          model.gamma_seconds_per_byte};
}

// Of the messages that are under way at the same time as another.
double further_overhead_seconds(const Algorithm& algorithm, const Problem& problem,
                                const CostModel& model) {
  if (model.overhead_seconds() == 0.0) return 0.0;
  const Messages messages = messages_of(algorithm, problem);
  const int steps = algorithm.steps(problem);
  return (messages.sent - steps) * model.send_overhead_seconds +
         (messages.received - steps) * model.receive_overhead_seconds;
}

}  // namespace

std::span<const Collective> all_collectives() {
  return collectives;
}

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::reduce:
      return "reduce";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::alltoall:
      return "alltoall";
    case Collective::barrier:
      return "barrier";
  }
  return "unknown";
}

Collective parse_collective(std::string_view name) {
  std::vector<std::string_view> valid;
  for (const Collective collective : collectives) {
    if (name_of(collective) == name) return collective;
    valid.push_back(name_of(collective));
  }
  throw Error(ErrorKind::usage, fmt::format("unknown collective '{}', expected one of {}", name,
                                            fmt::join(valid, ", ")));
}

Messages messages_of(const Algorithm& algorithm, const Problem& problem) {
  if (algorithm.messages != nullptr) return algorithm.messages(problem);
  const int steps = algorithm.steps(problem);
  return {steps, steps};
}

double predicted_seconds(const Algorithm& algorithm, const Problem& problem,
                         const CostModel& model) {
  return algorithm.seconds(problem, with_overhead_in_alpha(model)) +
         further_overhead_seconds(algorithm, problem, model);
}

double predicted_seconds(const Algorithm& algorithm, const Problem& problem,
                         const CostProfile& profile) {
  if (profile.group > 1 && algorithm.profile_seconds != nullptr) {
    CostProfile busy = profile;
    busy.outer = with_overhead_in_alpha(profile.outer);
    busy.inner = with_overhead_in_alpha(profile.inner);
    return algorithm.profile_seconds(problem, busy) +
           std::max(further_overhead_seconds(algorithm, problem, profile.outer),
                    further_overhead_seconds(algorithm, problem, profile.inner));
  }
  if (algorithm.between_neighbors && problem.ranks > profile.group) {
    return predicted_seconds(algorithm, problem, profile.lone_outer());
  }
  return predicted_seconds(algorithm, problem, profile.among_first(problem.ranks));
}

Collective inner_collective(Collective collective) {
  return collective == Collective::allreduce ? Collective::reduce_scatter : collective;
}

Levels levels_of(const Algorithm& algorithm, const Tuning& tuning) {
  if (!algorithm.has_levels()) return {};
  const auto chosen = [](const Algorithm* wanted, Collective collective, std::string_view name) {
    return wanted != nullptr ? wanted : &find_algorithm(collective, name);
  };
  const Collective collective = algorithm.collective;
  return {chosen(tuning.inner, inner_collective(collective), algorithm.default_inner),
          chosen(tuning.outer, collective, algorithm.default_outer)};
}

std::span<const Algorithm> catalogue() {
  static const std::vector<Algorithm> algorithms = collect();
  return algorithms;
}

std::vector<const Algorithm*> algorithms_of(Collective collective) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : catalogue()) {
    if (algorithm.collective == collective) found.push_back(&algorithm);
  }
  return found;
}

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
  std::vector<std::string_view> valid;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (algorithm->name == name) return *algorithm;
    valid.push_back(algorithm->name);
  }
  throw Error(ErrorKind::usage, fmt::format("unknown algorithm '{}' for {}, expected one of {}",
                                            name, name_of(collective), fmt::join(valid, ", ")));
}

std::vector<const Algorithm*> parse_algorithms(Collective collective, std::string_view names) {
  if (names == "all") return algorithms_of(collective);
  std::vector<const Algorithm*> chosen;
  while (true) {
    const std::size_t comma = names.find(',');
    const Algorithm* algorithm = &find_algorithm(collective, names.substr(0, comma));
    if (std::find(chosen.begin(), chosen.end(), algorithm) == chosen.end()) {
      chosen.push_back(algorithm);
    }
    if (comma == std::string_view::npos) return chosen;
    names.remove_prefix(comma + 1);
  }
}

LowerBound lower_bound(Collective collective, const Problem& problem, const CostModel& model) {
  if (problem.ranks == 1) return {};
  const double latency = model.alpha_seconds + model.overhead_seconds();
  if (collective == Collective::barrier) return {latency, 0.0};
  if (problem.count == 0) return {};
  const double n = static_cast<double>(problem.bytes());
  const double share = n * (problem.ranks - 1) / problem.ranks;
  const bool moves_all = collective == Collective::broadcast || collective == Collective::reduce;
  const double moved = collective == Collective::allreduce ? 2 * share : moves_all ? n : share;
  const double reduced = reduces(collective) ? share : 0.0;
  return {latency,
          std::max(moved * model.beta_seconds_per_byte, reduced * model.gamma_seconds_per_byte)};
}

double bus_bandwidth_factor(Collective collective, int ranks) {
  if (ranks <= 1) return 0.0;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * share;
    case Collective::broadcast:
    case Collective::reduce:
      return 1.0;
    case Collective::allgather:
    case Collective::reduce_scatter:
    case Collective::gather:
    case Collective::scatter:
    case Collective::alltoall:
      return share;
    case Collective::barrier:
      return 0.0;
  }
  return 0.0;
}

}  // namespace tutti
