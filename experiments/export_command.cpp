#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "collectives/error.hpp"
#include "deploy/export_rules.hpp"
#include "experiments/command.hpp"
#include "experiments/files.hpp"
#include "experiments/log_command.hpp"

namespace tutti {
namespace {

struct ExportFlags {
  std::vector<std::string> files;
  std::string format;
  std::string output_file;
  double noise_percent = 3.0;
  LogOptions options;
};

void write(const RuleExport& rules, const ExportFlags& flags, Output& output) {
  const bool is_split = rules.files.size() > 1;
  if (is_split && flags.output_file.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("--format {}: {} numbers of ranks take a file each, expected -o FILE "
                            "(they become FILE.RANKS), or --format openmpi-json",
                            flags.format, rules.files.size()));
  }
  for (const RuleFile& file : rules.files) {
    if (flags.output_file.empty()) {
      std::string_view text = file.text;
      if (text.ends_with('\n')) text.remove_suffix(1);
      output.line(text);
      continue;
    }
    const std::string name =
        is_split ? fmt::format("{}.{}", flags.output_file, file.ranks) : flags.output_file;
    write_file(name, file.text);
  }
  for (const std::string& note : rules.notes) {
    std::fputs(fmt::format("tutti: {}\n", note).c_str(), stderr);
  }
}

}  // namespace

Command add_export_rules(CLI::App& app) {
  const auto flags = std::make_shared<ExportFlags>();
  app.add_option("RESULTS", flags->files,
                 "JSON lines of bench, simulate, whatif or crossover, or any log that log reads")
      ->required();
  app.add_option("--format", flags->format, fmt::format("{}", fmt::join(rule_formats(), ", ")))
      ->required();
  app.add_option("-o,--output", flags->output_file, "The file to write, instead of stdout");
  app.add_option("--noise", flags->noise_percent,
                 "Percent that an algorithm may be slower than the best and still count as good")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  add_log_options(app, flags->options);
  app.footer(R"(
Writes which algorithm is best from which size on as the rules of a library; stderr says what the
rules are keyed on, which algorithms have no counterpart there, and what that costs. Of all rules
within the noise those with the fewest switches are taken.
  openmpi       rules of Open MPI up to 5 (module tuned), a file for each number of ranks
  openmpi-json  rules of Open MPI 6
  mpich         MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
  ucc           UCC_TL_UCP_TUNE
  nccl          NCCL_TUNER_CONFIG_FILE of NCCL's example tuner plugin
  simgrid       options of SMPI, one algorithm a collective

Examples:
  tutti bench allreduce --ranks 4 --algo all --json > results.jsonl
  tutti export --format openmpi results.jsonl -o rules.conf
  mpirun --mca coll_tuned_use_dynamic_rules 1 \
    --mca coll_tuned_dynamic_rules_filename rules.conf ...)" +
             std::string("\n") + exit_codes);
  return [flags](Output& output) {
    SampleSet all;
    for (const std::string& file : flags->files) {
      const SampleSet set = read_log(file, flags->options);
      all.samples.insert(all.samples.end(), set.samples.begin(), set.samples.end());
    }
    write(export_rules(flags->format, curves_of(all), flags->noise_percent / 100), *flags, output);
    return true;
  };
}

}  // namespace tutti
