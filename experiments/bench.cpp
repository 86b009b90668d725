#include "experiments/bench.hpp"

#include <optional>

#include "exec/fork_world.hpp"
#include "experiments/choosing.hpp"
#include "experiments/transport.hpp"

namespace tutti {

std::string warn_if_oversubscribed(int ranks) {
  const int cores = available_cores();
  if (ranks <= cores) return "";
  const std::string text =
      fmt::format("oversubscribed: {} ranks share {} core{}", ranks, cores, cores == 1 ? "" : "s");
  warn(text + ", so times include waiting for a core");
  return text;
}

std::string describe(const Repetitions& repetitions) {
  return fmt::format("mean over {} after {}, each as long as its slowest rank",
                     counted(repetitions.iterations, "iteration"),
                     counted(repetitions.warmup, "warm-up"));
}

bool bench(const BenchFlags& flags, Output& output) {
  check_ranks(flags.question.ranks, most_real_ranks);
  const Rules rules = load_rules(flags.question);
  const Question question = ask(flags.question, flags.question.ranks, rules);
  parse_transport(flags.transport, {Transport::shm});
  TraceFile trace("");
  ForkWorld all(flags.question.ranks, {.timeout_seconds = flags.timeout_seconds});
  std::optional<GroupWorld> group;
  World& world = among(all, question.members, group);
  Meter meter(world, question.largest_bytes(), question.jobs_per_count(), flags.repetitions, trace);
  trace.open(flags.trace);

  RowWriter rows(output, flags.format, Source::transport, question.automatic);
  const std::string note = warn_if_oversubscribed(question.ranks);
  const bool in_place = question.collective != Collective::alltoall;
  rows.comment(fmt::format("tutti bench: {}, {} place, transport {}", question.describe(),
                           in_place ? "in" : "out of", flags.transport));
  rows.comment(fmt::format("time: {}; buffers of zeros, results checked apart",
                           describe(flags.repetitions)));
  rows.comment(note);
  rows.comment(question.describe_left_out());
  CostProfile profile;
  if (question.automatic) {
    profile = measure_profile(world, question.dtype, question.op, question.largest_bytes());
    rows.comment("auto: fitted " + describe(profile));
  }
  const bool checks = flags.check && question.has_results();
  StatusLine status;
  for (const std::size_t count : question.counts) {
    if (output.is_closed() && !flags.check && !trace.is_open()) break;
    status.show(fmt::format("measuring {} elements", count));
    const std::vector<Job> jobs = jobs_of(question, count, profile, rules);
    const std::vector<Timing> timings = meter.time(jobs);
    std::vector<std::size_t> wrong;
    if (checks) wrong = meter.count_wrong(jobs);
    status.clear();
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      Row row;
      row.job = jobs[k];
      row.ranks = question.ranks;
      row.timing = timings[k];
      row.substrate = flags.transport;
      if (checks) row.wrong = wrong[k];
      row.add_note(note);
      row.add_note(question.describe_parts());
      row.add_note(describe(jobs[k].accumulate));
      rows.write(row);
    }
  }
  return rows.finish();
}

}  // namespace tutti
