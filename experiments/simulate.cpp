#include "experiments/simulate.hpp"

#include <optional>

#include "experiments/choosing.hpp"
#include "experiments/files.hpp"
#include "experiments/measure.hpp"

namespace tutti {
namespace {

// Which term of its own closed form an algorithm spends most of its time in.
std::string limiting_term(const Job& job, int ranks, const CostModel& model) {
  const Problem problem = job.problem(ranks);
  const double whole = predicted_seconds(*job.algorithm, problem, model);
  CostModel empty = model;
  empty.beta_seconds_per_byte = empty.gamma_seconds_per_byte = 0.0;
  const double latency = predicted_seconds(*job.algorithm, problem, empty);
  return 2 * latency > whole ? "latency-bound" : "bandwidth-bound";
}

// What closed forms, which are of equal parts, say of the row.
void add_forms(Row& row, const CostModel& model) {
  const Problem problem = row.job.problem(row.ranks);
  row.lower_bound_seconds = lower_bound(row.job.algorithm->collective, problem, model).seconds();
  if (row.timing.mean_seconds > 0.0) row.note = limiting_term(row.job, row.ranks, model);
}

// Bus bandwidth is bytes that a ring would move: other algorithms may show more of it than any link
// has, without a link carrying more than it can.
std::string describe_convention(const Row& row, double slowest_bytes_per_second) {
  const double busbw = row.bus_bandwidth().value_or(0.0) * 1e9;
  // What a ring on a single switch reaches is no more than rounding above the route's bandwidth.
  if (busbw <= slowest_bytes_per_second * 1.001) return "";
  return fmt::format("busbw is a convention: the slowest route has {:.4g} GB/s",
                     slowest_bytes_per_second / 1e9);
}

}  // namespace

bool simulate(const SimulateFlags& flags, Output& output) {
  const Cluster cluster = load_cluster(flags.cluster, flags.question.ranks);
  const Rules rules = load_rules(flags.question);
  const Question question = ask(flags.question, cluster.ranks, rules);
  const Shape shape = among(cluster.shape, question.members);
  const CostModel model = cost_model(shape, question.ranks);
  const double slowest = slowest_bandwidth(shape, question.ranks);
  const CostProfile profile =
      question.automatic ? cost_profile(shape, question.ranks) : CostProfile{};
  check_apart(flags.trace, flags.cluster.topology);
  SimWorld world(cluster.shape, cluster.ranks, cluster.options);
  std::optional<GroupWorld> group;
  const TraceFile no_trace("");
  std::optional<Meter> meter;
  if (flags.check && question.has_results()) {
    meter.emplace(among(world, question.members, group), question.largest_bytes(),
                  question.jobs_per_count(), Repetitions{0, 1}, no_trace);
  }
  const TraceFile trace(flags.trace);

  RowWriter rows(output, flags.format, Source::engine, question.automatic);
  rows.comment(fmt::format("tutti simulate: {} on {}", question.describe(), cluster.shape.name));
  rows.comment(fmt::format("engine and model: {}", world.describe()));
  rows.comment("time: simulated, until the last rank is done, all starting at once; deterministic");
  rows.comment("bound: what no algorithm can beat in the alpha-beta-gamma model");
  rows.comment(question.describe_left_out());
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
      const double seconds =
          simulated_seconds(world, job, trace, flags.timeout_seconds, question.members);
      Row row;
      row.job = job;
      row.ranks = question.ranks;
      row.timing = {seconds, seconds, seconds};
      row.substrate = "simgrid";
      row.model = world.describe();
      row.topology = cluster.shape.name;
      if (question.part_counts.empty()) add_forms(row, model);
      row.add_note(describe(job.accumulate));
      row.add_note(question.describe_parts());
      row.add_note(describe_convention(row, slowest));
      if (meter) row.wrong = wrong[k];
      status.clear();
      rows.write(row);
    }
  }
  return rows.finish();
}

}  // namespace tutti
