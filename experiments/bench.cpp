#include "experiments/bench.hpp"

#include "exec/fork_world.hpp"
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
  const Question question = ask(flags.question, flags.question.ranks);
  parse_transport(flags.transport, {Transport::shm});
  TraceFile trace("");
  ForkWorld world(question.ranks, {.timeout_seconds = flags.timeout_seconds});
  Meter meter(world, question.largest_bytes(), question.algorithms.size(), flags.repetitions,
              trace);
  trace.open(flags.trace);

  RowWriter rows(output, flags.format, Source::transport);
  const std::string note = warn_if_oversubscribed(question.ranks);
  rows.comment(
      fmt::format("tutti bench: {}, in place, transport {}", question.describe(), flags.transport));
  rows.comment(fmt::format("time: {}; buffers of zeros, results checked apart",
                           describe(flags.repetitions)));
  if (!note.empty()) rows.comment(note);
  StatusLine status;
  for (const std::size_t count : question.counts) {
    if (output.is_closed() && !flags.check && !trace.is_open()) break;
    status.show(fmt::format("measuring {} elements", count));
    const std::vector<Job> jobs = question.jobs(count);
    const std::vector<Timing> timings = meter.time(jobs);
    std::vector<std::size_t> wrong;
    if (flags.check) wrong = meter.count_wrong(jobs);
    status.clear();
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      Row row;
      row.job = jobs[k];
      row.ranks = question.ranks;
      row.timing = timings[k];
      row.substrate = flags.transport;
      if (flags.check) row.wrong = wrong[k];
      row.add_note(note);
      row.add_note(describe(jobs[k].accumulate));
      rows.write(row);
    }
  }
  return rows.finish();
}

}  // namespace tutti
