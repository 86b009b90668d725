#include "experiments/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "exec/fork_world.hpp"
#include "experiments/bench.hpp"
#include "experiments/files.hpp"
#include "experiments/fit.hpp"
#include "experiments/profiled_survey.hpp"
#include "experiments/survey.hpp"
#include "experiments/transport.hpp"
#include "topologies/document.hpp"

namespace tutti {

const char* const crossover_help =
    R"(For each size: the time of each algorithm in microseconds, the winner, by how much it beats
the second, and why, by their closed forms: latency (fewer messages in a row), overhead (fewer of
them sent and received one by one, some at once) or bandwidth (fewer bytes moved or reduced in a
row, as a multiple of the size n); "not in the model" where these favour
the second, so something else decides, such as contention. Crossovers between two sizes are
bisected to 1 %, then interpolated. Without --algo: ring and tree for allreduce, else all. Named
algorithms are compared and none is chosen, so TUTTI_ALGO is not read. A trace (--trace) is of the
simulated runs, one after the other.

With --measure the same is also measured between real processes on this machine: the median of 5
runs' medians of alternating repetitions; there a winner counts as beaten when another takes a tenth
less. The simulated side then uses a star with alpha (s per message), beta (s/byte) and gamma
(s/byte reduced) of this machine; bandwidth, latency and reduction speed of the topology are not
used. They are fitted to messages of 64 B up to 16 MiB: alpha and gamma while all pairs of
neighbours exchange at once, beta of a message alone. If that is slower when all ranks are busy
(loaded beta), all messages of the star also share one medium that carries as much.

With --profile FILE (of tutti calibrate) the times are predictions with the profile for ranks on the
machine that it is of, with buffers that every rank has just written; no topology is needed. Behind
a crossover are the ends of its 90 % interval, from 40 draws out of the profile's intervals, and how
many of these have it at all.

JSON is one object: collective, dtype, op, ranks, algorithms, left_out [{algorithm, supported}] (of
all, those that do not support the ranks or the tuning), shape, model, fit (alpha_us,
beta_ns_per_byte, loaded_beta_ns_per_byte, gamma_ns_per_byte; null without --measure), simulated
{crossovers, rows}, and with --measure: measured {crossovers, rows}, ratios [{from, to,
predicted_bytes, measured_bytes, ratio}], note; with --profile the simulated crossovers also have
low_bytes, high_bytes and share. A crossover is {from, to, bytes}; a row {bytes,
count, times_us {algorithm: time}, winner, margin (0.25: the second takes a quarter longer),
reason}, measured rows also predicted_over_measured {algorithm: ratio}.)";

namespace {

// How fast a run is depends on the cores its processes happen to start on.
constexpr int measured_runs = 5;
constexpr double measured_tolerance = 0.1;
constexpr std::size_t most_columns = 6;  // Of algorithms in a table of sizes.
constexpr std::size_t largest_fitted_bytes = std::size_t{16} << 20;

// A change of the winner, predicted and measured.
struct Match {
  Change predicted;
  Change measured;
};

struct Study {
  Question question;
  std::string profile;              // Where the profile comes from; "" without.
  std::vector<Interval> intervals;  // Of the simulated changes, with a profile.
  std::string shape;
  std::string model_name;
  CostModel model;
  std::optional<MachineModel> fit;
  Survey simulated;
  std::optional<Survey> measured;
  std::string note;

