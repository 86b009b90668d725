#include "experiments/validate.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "experiments/calibrate.hpp"
#include "experiments/measure.hpp"
#include "experiments/question.hpp"
#include "profiles/predict.hpp"

namespace tutti {
namespace {

constexpr double clear_margin = 0.1;
constexpr double right_margin = 0.02;
constexpr double target_median_error = 0.15;
constexpr double target_mean_regret = 0.03;
constexpr std::size_t repeated_bytes = 4096;  // Up to here calls are timed in a row,
constexpr int repeated_calls = 16;            // so many.
constexpr int iterations = 15;

using TimesOfSize = std::vector<ComparedTime>;

std::map<std::size_t, TimesOfSize> by_size(const std::vector<ComparedTime>& times) {
  std::map<std::size_t, TimesOfSize> result;
  for (const ComparedTime& time : times) result[time.bytes].push_back(time);
  return result;
}

const ComparedTime& best_of(const TimesOfSize& times, double ComparedTime::*seconds) {
  return *std::min_element(
      times.begin(), times.end(),
      [seconds](const ComparedTime& a, const ComparedTime& b) { return a.*seconds < b.*seconds; });
}

const ComparedTime* find(const TimesOfSize& times, const std::string& algorithm) {
  for (const ComparedTime& time : times) {
    if (time.algorithm == algorithm) return &time;
  }
  return nullptr;
}

// log(time of from / time of to): positive where `to` is faster. 0 where one is missing.
double advantage(const TimesOfSize& times, const ComparedCrossover& crossover,
                 double ComparedTime::*seconds) {
  const ComparedTime* const from = find(times, crossover.from);
  const ComparedTime* const to = find(times, crossover.to);
  if (from == nullptr || to == nullptr) return 0.0;
  return std::log(from->*seconds / to->*seconds);
}

// Where the advantage passes 0 between two sizes, straight in the logarithms.
double crossing(std::size_t low_bytes, double low, std::size_t high_bytes, double high) {
  const double share = low / (low - high);
  return std::exp(std::log(static_cast<double>(low_bytes)) * (1 - share) +
                  std::log(static_cast<double>(high_bytes)) * share);
}

// The crossing nearest to the measured one.
double predicted_crossing(const std::map<std::size_t, TimesOfSize>& sizes,
                          const ComparedCrossover& crossover) {
  double best = 0.0;
  for (auto low = sizes.begin(); low != sizes.end() && std::next(low) != sizes.end(); ++low) {
    const auto high = std::next(low);
    const double before = advantage(low->second, crossover, &ComparedTime::predicted_seconds);
    const double after = advantage(high->second, crossover, &ComparedTime::predicted_seconds);
    if (before > 0.0 || after <= 0.0) continue;
    const double bytes = crossing(low->first, before, high->first, after);
    const auto distance = [&](double each) {
      return std::abs(std::log(each / crossover.measured_bytes));
    };
    if (best == 0.0 || distance(bytes) < distance(best)) best = bytes;
  }
  return best;
}

std::vector<ComparedCrossover> crossovers_of(const std::map<std::size_t, TimesOfSize>& sizes) {
  std::vector<ComparedCrossover> result;
  for (auto low = sizes.begin(); low != sizes.end() && std::next(low) != sizes.end(); ++low) {
    const auto high = std::next(low);
    ComparedCrossover crossover;
    crossover.from = best_of(low->second, &ComparedTime::measured_seconds).algorithm;
    crossover.to = best_of(high->second, &ComparedTime::measured_seconds).algorithm;
    const double before = advantage(low->second, crossover, &ComparedTime::measured_seconds);
    const double after = advantage(high->second, crossover, &ComparedTime::measured_seconds);
    if (before > -clear_margin || after < clear_margin) continue;
    crossover.measured_bytes = crossing(low->first, before, high->first, after);
    crossover.predicted_bytes = predicted_crossing(sizes, crossover);
    result.push_back(crossover);
  }
  return result;
}

double median_of(std::vector<double> values) {
  return timing_of(std::move(values)).p50_seconds;
}

// One transport and number of ranks.
struct Case {
  Transport transport = Transport::shm;
  int ranks = 2;
  std::map<std::string, std::vector<ComparedTime>> times;  ///< By collective.
  std::vector<std::string> remarks;
};

// Halfway between the buffers that are calibrated.
std::vector<std::size_t> sizes_of(const ValidateFlags& flags) {
  const std::size_t largest = flags.quick ? std::size_t{1} << 20 : std::size_t{16} << 20;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 128; bytes <= largest; bytes *= 4) sizes.push_back(bytes);
  return sizes;
}

void measure_size(const Question& question, std::size_t count, World& world, Meter& meter,
                  const Profile& profile, int calls, std::vector<ComparedTime>& times) {
  const std::vector<Job> jobs = question.jobs(count);
  const std::vector<Timing> timings = meter.time(jobs);
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const auto call = [&](Channel& channel) { run_on_ghosts(jobs[k], channel); };
    times.push_back({std::string(jobs[k].algorithm->name), jobs[k].bytes(), timings[k].p50_seconds,
                     predicted_seconds(profile, world.size(), jobs[k].bytes(), calls, call)});
  }
}

