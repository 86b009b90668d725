#include "experiments/choosing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "collectives/run.hpp"
#include "experiments/files.hpp"
#include "experiments/fit.hpp"

namespace tutti {
namespace {

constexpr std::size_t largest_fitted_bytes = 16 << 20;

}  // namespace

const char* const auto_help =
    R"(--algo auto takes an algorithm and its tuning (segments, radix, group, inner and outer).
The tuning is that with the smallest predicted time: by the closed form, given alpha, beta and gamma
(simulate: the topology's, within groups of ranks and between them; bench: a fit to a measurement
before the first row). The algorithm is that with the smallest predicted time (simulate) or the
fastest of all in a short measurement before each size (bench; takes twice the memory). It may stand
beside names: --algo auto,ring. Its rows have algo "auto", and the tuning it took; with it, all rows
also have
  chosen         the algorithm that auto took; null for named algorithms, as the next ones
  chosen_by      "model" (simulate), "measurement" (bench), or the rule that was followed:
                 "TUTTI_ALGO", "rules.csv line 4"
  predicted_us   by the closed form
  candidates_us  only in JSON: the prediction of every algorithm, the fastest first
TUTTI_ALGO="allreduce:hierarchical(direct,ring);broadcast:binomial" forces what auto takes, in
brackets the inner and outer levels of a hierarchical algorithm; --rules FILE pins it by size
and ranks; with either, --algo is auto unless algorithms are named. Where only named ones run,
TUTTI_ALGO is not read and --rules refused. FILE is CSV, the first rule that matches wins, limits
are inclusive, empty ones none, # begins a comment:
  collective,min_bytes,max_bytes,min_ranks,max_ranks,algorithm,segments,radix,group,inner,outer
  allreduce,,65535,,,tree,,,,,
  allreduce,65536,,8,,hierarchical,,,4,direct,)";

Rules load_rules(const QuestionFlags& flags) {
  const bool chooses =
      flags.algorithms == QuestionFlags().algorithms || names_auto(flags.algorithms);
  if (!chooses) {
    if (flags.rules.empty()) return {};
    throw Error(ErrorKind::usage,
                fmt::format("--rules {}: with --algo {} nothing is chosen; add auto to it",
                            flags.rules, flags.algorithms));
  }
  Rules rules;
  if (const char* forced = std::getenv(force_variable)) {
    rules = parse_forced(forced, force_variable);
  }
  if (flags.rules.empty()) return rules;
  const Rules table = parse_rules(read_file(flags.rules), flags.rules);
  rules.insert(rules.end(), table.begin(), table.end());
  return rules;
}

Question ask(const QuestionFlags& flags, int ranks, const Rules& rules) {
  QuestionFlags typed = flags;
  const Collective collective = parse_collective(flags.collective);
  const bool has_rule = std::any_of(
      rules.begin(), rules.end(), [&](const Rule& rule) { return rule.collective == collective; });
  if (has_rule && flags.algorithms == QuestionFlags().algorithms) typed.algorithms = "auto";
  return ask(typed, ranks);
}

CostProfile measure_profile(World& world, DType dtype, Op op, std::size_t largest_bytes) {
  if (world.size() == 1) return {};
  // Averages are sums on the way.
  const Op each = op == Op::average ? Op::sum : op;
  return {.outer = fit_cost_model(measure_messages(world, dtype, each, Load::full,
                                                   std::min(largest_bytes, largest_fitted_bytes)))};
}

std::string describe(const CostProfile& profile) {
  const auto links = [](const CostModel& model) {
    return fmt::format("alpha {:.2f} us, beta {:.4f} ns/B", model.alpha_seconds * 1e6,
                       model.beta_seconds_per_byte * 1e9);
  };
  std::string text = links(profile.outer);
  if (profile.group > 1) {
    text += fmt::format(" ({} within groups of {})", links(profile.inner), profile.group);
  }
  text += fmt::format(", gamma {:.4f} ns/B", profile.outer.gamma_seconds_per_byte * 1e9);
  if (profile.outer.overhead_seconds() == 0.0) return text;
  return text + fmt::format(", {:.2f} us a send, {:.2f} us a receive",
                            profile.outer.send_overhead_seconds * 1e6,
                            profile.outer.receive_overhead_seconds * 1e6);
}

std::vector<Job> jobs_of(const Question& question, std::size_t count, const CostProfile& profile,
                         const Rules& rules) {
  std::vector<Job> jobs = question.jobs(count);
  if (!question.automatic) return jobs;
  Job job{.algorithm = nullptr,
          .count = count,
          .dtype = question.dtype,
          .op = question.op,
          .root = question.root,
          .accumulate = question.accumulate,
          .tuning = question.tuning,
          .part_counts = {},
          .choice = {}};
  job.choice = choose(question.collective, job.problem(question.ranks), profile, rules);
  job.algorithm = job.choice->chosen.algorithm;
  job.tuning = job.choice->chosen.tuning;
  jobs.insert(jobs.begin(), job);
  return jobs;
}

}  // namespace tutti