  std::string name(std::size_t algorithm) const {
    return std::string(question.algorithms[algorithm]->name);
  }
  double bytes(double count) const { return count * static_cast<double>(bytes_of(question.dtype)); }
  std::vector<Match> matches() const;
};

// Pairs each predicted change with the nearest measured one between the same algorithms.
std::vector<Match> Study::matches() const {
  std::vector<Match> found;
  for (const Change& predicted : simulated.changes) {
    const Change* best = nullptr;
    const auto distance = [&](const Change& change) {
      return std::abs(std::log(change.count / predicted.count));
    };
    for (const Change& change : measured->changes) {
      if (change.from != predicted.from || change.to != predicted.to) continue;
      if (best == nullptr || distance(change) < distance(*best)) best = &change;
    }
    if (best != nullptr) found.push_back({predicted, *best});
  }
  return found;
}

// Differences that tables do not show.
constexpr double shown_margin = 0.0005;

// Why the winner beats the runner-up, by their closed forms.
std::string reason(const Study& study, const Sample& sample) {
  const Algorithm& winner = *study.question.algorithms[sample.winner()];
  const Algorithm& second = *study.question.algorithms[sample.runner_up()];
  if (&winner == &second || sample.count == 0 || study.question.ranks == 1) return "";
  const Problem problem{study.question.ranks, sample.count, bytes_of(study.question.dtype),
                        study.question.root, study.question.tuning};
  if (sample.margin() < shown_margin) return fmt::format("as fast as {}", second.name);
  const CostModel& all = study.model;
  const auto gain = [&](const CostModel& model) {
    return predicted_seconds(second, problem, model) - predicted_seconds(winner, problem, model);
  };
  const double whole_gain = gain(all);
  if (std::abs(whole_gain) < shown_margin * predicted_seconds(winner, problem, all)) {
    return fmt::format("not in the model, where it is as fast as {}", second.name);
  }
  if (whole_gain < 0.0) return "not in the model";
  const double latency = gain({.alpha_seconds = all.alpha_seconds});
  const double moved = gain({.beta_seconds_per_byte = all.beta_seconds_per_byte});
  const double reduced = gain({.gamma_seconds_per_byte = all.gamma_seconds_per_byte});
  const double overhead = whole_gain - latency - moved - reduced;
  if (overhead > std::max(latency, moved + reduced)) {
    const Messages few = messages_of(winner, problem), many = messages_of(second, problem);
    return fmt::format("overhead: {} sends and receives one by one, not {}",
                       few.sent + few.received, many.sent + many.received);
  }
  if (latency >= moved + reduced) {
    const int steps = winner.steps(problem);
    return fmt::format("latency: {} message{} in a row, not {}", steps, steps == 1 ? "" : "s",
                       second.steps(problem));
  }
  const bool is_moved = moved >= reduced;
  const CostModel unit = is_moved ? CostModel{0.0, 1.0, 0.0} : CostModel{0.0, 0.0, 1.0};
  const auto whole = static_cast<double>(problem.bytes());
  const double of_winner = winner.seconds(problem, unit) / whole;
  const double of_second = second.seconds(problem, unit) / whole;
  const int digits = std::abs(of_second - of_winner) < 0.01 ? 4 : 2;
  return fmt::format("bandwidth: {:.{}f} n bytes {} in a row, not {:.{}f} n", of_winner, digits,
                     is_moved ? "moved" : "reduced", of_second, digits);
}

Survey survey_simulated(const Question& question, SimulatedWorld& world, const TraceFile& trace) {
  StatusLine status;
  return survey_question(question, [&](std::size_t count) {
    status.show(fmt::format("simulating {} elements", count));
    std::vector<double> seconds;
    for (const Job& job : question.jobs(count)) {
      seconds.push_back(simulated_seconds(world, job, trace));
    }
    return seconds;
  });
}

Survey survey_measured(const Question& question, World& world, Repetitions repetitions) {
  const TraceFile no_trace("");
  Meter meter(world, question.largest_bytes(), question.algorithms.size(), repetitions, no_trace);
  StatusLine status;
  const auto evaluate = [&](std::size_t count) {
    status.show(fmt::format("measuring {} elements", count));
    const std::vector<Job> jobs = question.jobs(count);
    std::vector<std::vector<double>> medians(jobs.size());
    for (int run = 0; run < measured_runs; ++run) {
      const std::vector<Timing> timings = meter.time(jobs);
      for (std::size_t k = 0; k < jobs.size(); ++k) medians[k].push_back(timings[k].p50_seconds);
    }
    std::vector<double> seconds;
    for (auto& of_job : medians) seconds.push_back(timing_of(std::move(of_job)).p50_seconds);
    return seconds;
  };
  return survey_question(question, evaluate, measured_tolerance);
}

MachineModel fit_this_machine(const Question& question, World& world) {
  const Op op = reduces(question.collective) && question.op != Op::average ? question.op : Op::sum;
  return measure_machine(world, question.dtype, op,
                         std::min(question.largest_bytes(), largest_fitted_bytes));
}

std::string text_of(const MachineModel& machine) {
  const auto per_byte = [](double seconds) { return fmt::format("{:.4f} ns/byte", seconds * 1e9); };
  return fmt::format("alpha {:.2f} us, beta {} alone and {} with all ranks busy, gamma {}",
                     machine.cost.alpha_seconds * 1e6, per_byte(machine.cost.beta_seconds_per_byte),
                     per_byte(machine.loaded_beta_seconds_per_byte),
                     per_byte(machine.cost.gamma_seconds_per_byte));
}

Study examine(const CrossoverFlags& flags) {
  std::optional<Profile> profile;
  if (!flags.profile.empty()) {
    if (!flags.cluster.topology.empty()) {
      throw Error(ErrorKind::usage, "--profile is of a machine, expected no --topology with it");
    }
    profile = read_profile(read_source(flags.profile), flags.profile);
  } else if (flags.cluster.topology.empty()) {
    throw Error(ErrorKind::usage, "expected --topology or --profile, a file");
  }
  Cluster cluster = profile ? cluster_of(*profile, flags.question.ranks)
                            : load_cluster(flags.cluster, flags.question.ranks);
  check_apart(flags.trace, flags.cluster.topology);
  QuestionFlags typed = flags.question;
  const bool is_allreduce = parse_collective(typed.collective) == Collective::allreduce;
  if (typed.algorithms.empty()) typed.algorithms = is_allreduce ? "ring,tree" : "all";
  Study study;
  study.question = ask(typed, cluster.ranks);
  if (study.question.automatic) {
    throw Error(ErrorKind::usage,
                "--algo auto: crossover compares named algorithms; simulate and bench choose");
  }
  const Transport transport = parse_transport(flags.transport, {Transport::shm, Transport::tcp});
  std::unique_ptr<World> world;
  if (flags.measure) {
    check_not_joined("crossover --measure");
    if (cluster.ranks < 2) {
      throw Error(ErrorKind::usage, "--measure needs at least 2 ranks; see --ranks");
    }
    check_ranks(cluster.ranks, most_real_ranks);
    study.note = warn_if_oversubscribed(cluster.ranks);
    world = make_world(transport, cluster.ranks, flags.world);
    if (!profile) {
      study.fit = fit_this_machine(study.question, *world);
      cluster.shape = shape_of(*study.fit, cluster.ranks);
    }
  }
  study.shape = cluster.shape.name;
  study.model = cost_model(cluster.shape, cluster.ranks);
  if (profile) {
    study.profile = describe(*profile, flags.profile);
    study.model_name = "measured messages and work, replayed";
    ProfiledSurvey predicted = survey_predicted(study.question, *profile);
    study.simulated = std::move(predicted.survey);
    study.intervals = std::move(predicted.intervals);
  } else {
    const auto simulated =
        make_simulated_world(cluster.engine, cluster.shape, cluster.ranks, cluster.options);
    study.model_name = simulated->describe();
    study.simulated = survey_simulated(study.question, *simulated, TraceFile(flags.trace));
  }
  if (world) study.measured = survey_measured(study.question, *world, flags.repetitions);
  return study;
}

// The predicted over the measured time of one algorithm.
double ratio_of(const Study& study, std::size_t sample, std::size_t algorithm) {
  return study.simulated.samples[sample].seconds[algorithm] /
         study.measured->samples[sample].seconds[algorithm];
}

Json to_json(const Study& study, const Survey& survey, bool is_measured) {
  Json json = {{"crossovers", Json::array()}, {"rows", Json::array()}};
  for (std::size_t i = 0; i < survey.changes.size(); ++i) {
    const Change& change = survey.changes[i];
    Json each = {{"from", study.name(change.from)},
                 {"to", study.name(change.to)},
                 {"bytes", study.bytes(change.count)}};
    if (!is_measured && i < study.intervals.size()) {
      each["low_bytes"] = study.bytes(study.intervals[i].low_count);
      each["high_bytes"] = study.bytes(study.intervals[i].high_count);
      each["share"] = study.intervals[i].share;
    }
    json["crossovers"].push_back(std::move(each));
  }
  for (std::size_t i = 0; i < survey.samples.size(); ++i) {
    const Sample& sample = survey.samples[i];
    Json times, ratios;
    for (std::size_t k = 0; k < sample.seconds.size(); ++k) {
      times[study.name(k)] = microseconds_json(sample.seconds[k]);
      if (is_measured) ratios[study.name(k)] = ratio_of(study, i, k);
    }
    Json row = {{"bytes", sample.count * bytes_of(study.question.dtype)},
                {"count", sample.count},
                {"times_us", times},
                {"winner", study.name(sample.winner())},
                {"margin", sample.margin()},
                {"reason", reason(study, sample)}};
    if (is_measured) row["predicted_over_measured"] = ratios;
    json["rows"].push_back(row);
  }
  return json;
}

void print_json(const Study& study, Output& output) {
  const Question& question = study.question;
  Json json = {{"collective", name_of(question.collective)},
               {"dtype", name_of(question.dtype)},
               {"op", redop_name(question.collective, question.op)},
               {"ranks", question.ranks},
               {"algorithms", Json::array()},
               {"left_out", Json::array()},
               {"shape", study.shape},
               {"model", study.model_name},
               {"fit", nullptr},
               {"simulated", to_json(study, study.simulated, false)}};
  for (std::size_t k = 0; k < question.algorithms.size(); ++k) {
    json["algorithms"].push_back(study.name(k));
  }
  for (const Algorithm* algorithm : question.left_out) {
    json["left_out"].push_back(
        {{"algorithm", algorithm->name}, {"supported", algorithm->supported}});
  }
  if (!study.profile.empty()) json["profile"] = study.profile;
  if (study.fit) {
    const CostModel& cost = study.fit->cost;
    json["fit"] = {{"alpha_us", cost.alpha_seconds * 1e6},
                   {"beta_ns_per_byte", cost.beta_seconds_per_byte * 1e9},
                   {"loaded_beta_ns_per_byte", study.fit->loaded_beta_seconds_per_byte * 1e9},
                   {"gamma_ns_per_byte", cost.gamma_seconds_per_byte * 1e9}};
  }
  if (study.measured) {
    json["measured"] = to_json(study, *study.measured, true);
    json["ratios"] = Json::array();
    for (const auto& [predicted, measured] : study.matches()) {
      json["ratios"].push_back({{"from", study.name(predicted.from)},
                                {"to", study.name(predicted.to)},
                                {"predicted_bytes", study.bytes(predicted.count)},
                                {"measured_bytes", study.bytes(measured.count)},
                                {"ratio", predicted.count / measured.count}});
    }
    json["note"] = study.note.empty() ? Json(nullptr) : Json(study.note);
  }
  output.line(json.dump(2));
}

// Of an algorithm's times, under its name.
std::size_t column_width(const Study& study, std::size_t algorithm) {
  return std::max<std::size_t>(14, study.name(algorithm).size() + 5);
}

std::size_t longest_name(const Study& study) {
  std::size_t longest = 18;
  for (std::size_t k = 0; k < study.question.algorithms.size(); ++k) {
    longest = std::max(longest, study.name(k).size());
  }
  return longest;
}

std::string time_text(const Study& study, const Survey& survey, std::size_t sample,
                      std::size_t algorithm, bool is_measured) {
  const std::string time = fmt::format("{:.2f}", survey.samples[sample].seconds[algorithm] * 1e6);
  if (!is_measured) return time;
  return fmt::format("{} ({})", time, format_number(ratio_of(study, sample, algorithm), 2));
}

// A column for each size, and a row for each algorithm: too many for columns of their own.
void print_times(const Study& study, const Survey& survey, bool is_measured, Output& output) {
  const int width = is_measured ? 21 : 13;
  const std::size_t name_width = longest_name(study);
  std::string header = fmt::format("# {:<{}}", "size (B)", name_width);
  for (const Sample& sample : survey.samples) {
    header += fmt::format(" {:>{}}", sample.count * bytes_of(study.question.dtype), width);
  }
  output.line(header);
  for (std::size_t k = 0; k < study.question.algorithms.size(); ++k) {
    std::string line = fmt::format("  {:<{}}", study.name(k), name_width);
    for (std::size_t i = 0; i < survey.samples.size(); ++i) {
      const char* const mark = survey.samples[i].winner() == k ? "*" : "";
      const std::string time = time_text(study, survey, i, k, is_measured);
      line += fmt::format(" {:>{}}", fmt::format("{}{}", mark, time), width);
    }
    output.line(line);
  }
  output.line(is_measured ? "# times in us (and predicted / measured); *: the winner of the size"
                          : "# times in us; *: the winner of the size");
}

void print_rows(const Study& study, const Survey& survey, bool is_measured, Output& output) {
  const bool has_columns = study.question.algorithms.size() <= most_columns;
  if (!has_columns) print_times(study, survey, is_measured, output);
  std::string header = fmt::format("#{:>12} {:>12}", "size (B)", "(elements)");
  for (std::size_t k = 0; has_columns && k < study.question.algorithms.size(); ++k) {
    header += fmt::format(" {:>{}}", study.name(k) + " (us)", column_width(study, k));
    if (is_measured) header += fmt::format(" {:>9}", "pred/meas");
  }
  const std::size_t name_width = longest_name(study);
  output.print("{}  {:<{}} {:>7}  {}", header, "winner", name_width, "margin", "reason");
  for (std::size_t i = 0; i < survey.samples.size(); ++i) {
    const Sample& sample = survey.samples[i];
    std::string line =
        fmt::format(" {:>12} {:>12}", sample.count * bytes_of(study.question.dtype), sample.count);
    for (std::size_t k = 0; has_columns && k < sample.seconds.size(); ++k) {
      line += fmt::format(" {:>{}.2f}", sample.seconds[k] * 1e6, column_width(study, k));
      if (is_measured) line += fmt::format(" {:>9}", format_number(ratio_of(study, i, k), 2));
    }
    output.print("{}  {:<{}} {:>6.1f}%  {}", line, study.name(sample.winner()), name_width,
                 sample.margin() * 100, reason(study, sample));
  }
  for (std::size_t i = 0; i < survey.changes.size(); ++i) {
    const Change& change = survey.changes[i];
    std::string interval;
    if (!is_measured && i < study.intervals.size()) {
      const Interval& found = study.intervals[i];
      interval = fmt::format(", {} .. {} (in {:.0f} % of the draws)",
                             format_bytes(study.bytes(found.low_count)),
                             format_bytes(study.bytes(found.high_count)), found.share * 100);
    }
    output.print("crossover: {} -> {} at {}{}", study.name(change.from), study.name(change.to),
                 format_bytes(study.bytes(change.count)), interval);
  }
  if (survey.changes.empty()) {
    const auto bytes = [&](const Sample& sample) {
      return format_bytes(study.bytes(static_cast<double>(sample.count)));
    };
    output.print("crossover: none, {} wins from {} to {}",
                 study.name(survey.samples.front().winner()), bytes(survey.samples.front()),
                 bytes(survey.samples.back()));
  }
}

void print_table(const Study& study, const Repetitions& repetitions, Output& output) {
  output.print("# tutti crossover: {}", study.question.describe());
  const std::string left_out = study.question.describe_left_out();
  if (!left_out.empty()) output.print("# {}", left_out);
  if (!study.profile.empty()) output.print("# profile {}", study.profile);
  if (study.fit) {
    output.print("# fitted on this machine: {}", text_of(*study.fit));
    output.line("# these replace the topology's latency, bandwidth and reduction speed");
  }
  output.print("# simulated on {}: {}", study.shape, study.model_name);
  print_rows(study, study.simulated, false, output);
  if (!study.measured) return;
  output.line("");
  output.print("# measured between {} processes on this machine, medians of {} runs of {}",
               study.question.ranks, measured_runs, counted(repetitions.iterations, "repetition"));
  if (!study.note.empty()) output.print("# {}", study.note);
  print_rows(study, *study.measured, true, output);
  output.line("");
  for (const auto& [predicted, measured] : study.matches()) {
    output.print("predicted / measured crossover, {} -> {}: {} / {} = {:.2f}",
                 study.name(predicted.from), study.name(predicted.to),
                 format_bytes(study.bytes(predicted.count)),
                 format_bytes(study.bytes(measured.count)), predicted.count / measured.count);
  }
  if (study.matches().empty()) {
    output.line("predicted / measured crossover: the two have none in common");
  }
}

}  // namespace

void crossover(const CrossoverFlags& flags, Output& output) {
  const Study study = examine(flags);
  if (flags.json) {
    print_json(study, output);
  } else {
    print_table(study, flags.repetitions, output);
  }
}

}  // namespace tutti