Case examine(const ValidateFlags& flags, Transport transport, int ranks) {
  Case result{transport, ranks, {}, {}};
  const std::vector<std::size_t> sizes = sizes_of(flags);
  PatternOptions options;
  options.largest_bytes = 2 * sizes.back();
  const Profile profile = measure_transport(transport, {ranks}, flags.world, options);
  result.remarks = profile.remarks;
  const auto world = make_world(transport, ranks, flags.world);
  const TraceFile no_trace("");
  StatusLine status;
  for (const std::string& collective : flags.collectives) {
    QuestionFlags typed;
    typed.collective = collective;
    typed.ranks = ranks;
    typed.sweep.sizes = std::to_string(bytes_of(DType::float32));
    Question question = ask(typed, ranks);
    for (const bool is_small : {true, false}) {
      const Repetitions repetitions{.warmup = 3,
                                    .iterations = iterations,
                                    .calls = is_small ? repeated_calls : 1,
                                    .refresh = true};
      Meter meter(*world, is_small ? repeated_bytes : sizes.back(), question.algorithms.size(),
                  repetitions, no_trace);
      for (const std::size_t bytes : sizes) {
        if ((bytes <= repeated_bytes) != is_small) continue;
        status.show(fmt::format("{} between {} ranks over {}, {} B", collective, ranks,
                                name_of(transport), bytes));
        measure_size(question, bytes / bytes_of(question.dtype), *world, meter, profile,
                     repetitions.calls, result.times[collective]);
      }
    }
  }
  return result;
}

std::string describe(const std::vector<ComparedCrossover>& crossovers) {
  std::string text;
  for (const ComparedCrossover& each : crossovers) {
    text += fmt::format("{}{} -> {} at {}, predicted {}", text.empty() ? "" : "; ", each.from,
                        each.to, format_bytes(each.measured_bytes),
                        each.predicted_bytes == 0.0
                            ? "none"
                            : fmt::format("{} ({:.2f}x)", format_bytes(each.predicted_bytes),
                                          each.predicted_bytes / each.measured_bytes));
  }
  return text;
}

std::string table_line(const Case& of, const std::string& collective, const Comparison& result) {
  return fmt::format(
      "{:<9} {:>5} {:<14} {:>6.1f}% {:>7.0f}% {:>6.1f}% {:>7.0f}% {:>3} of {:<3} {:>5.0f}%",
      name_of(of.transport), of.ranks, collective, result.median_error * 100,
      result.largest_error * 100, result.mean_regret * 100, result.largest_regret * 100,
      result.right, result.sizes, result.ordered * 100);
}

void print_rows(const Case& of, Output& output) {
  for (const auto& [collective, times] : of.times) {
    for (const ComparedTime& time : times) {
      output.print("{},{},{},{},{},{:.3f},{:.3f},{:.3f}", name_of(of.transport), of.ranks,
                   collective, time.algorithm, time.bytes, time.measured_seconds * 1e6,
                   time.predicted_seconds * 1e6, time.predicted_seconds / time.measured_seconds);
    }
  }
}

void print_case(const Case& of, bool rows, Output& output) {
  for (const std::string& remark : of.remarks) output.print("# {}", remark);
  if (rows) print_rows(of, output);
  for (const auto& [collective, times] : of.times) {
    const Comparison result = compare(times);
    output.line(table_line(of, collective, result));
    const std::string crossovers = describe(result.crossovers);
    if (!crossovers.empty()) output.print("#   crossovers: {}", crossovers);
  }
}

