#include "experiments/bench.hpp"

#include <optional>

#include "exec/cores.hpp"
#include "exec/fork_world.hpp"
#include "experiments/choosing.hpp"
#include "experiments/transport.hpp"
#include "experiments/tune.hpp"

namespace tutti {

namespace {

// Processes that have joined may share a folder.
std::string own_trace(const std::string& file) {
  if (file.empty() || joined() == nullptr) return file;
  return fmt::format("{}.{}", file, joined()->rank());
}

// Lines for the end of a table.
std::vector<std::string> describe(const WaitReport& report) {
  std::vector<std::string> lines = {
      fmt::format("waits: {:>4} {:>12} {:>7}  {}", "rank", "waited(ms)", "share", "longest for")};
  for (std::size_t rank = 0; rank < report.ranks.size(); ++rank) {
    const RankWaits& waits = report.ranks[rank];
    std::string line = fmt::format("       {:>4} {:>12.3f} {:>6.1f}%", rank, 1e3 * waits.seconds,
                                   100.0 * waits.share);
    if (waits.peer >= 0) {
      line += fmt::format("  rank {} ({:.3f} ms)", waits.peer, 1e3 * waits.peer_seconds);
    }
    lines.push_back(line);
  }
  lines.push_back(report.straggler < 0
                      ? "straggler: none, all ranks waited about as long"
                      : fmt::format("straggler: rank {}: it waited least, the others for it, "
                                    "directly or through each other",
                                    report.straggler));
  return lines;
}

// Which way the large messages of the last run went, where `world` can tell.
LargeTraffic large_traffic_of(const World& world) {
  const auto* const forked = dynamic_cast<const ForkWorld*>(&world);
  return forked == nullptr ? LargeTraffic{} : forked->large_traffic();
}

Json path_json(const LargeTraffic& traffic) {
  const std::string path = traffic.describe();
  return {{"path", path.empty() ? Json(nullptr) : Json(path)}};
}

// A line for the end of a table.
std::string describe(const LargeTraffic& traffic) {
  const std::string path = traffic.describe();
  if (path.empty()) return "";
  return fmt::format("path of messages above {} bytes: {}", Slot::capacity_bytes, path);
}

// Of each candidate of auto, in each round of the measurement.
constexpr Repetitions tuning_repetitions{.warmup = 2, .iterations = 5};

}  // namespace

std::string warn_if_oversubscribed(int ranks) {
  const int cores = available_cores();
  if (ranks <= cores || joined() != nullptr) return "";
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
  if (flags.stragglers && flags.format != Format::table) {
    throw Error(ErrorKind::usage, "--stragglers is a table, expected no other --format with it");
  }
  check_ranks(flags.question.ranks, most_real_ranks);
  const Rules rules = load_rules(flags.question);
  const Question question = ask(flags.question, flags.question.ranks, rules);
  const Transport transport =
      parse_transport(flags.transport, {Transport::shm, Transport::tcp, Transport::mpi});
  TraceFile trace("");
  const std::unique_ptr<World> all = make_world(transport, flags.question.ranks, flags.world);
  std::optional<GroupWorld> group;
  World& world = among(*all, question.members, group);
  Meter meter(world, question.largest_bytes(), question.jobs_per_count(), flags.repetitions, trace);
  trace.open(own_trace(flags.trace));
  if (flags.stragglers) meter.count_waits();

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
  const TraceFile no_trace("");
  std::optional<Meter> tuner;
  if (question.automatic) {
    tuner.emplace(world, question.largest_bytes(), algorithms_of(question.collective).size(),
                  tuning_repetitions, no_trace);
    profile = measure_profile(world, question.dtype, question.op, question.largest_bytes());
    rows.comment("auto: fitted " + describe(profile));
  }
  const bool checks = flags.check && question.has_results();
  StatusLine status;
  LargeTraffic all_large_traffic;
  for (const std::size_t count : question.counts) {
    // Processes that have joined go on together.
    if (output.is_closed() && !flags.check && !trace.is_open() && joined() == nullptr) break;
    status.show(fmt::format("measuring {} elements", count));
    std::vector<Job> jobs = jobs_of(question, count, profile, rules);
    if (tuner) tune(jobs.front(), *tuner);
    const std::vector<Timing> timings = meter.time(jobs);
    const LargeTraffic large_traffic = large_traffic_of(*all);
    all_large_traffic += large_traffic;
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
      rows.write(row, path_json(large_traffic));
    }
  }
  rows.comment(describe(all_large_traffic));
  if (flags.stragglers) {
    for (const std::string& line : describe(meter.waits())) rows.comment(line);
  }
  return rows.finish();
}

}  // namespace tutti
