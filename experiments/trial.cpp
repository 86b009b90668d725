#include "experiments/trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "collectives/sub_channel.hpp"
#include "experiments/output.hpp"

namespace tutti {
namespace {

// Seeds of repetitions are far apart, so that those of neighbouring seeds do not overlap.
std::uint64_t seed_of(std::uint64_t seed, int repetition) {
  return seed + static_cast<std::uint64_t>(repetition) * 0x9e3779b97f4a7c15;
}

const Jitter* message_jitter(const std::vector<Jitter>& jitters) {
  for (const Jitter& jitter : jitters) {
    if (jitter.target == Jitter::Target::message) return &jitter;
  }
  return nullptr;
}

const ContendingGroup* group_of(const std::vector<ContendingGroup>& groups, int rank) {
  for (const ContendingGroup& group : groups) {
    const bool is_member =
        std::find(group.members.begin(), group.members.end(), rank) != group.members.end();
    if (is_member) return &group;
  }
  return nullptr;
}

// What a rank does: its group's collectives, through the channels that the conditions ask for.
void run_rank(Rank& rank, const Job& job, const Conditions& conditions, std::uint64_t seed,
              const TraceFile& trace) {
  const bool has_groups = !conditions.groups.empty();
  const ContendingGroup* const group =
      has_groups ? group_of(conditions.groups, rank.index()) : nullptr;
  if (has_groups && group == nullptr) return;
  rank.channel().set_deadline(conditions.limit_seconds);
  Channel* channel = &rank.channel();
  std::optional<NoisyChannel> noisy;
  if (const Jitter* const jitter = message_jitter(conditions.jitters)) {
    channel = &noisy.emplace(*channel, *jitter, seed);
  }
  // Traces number the ranks of a lone group within it, and those of several as all are.
  const bool is_lone = conditions.groups.size() == 1;
  std::optional<TracedRank> traced;
  std::optional<SubChannel> members;
  if (!is_lone) channel = &traced.emplace(*channel, trace).channel();
  if (group != nullptr) channel = &members.emplace(*channel, group->members);
  if (is_lone) channel = &traced.emplace(*channel, trace).channel();
  for (int i = 0; i < conditions.repeat; ++i) run_on_ghosts(job, *channel);
}

class TrialRun {
 public:
  TrialRun(const Cluster& cluster, Engine engine, const Job& job, const Conditions& conditions,
           const TraceFile& trace)
      : cluster_(cluster), engine_(engine), job_(job), conditions_(conditions), trace_(trace) {
    const auto& starts = cluster.options.start_seconds;
    observes_ = conditions.why || !conditions.jitters.empty() ||
                std::any_of(starts.begin(), starts.end(), [](double late) { return late > 0.0; });
  }

  Trial result() {
    for (int i = 0; i < conditions_.repetitions; ++i) repeat(i);
    const double count = conditions_.repetitions;
    for (double& seconds : trial_.group_seconds) seconds /= count;
    if (conditions_.groups.size() == 1) trial_.group_seconds.clear();
    for (double& seconds : trial_.wait_seconds) seconds /= count;
    double whole = 0.0;
    for (const double seconds : seconds_) whole += seconds * conditions_.repeat;
    trial_.timing = timing_of(std::move(seconds_));
    for (const auto& [name, seconds] : culprits_) {
      if (trial_.awaited && trial_.awaited->seconds >= seconds) continue;
      trial_.awaited = Culprit{name.first, name.second, seconds};
    }
    if (trial_.awaited && whole > 0.0) trial_.awaited_share = trial_.awaited->seconds / whole;
    return std::move(trial_);
  }