Json json_of(const Case& of) {
  Json json = {{"transport", name_of(of.transport)},
               {"ranks", of.ranks},
               {"remarks", of.remarks},
               {"collectives", Json::array()}};
  for (const auto& [collective, times] : of.times) {
    const Comparison result = compare(times);
    Json each = {{"collective", collective},
                 {"median_error", result.median_error},
                 {"largest_error", result.largest_error},
                 {"mean_regret", result.mean_regret},
                 {"largest_regret", result.largest_regret},
                 {"right", result.right},
                 {"sizes", result.sizes},
                 {"ordered", result.ordered},
                 {"crossovers", Json::array()},
                 {"times", Json::array()}};
    for (const ComparedCrossover& crossover : result.crossovers) {
      each["crossovers"].push_back({{"from", crossover.from},
                                    {"to", crossover.to},
                                    {"measured_bytes", crossover.measured_bytes},
                                    {"predicted_bytes", crossover.predicted_bytes}});
    }
    for (const ComparedTime& time : times) {
      each["times"].push_back({{"algorithm", time.algorithm},
                               {"bytes", time.bytes},
                               {"measured_us", time.measured_seconds * 1e6},
                               {"predicted_us", time.predicted_seconds * 1e6}});
    }
    json["collectives"].push_back(std::move(each));
  }
  return json;
}

// Of all cases together.
struct Summary {
  std::vector<double> errors;
  double regret = 0.0;
  int sizes = 0;

  void add(const Case& of) {
    for (const auto& [collective, times] : of.times) {
      const Comparison result = compare(times);
      for (const ComparedTime& time : times) errors.push_back(time.error());
      regret += result.mean_regret * result.sizes;
      sizes += result.sizes;
    }
  }
};

void print_summary(const Summary& summary, Output& output) {
  const double error = median_of(summary.errors);
  const double regret = summary.regret / summary.sizes;
  const auto verdict = [](double value, double target) {
    return value <= target ? "reached" : "missed";
  };
  output.print(
      "# this machine: median error {:.1f} % (target {:.0f} %: {}), mean regret {:.1f} % "
      "(target {:.0f} %: {})",
      error * 100, target_median_error * 100, verdict(error, target_median_error), regret * 100,
      target_mean_regret * 100, verdict(regret, target_mean_regret));
}

}  // namespace

double ComparedTime::error() const {
  return std::abs(predicted_seconds / measured_seconds - 1);
}

Comparison compare(const std::vector<ComparedTime>& times) {
  check(!times.empty(), "no times to compare");
  Comparison result;
  std::vector<double> errors;
  for (const ComparedTime& time : times) errors.push_back(time.error());
  result.largest_error = *std::max_element(errors.begin(), errors.end());
  result.median_error = median_of(std::move(errors));
  const auto sizes = by_size(times);
  int pairs = 0, ordered = 0;
  for (const auto& [bytes, of_size] : sizes) {
    const double best = best_of(of_size, &ComparedTime::measured_seconds).measured_seconds;
    const double chosen = best_of(of_size, &ComparedTime::predicted_seconds).measured_seconds;
    const double regret = chosen / best - 1;
    result.mean_regret += regret / static_cast<double>(sizes.size());
    result.largest_regret = std::max(result.largest_regret, regret);
    result.right += regret <= right_margin ? 1 : 0;
    ++result.sizes;
    for (const ComparedTime& a : of_size) {
      for (const ComparedTime& b : of_size) {
        if (b.measured_seconds <= a.measured_seconds * (1 + clear_margin)) continue;
        ++pairs;
        ordered += b.predicted_seconds > a.predicted_seconds ? 1 : 0;
      }
    }
  }
  if (pairs > 0) result.ordered = static_cast<double>(ordered) / pairs;
  result.crossovers = crossovers_of(sizes);
  return result;
}

void validate(const ValidateFlags& flags, Output& output) {
  check_not_joined("validate");
  Json cases = Json::array();
  Summary summary;
  if (!flags.json) {
    output.print("# {:<7} {:>5} {:<14} {:>7} {:>8} {:>7} {:>8} {:>9} {:>6}", "transport", "ranks",
                 "collective", "median", "largest", "regret", "largest", "right", "order");
  }
  for (const std::string& name : flags.transports) {
    const Transport transport = parse_transport(name, {Transport::shm, Transport::tcp});
    for (const int ranks : flags.ranks) {
      check_ranks(ranks, most_real_ranks);
      const Case of = examine(flags, transport, ranks);
      summary.add(of);
      if (flags.json) {
        cases.push_back(json_of(of));
      } else {
        print_case(of, flags.rows, output);
      }
    }
  }
  if (!flags.json) return print_summary(summary, output);
  output.line(Json{{"cases", cases},
                   {"median_error", median_of(summary.errors)},
                   {"mean_regret", summary.regret / summary.sizes}}
                  .dump(2));
}

}  // namespace tutti
