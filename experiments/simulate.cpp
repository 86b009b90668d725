#include "experiments/simulate.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "experiments/choosing.hpp"
#include "experiments/engine.hpp"
#include "experiments/files.hpp"
#include "experiments/measure.hpp"
#include "experiments/simulated_row.hpp"

namespace tutti {
namespace {

// What the flags come to: who takes part, and under which conditions.
struct Setup {
  Cluster cluster;
  Conditions conditions;
  Question question;
  Shape shape;  ///< With the ranks that take part, of several groups those of the largest.
};

// Leaves out what a group's size does not support.
void fit_to_groups(const SimulateFlags& flags, const Conditions& conditions, Question& question) {
  if (conditions.groups.empty()) return;
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::usage, "--groups: " + what);
  };
  if (!flags.question.members.empty()) refuse("given beside --members, expected one of them");
  if (flags.check) refuse("results cannot be checked (-c 1) in several groups, use --members");
  const std::vector<int> sizes = group_sizes(conditions.groups, question.ranks);
  if (sizes.size() == 1) return;
  if (question.automatic) refuse("auto chooses for one size; name algorithms with --algo");
  for (const int size : sizes) {
    check_supported(question.collective, question.dtype, question.op, question.root, size);
    check_counts(question.part_counts, size);
    if (question.collective == Collective::alltoall) {
      question.unit = std::lcm(question.unit, static_cast<std::size_t>(size));
    }
  }
  for (std::size_t& count : question.counts) count = count / question.unit * question.unit;
  const auto suits_all = [&](const Algorithm* algorithm) {
    for (const std::size_t count : question.counts) {
      for (const int size : sizes) {
        const Problem problem{size, count, bytes_of(question.dtype), question.root,
                              question.tuning};
        if (!algorithm->supports(problem)) return false;
      }
    }
    return true;
  };
  std::vector<const Algorithm*> suitable;
  for (const Algorithm* algorithm : question.algorithms) {
    (suits_all(algorithm) ? suitable : question.left_out).push_back(algorithm);
  }
  const bool is_named = flags.question.algorithms != QuestionFlags().algorithms;
  if (suitable.empty() || (is_named && suitable.size() < question.algorithms.size())) {
    refuse(fmt::format("{} does not support all of {} ranks, expected {}",
                       question.left_out.back()->full_name, fmt::join(sizes, ", "),
                       question.left_out.back()->supported));
  }
  question.algorithms = std::move(suitable);
}

Setup set_up(const SimulateFlags& flags, const Rules& rules) {
  Setup setup;
  setup.cluster = load_cluster(flags.cluster, flags.question.ranks);
  setup.conditions = understand(flags.conditions, setup.cluster.ranks);
  setup.conditions.limit_seconds = flags.timeout_seconds;
  auto& groups = setup.conditions.groups;
  const int ranks = group_sizes(groups, setup.cluster.ranks).front();
  setup.question = ask(flags.question, ranks, rules);
  fit_to_groups(flags, setup.conditions, setup.question);
  const auto& members = groups.empty() ? setup.question.members : largest_group(groups).members;
  setup.shape = among(setup.cluster.shape, members);
  if (!members.empty() && groups.empty()) groups.push_back({"of the members", members});
  return setup;
}

void write_comments(const Setup& setup, const SimulateFlags& flags, const std::string& model,
                    RowWriter& rows) {
  rows.comment(
      fmt::format("tutti simulate: {} on {}", setup.question.describe(), setup.cluster.shape.name));
  rows.comment("engine and model: " + model);
  rows.comment("time: simulated, until the last rank is done, all starting at once; deterministic");
  rows.comment("bound: what no algorithm can beat in the alpha-beta-gamma model");
  rows.comment(describe(flags.conditions));
  rows.comment(setup.question.describe_left_out());
}

}  // namespace

bool simulate(const SimulateFlags& flags, Output& output) {
  const Rules rules = load_rules(flags.question);
  const Setup setup = set_up(flags, rules);
  const Question& question = setup.question;
  const Cluster& cluster = setup.cluster;
  const bool shares_links = cluster.options.model != NetworkModel::exact;
  const RowMaker maker(setup.shape, question.ranks, shares_links);
  const CostProfile profile =
      question.automatic ? cost_profile(setup.shape, question.ranks) : CostProfile{};
  check_apart(flags.trace, flags.cluster.topology);
  const auto world =
      make_simulated_world(cluster.engine, cluster.shape, cluster.ranks, cluster.options);
  std::optional<GroupWorld> group;
  const TraceFile no_trace("");
  std::optional<Meter> meter;
  if (flags.check && question.has_results()) {
    meter.emplace(among(*world, question.members, group), question.largest_bytes(),
                  question.jobs_per_count(), Repetitions{0, 1}, no_trace);
  }
  const TraceFile trace(flags.trace);

  RowWriter rows(output, flags.format, Source::engine, question.automatic);
  write_comments(setup, flags, world->describe(), rows);
  if (question.automatic) rows.comment("auto: given " + describe(profile));
  StatusLine status;
  for (const std::size_t count : question.counts) {
    if (output.is_closed() && !flags.check && !trace.is_open()) break;
    const std::vector<Job> jobs = jobs_of(question, count, profile, rules);
    std::vector<std::size_t> wrong;
    if (meter) wrong = meter->count_wrong(jobs);
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      const Job& job = jobs[k];
      status.show(fmt::format("simulating {} of {} elements", job.algorithm->full_name, count));
      const Trial trial = run_trial(cluster, cluster.engine, job, setup.conditions, trace);
      Row row = maker.row(job, trial, cluster.shape.name);
      row.add_note(question.describe_parts());
      if (meter) row.wrong = wrong[k];
      status.clear();
      const BoundTerms bound = maker.bound(job);
      rows.write(row, extras_json(trial, flags.conditions, bound, cluster.shape),
                 describe_extras(trial, setup.conditions, bound, cluster.shape));
    }
  }
  return rows.finish();
}

}  // namespace tutti