 private:
  void repeat(int repetition) {
    const std::uint64_t seed = seed_of(conditions_.seed, repetition);
    Shape shape = cluster_.shape;
    SimOptions options = cluster_.options;
    options.observe = observes_ ? Observe::messages : Observe::nothing;
    disturb(shape, options.start_seconds, cluster_.ranks, conditions_.jitters, seed);
    const auto world = make_simulated_world(engine_, shape, cluster_.ranks, options);
    world->run_repeatable([&](Rank& rank) { run_rank(rank, job_, conditions_, seed, trace_); });
    trial_.engine = world->engine();
    trial_.model = world->describe();
    const std::vector<double>& ends = world->end_seconds();
    seconds_.push_back(end_of_members(ends) / conditions_.repeat);
    if (observes_) explain(shape, options, *world);
  }

  // When the last rank that takes part ends; also adds up those of the groups.
  double end_of_members(const std::vector<double>& ends) {
    if (conditions_.groups.empty()) return *std::max_element(ends.begin(), ends.end());
    double last = 0.0;
    trial_.group_seconds.resize(conditions_.groups.size(), 0.0);
    for (std::size_t i = 0; i < conditions_.groups.size(); ++i) {
      double end = 0.0;
      for (const int member : conditions_.groups[i].members) {
        end = std::max(end, ends[static_cast<std::size_t>(member)]);
      }
      trial_.group_seconds[i] += end / conditions_.repeat;
      last = std::max(last, end);
    }
    return last;
  }

  void explain(const Shape& shape, const SimOptions& options, const SimulatedWorld& world) {
    // A rank that has nothing to do may begin late without anybody noticing.
    std::vector<double> ends = world.end_seconds();
    for (std::size_t rank = 0; rank < ends.size(); ++rank) {
      const bool is_idle = !conditions_.groups.empty() &&
                           group_of(conditions_.groups, static_cast<int>(rank)) == nullptr;
      if (is_idle) ends[rank] = 0.0;
    }
    Why found = why({.shape = shape,
                     .observation = world.observation(),
                     .start_seconds = options.start_seconds,
                     .end_seconds = ends,
                     .reduces = reduces(job_.algorithm->collective),
                     .links_are_shared = options.model != NetworkModel::exact});
    trial_.wait_seconds.resize(found.wait_seconds.size(), 0.0);
    for (std::size_t rank = 0; rank < found.wait_seconds.size(); ++rank) {
      trial_.wait_seconds[rank] += found.wait_seconds[rank];
    }
    for (const Culprit& culprit : found.culprits) {
      culprits_[{culprit.kind, culprit.name}] += culprit.seconds;
    }
    if (conditions_.why && !trial_.why) trial_.why = std::move(found);
  }

  const Cluster& cluster_;
  const Engine engine_;
  const Job& job_;
  const Conditions& conditions_;
  const TraceFile& trace_;
  bool observes_ = false;
  std::vector<double> seconds_;  // By repetition.
  std::map<std::pair<std::string, std::string>, double> culprits_;
  Trial trial_;
};

}  // namespace

Conditions understand(const ConditionFlags& flags, int ranks) {
  Conditions conditions;
  conditions.jitters = parse_jitters(flags.jitters);
  conditions.repetitions = flags.repetitions;
  conditions.seed = flags.seed;
  conditions.groups = parse_groups(flags.groups, ranks);
  conditions.repeat = flags.repeat;
  conditions.why = flags.why;
  if (flags.jitters.empty() && flags.repetitions > 1) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--repetitions {}: without --jitter all would be equal", flags.repetitions));
  }
  return conditions;
}

std::string describe(const ConditionFlags& flags) {
  std::vector<std::string> parts;
  if (!flags.jitters.empty()) {
    parts.push_back(fmt::format("{}, {}, seed {}", fmt::join(flags.jitters, ", "),
                                counted(flags.repetitions, "repetition"), flags.seed));
  }
  if (!flags.groups.empty()) parts.push_back("groups " + flags.groups);
  if (flags.repeat > 1) parts.push_back(fmt::format("{} back to back", flags.repeat));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Trial run_trial(const Cluster& cluster, Engine engine, const Job& job, const Conditions& conditions,
                const TraceFile& trace) {
  return TrialRun(cluster, engine, job, conditions, trace).result();
}

}  // namespace tutti
