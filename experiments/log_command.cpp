#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "experiments/command.hpp"
#include "experiments/files.hpp"
#include "experiments/log_command.hpp"
#include "experiments/rows.hpp"
#include "profiles/log_fit.hpp"
#include "profiles/log_import.hpp"
#include "profiles/log_validation.hpp"

namespace tutti {
namespace {

struct LogFlags {
  std::vector<std::string> files;
  LogOptions options;
  std::string format = "table";
  bool json = false;

  Format chosen() const { return json ? Format::json : parse_format(format); }
};
using Flags = std::shared_ptr<LogFlags>;

void add_flags(CLI::App& app, const Flags& flags) {
  app.add_option("FILE", flags->files, "Logs")->required();
  add_log_options(app, flags->options);
  app.add_option("--format", flags->format, "table, csv or json (JSON lines)")
      ->capture_default_str();
  app.add_flag("--json", flags->json, "The same as --format json");
}

void write(const Json& json, Format format, bool& has_header, Output& output) {
  if (format == Format::json) return output.line(json.dump());
  if (!has_header) output.line(csv_header(json));
  has_header = true;
  output.line(csv_line(json));
}

Json keys_of(const Series& series) {
  return {{"collective", series.collective},
          {"algo", series.algorithm},
          {"library", series.library},
          {"ranks", series.ranks},
          {"nodes", series.nodes},
          {"dtype", series.dtype},
          {"op", series.op},
          {"in_place", series.in_place}};
}

bool show(const LogFlags& flags, Output& output) {
  const Format format = flags.chosen();
  bool has_header = false;
  for (const std::string& file : flags.files) {
    const SampleSet set = read_log(file, flags.options);
    if (format == Format::table) {
      output.print("# {}: {}, {}", file, set.format, counted(std::ssize(set.samples), "sample"));
      for (const std::string& line : set.provenance) output.print("# {}", line);
      output.print("#{:>12} {:>12} {:>7}  {}", "size (B)", "time (us)", "", "of");
    }
    for (const Sample& sample : set.samples) {
      if (format == Format::table) {
        output.print(" {:>12} {:>12.2f} {:>7}  {}", sample.bytes, sample.seconds * 1e6,
                     name_of(sample.statistic), sample.series.describe());
        continue;
      }
      Json json = keys_of(sample.series);
      json.update({{"bytes", sample.bytes},
                   {"statistic", name_of(sample.statistic)},
                   {"time_us", sample.seconds * 1e6},
                   {"file", file},
                   {"line", sample.line}});
      write(json, format, has_header, output);
    }
  }
  return true;
}

std::string shown_bandwidth(double seconds_per_byte) {
  return seconds_per_byte > 0.0 ? fmt::format("{:.4g}", 1e-9 / seconds_per_byte) : "n/a";
}

void print_fit(const MeasuredCurve& curve, const CurveFit& fit, Output& output) {
  output.print("{}: {} of {}, residuals {:.1f} % (median), {:.1f} % (largest)",
               curve.series.describe(), counted(std::ssize(fit.pieces), "piece"),
               counted(std::ssize(curve.bytes), "size"), fit.median_residual * 100,
               fit.largest_residual * 100);
  for (const FittedPiece& piece : fit.pieces) {
    output.print("  {:>11} .. {:<11} {:>10.2f} us ({:.2f} .. {:.2f}) + n / {} GB/s ({} .. {})",
                 piece.first_bytes, piece.last_bytes, piece.latency_seconds.value * 1e6,
                 piece.latency_seconds.low * 1e6, piece.latency_seconds.high * 1e6,
                 shown_bandwidth(piece.seconds_per_byte.value),
                 shown_bandwidth(piece.seconds_per_byte.high),
                 shown_bandwidth(piece.seconds_per_byte.low));
  }
}

bool fit(const LogFlags& flags, Output& output) {
  const Format format = flags.chosen();
  bool has_header = false;
  for (const std::string& file : flags.files) {
    const SampleSet set = read_log(file, flags.options);
    if (format == Format::table) output.print("# {}: {}", file, set.format);
    for (const MeasuredCurve& curve : curves_of(set)) {
      const CurveFit fitted = fit_curve(curve);
      if (format == Format::table) {
        print_fit(curve, fitted, output);
        continue;
      }
      for (const FittedPiece& piece : fitted.pieces) {
        Json json = keys_of(curve.series);
        json.update({{"first_bytes", piece.first_bytes},
                     {"last_bytes", piece.last_bytes},
                     {"latency_us", piece.latency_seconds.value * 1e6},
                     {"latency_low_us", piece.latency_seconds.low * 1e6},
                     {"latency_high_us", piece.latency_seconds.high * 1e6},
                     {"ns_per_byte", piece.seconds_per_byte.value * 1e9},
                     {"ns_per_byte_low", piece.seconds_per_byte.low * 1e9},
                     {"ns_per_byte_high", piece.seconds_per_byte.high * 1e9},
                     {"median_residual", fitted.median_residual},
                     {"largest_residual", fitted.largest_residual},
                     {"file", file}});
        write(json, format, has_header, output);
      }
    }
  }
  return true;
}

struct Ratios {
  double median = 0.0;
  int within = 0;  ///< A factor of two.
};

Ratios ratios_of(const HeldOutCheck& check) {
  std::vector<double> ratios;
  for (const CrossoverCheck& crossover : check.crossovers) ratios.push_back(crossover.ratio());
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto within = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= 2; });
  return {ratios[ratios.size() / 2], static_cast<int>(within)};
}

