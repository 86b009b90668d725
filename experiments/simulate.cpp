#include "experiments/simulate.hpp"

#include <filesystem>
#include <optional>
#include <system_error>

#include "experiments/choosing.hpp"
#include "experiments/measure.hpp"

namespace tutti {
namespace {

// Which term of its own closed form an algorithm spends most of its time in.
std::string limiting_term(const Job& job, int ranks, const CostModel& model) {
  const Problem problem = job.problem(ranks);
  const double whole = job.algorithm->seconds(problem, model);
  const double latency = job.algorithm->seconds(problem, {model.alpha_seconds, 0.0, 0.0});
  return 2 * latency > whole ? "latency-bound" : "bandwidth-bound";
}

// The trace would overwrite the topology.
void check_apart(const std::string& trace, const std::string& topology) {
  std::error_code missing;
  if (trace.empty() || !std::filesystem::equivalent(trace, topology, missing)) return;
  throw Error(ErrorKind::usage, fmt::format("--trace {}: this is the topology's file", trace));
}

}  // namespace

bool simulate(const SimulateFlags& flags, Output& output) {
  const Cluster cluster = load_cluster(flags.cluster, flags.question.ranks);
  const Rules rules = load_rules(flags.question.rules);
  const Question question = ask(flags.question, cluster.ranks, rules);
  const CostModel model = cost_model(cluster.shape, cluster.ranks);
  const CostProfile profile =
      question.automatic ? cost_profile(cluster.shape, cluster.ranks) : CostProfile{};
  check_apart(flags.trace, flags.cluster.topology);
  SimWorld world(cluster.shape, cluster.ranks, cluster.options);
  const TraceFile no_trace("");
  std::optional<Meter> meter;
  if (flags.check && question.has_results()) {
    meter.emplace(world, question.largest_bytes(), question.jobs_per_count(), Repetitions{0, 1},
                  no_trace);
  }
  const TraceFile trace(flags.trace);

  RowWriter rows(output, flags.format, Source::engine, question.automatic);
  rows.comment(fmt::format("tutti simulate: {} on {}", question.describe(), cluster.shape.name));
  rows.comment(fmt::format("engine and model: {}", world.describe()));
  rows.comment("time: simulated, until the last rank is done, all starting at once; deterministic");
  rows.comment("bound: what no algorithm can beat in the alpha-beta-gamma model");
  rows.comment(describe_left_out(question.left_out, question.ranks));
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
      const double seconds = simulated_seconds(world, job, trace, flags.timeout_seconds);
      const LowerBound bound = lower_bound(question.collective, job.problem(question.ranks), model);
      Row row;
      row.job = job;
      row.ranks = question.ranks;
      row.timing = {seconds, seconds, seconds};
      row.substrate = "simgrid";
      row.model = world.describe();
      row.lower_bound_seconds = bound.seconds();
      if (seconds > 0.0) row.note = limiting_term(job, question.ranks, model);
      row.add_note(describe(job.accumulate));
      if (meter) row.wrong = wrong[k];
      status.clear();
      rows.write(row);
    }
  }
  return rows.finish();
}

}  // namespace tutti