void print_check(const HeldOutCheck& check, const std::string& file, Output& output) {
  const Ratios ratios = ratios_of(check);
  const std::string of = fmt::format("{}, {} ranks", check.series.collective, check.series.ranks);
  output.print(
      "{:>6} {:>6} {:>9.1f} {:>9.1f} {:>8.2f} {:>8.2f} {:>9} {:>8}  {}: {}", check.algorithms,
      check.tested, check.median_error * 100, check.largest_error * 100, check.mean_regret * 100,
      check.largest_regret * 100, fmt::format("{}/{}", ratios.within, check.crossovers.size()),
      format_number(check.crossovers.empty() ? std::nullopt : std::optional(ratios.median), 2),
      file, of);
}

Json to_json(const HeldOutCheck& check, const std::string& file) {
  const Ratios ratios = ratios_of(check);
  Json json = keys_of(check.series);
  json.erase("algo");
  json.erase("library");
  json.update({{"algorithms", check.algorithms},
               {"tested", check.tested},
               {"median_error", check.median_error},
               {"largest_error", check.largest_error},
               {"choices", check.choices},
               {"mean_regret", check.mean_regret},
               {"largest_regret", check.largest_regret},
               {"crossovers_within_2", ratios.within},
               {"crossover_count", check.crossovers.size()},
               {"crossovers", Json::array()},
               {"file", file}});
  for (const CrossoverCheck& crossover : check.crossovers) {
    const bool is_predicted = crossover.predicted_bytes > 0.0;
    json["crossovers"].push_back(
        {{"from", crossover.first},
         {"to", crossover.second},
         {"measured_bytes", crossover.measured_bytes},
         {"predicted_bytes", is_predicted ? Json(crossover.predicted_bytes) : Json(nullptr)},
         {"ratio", is_predicted ? Json(crossover.ratio()) : Json(nullptr)}});
  }
  return json;
}

bool check_fits(const LogFlags& flags, Output& output) {
  const Format format = flags.chosen();
  bool has_header = false;
  if (format == Format::table) {
    output.print("#{:>5} {:>6} {:>9} {:>9} {:>8} {:>8} {:>9} {:>8}", "algos", "tested", "median",
                 "largest", "regret", "regret", "crossings", "median");
    output.print("#{:>5} {:>6} {:>9} {:>9} {:>8} {:>8} {:>9} {:>8}", "", "times", "error %",
                 "error %", "mean %", "max %", "within 2x", "ratio");
  }
  for (const std::string& file : flags.files) {
    const std::vector<HeldOutCheck> checks = check_held_out(read_log(file, flags.options));
    if (checks.empty()) warn(fmt::format("{}: no curve has four sizes to test a fit on", file));
    for (const HeldOutCheck& check : checks) {
      if (format == Format::table) {
        print_check(check, file, output);
      } else {
        write(to_json(check, file), format, has_header, output);
      }
    }
  }
  return true;
}

using Run = bool (*)(const LogFlags&, Output&);

Command added(CLI::App& app, Run run, const std::string& footer) {
  const auto flags = std::make_shared<LogFlags>();
  add_flags(app, flags);
  app.footer(footer + std::string("\n") + exit_codes);
  return [flags, run](Output& output) { return run(*flags, output); };
}

std::string known_logs() {
  std::string text;
  for (const LogFormat& format : log_formats()) {
    text += "  " + std::string(format.description) + "\n";
  }
  return text;
}

}  // namespace

void add_log_options(CLI::App& app, LogOptions& options) {
  app.add_option("--ranks", options.ranks, "How many ranks there were, where the log does not say")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--collective", options.collective, "Likewise of the collective");
}

SampleSet read_log(const std::string& file, const LogOptions& options) {
  SampleSet set = import_log(read_file(file, maximum_import_bytes), file, options);
  constexpr const char* kinds[] = {"ignored", "assumed", "suspicious"};
  for (const ImportNote& note : set.notes) {
    const std::string line = note.line > 0 ? fmt::format(":{}", note.line) : "";
    const std::string text = fmt::format("{}{}: {}: {}\n", file, line,
                                         kinds[static_cast<std::size_t>(note.kind)], note.text);
    std::fputs(text.c_str(), stderr);
  }
  return set;
}

Command add_log(CLI::App& app) {
  const auto chosen = std::make_shared<Command>();
  const auto add = [&](const char* name, const char* description, Run run,
                       const std::string& footer) {
    CLI::App& command = *app.add_subcommand(name, description);
    command.callback([chosen, made = added(command, run, footer)] { *chosen = made; });
  };
  add("show", "The samples of a log, in one form", show, R"(
Sizes are those of the whole buffer: of allgather, gather, scatter and alltoall all ranks' parts
together, whatever the log counts. Notes on stderr say what was ignored, assumed or is suspicious.

Examples:
  tutti log show nccl.txt
  tutti log show osu_allgather.txt --ranks 16 --format csv)");
  add("fit", "Latency and bandwidth of each algorithm, in as many pieces as the log shows", fit, R"(
In parentheses: 95 % confidence intervals.

Example:
  tutti log fit nccl.txt --json)");
  add("check", "How well fits predict what they have not seen", check_fits, R"(
Fits every second size of each algorithm and tests on the others. Regret: time lost by taking the
algorithm that is predicted to be the fastest. Crossings: pairs of algorithms that change places
once, and how many of these places are predicted within a factor of two.

Example:
  tutti log check results/*.csv)");
  app.require_subcommand(1);
  app.footer("\nLogs, recognised by their content:\n" + known_logs() + exit_codes);
  return [chosen](Output& output) { return (*chosen)(output); };
}

}  // namespace tutti
