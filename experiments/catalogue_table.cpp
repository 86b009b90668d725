#include "experiments/catalogue_table.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "collectives/plan_of.hpp"
#include "experiments/command.hpp"

namespace tutti {
namespace {

constexpr int ranks_of_forms = 16;

// What a sweep over problems found out about one algorithm.
struct Findings {
  std::size_t plans = 0;
  std::vector<int> unsupported;  // Rank counts at which no problem of the sweep is supported.
  std::optional<std::string> failure;
};

// The default, and a few others of what makes a difference.
std::vector<Tuning> tunings_of(const Algorithm& algorithm) {
  std::vector<Tuning> tunings{{}};
  for (int value = 1; value <= 4; ++value) {
    if (algorithm.uses_segments) tunings.push_back({value, 0, 0});
    if (algorithm.uses_radix) tunings.push_back({0, value + 1, 0});
    if (algorithm.uses_group) tunings.push_back({0, 0, value});
  }
  return tunings;
}

// Calls visit(problem) for the problems of one rank count that are supported: fewer elements than
// ranks, as many, and more, once with equal parts and once without; every root up to 16 ranks.
template <typename Visit>
void for_each_problem(const Algorithm& algorithm, int ranks, const Visit& visit) {
  const auto n = static_cast<std::size_t>(ranks);
  const int roots = is_rooted(algorithm.collective) && ranks <= 16 ? ranks : 1;
  std::vector<std::size_t> counts{1, n, 2 * n + 3, 4 * n};
  if (algorithm.collective == Collective::barrier) counts = {0};
  const std::vector<Tuning> tunings = tunings_of(algorithm);
  for (const std::size_t count : counts) {
    for (const Tuning& tuning : tunings) {
      for (int root = 0; root < roots; ++root) {
        const Problem problem{ranks, count, bytes_of(DType::float32), root, tuning};
        if (algorithm.supports(problem)) visit(problem);
      }
    }
  }
}

Findings prove_up_to(const Algorithm& algorithm, int most_ranks) {
  Findings findings;
  for (int ranks = 1; ranks <= most_ranks && !findings.failure; ++ranks) {
    const std::size_t before = findings.plans;
    for_each_problem(algorithm, ranks, [&](const Problem& problem) {
      if (findings.failure) return;
      ++findings.plans;
      try {
        prove(plan_of(algorithm, problem), promise_of(algorithm, problem));
      } catch (const Error& error) {
        findings.failure = error.what();
      }
    });
    if (findings.plans == before) findings.unsupported.push_back(ranks);
  }
  return findings;
}

// "exact", "bound", or "mixed": it depends on the problem.
std::string form_of(const Algorithm& algorithm) {
  bool exact = false, bound = false;
  for (int ranks = 2; ranks <= ranks_of_forms; ++ranks) {
    for_each_problem(algorithm, ranks, [&](const Problem& problem) {
      (algorithm.form(problem) == Form::exact ? exact : bound) = true;
    });
  }
  return exact && bound ? "mixed" : bound ? "bound" : "exact";
}

std::string proof_status(const Findings& findings, int most_ranks) {
  if (most_ranks == 0) return "not run";
  return findings.failure ? "FAILED" : "proved";
}

Json row_json(const Algorithm& algorithm, const Findings& findings, int most_ranks) {
  Json proof{{"status", proof_status(findings, most_ranks)},
             {"up_to_ranks", most_ranks},
             {"plans", findings.plans},
             {"unsupported_ranks", findings.unsupported}};
  if (findings.failure) proof["failure"] = *findings.failure;
  return Json{{"collective", name_of(algorithm.collective)},
              {"algo", algorithm.name},
              {"full_name", algorithm.full_name},
              {"steps", algorithm.steps_formula},
              {"bytes", algorithm.bytes_formula},
              {"time", algorithm.seconds_formula},
              {"form", form_of(algorithm)},
              {"supported", algorithm.supported},
              {"any_part_sizes", algorithm.parts == PartSizes::any},
              {"source", algorithm.source},
              {"proof", proof}};
}

void print_row(const Algorithm& algorithm, const Findings& findings, int most_ranks,
               Output& output) {
  std::string proof = proof_status(findings, most_ranks);
  if (proof == "proved") {
    proof = fmt::format("proved, N <= {} ({} plans)", most_ranks, findings.plans);
  }
  output.print("{:<14} {:<26} {:<6} {:<26} {}", name_of(algorithm.collective), algorithm.name,
               form_of(algorithm), proof, algorithm.supported);
  output.print("    steps   {}", algorithm.steps_formula);
  output.print("    bytes   {}", algorithm.bytes_formula);
  output.print("    time    {}", algorithm.seconds_formula);
  output.print("    source  {}", algorithm.source);
  if (findings.failure) output.print("    proof   {}", *findings.failure);
}

}  // namespace

bool print_catalogue(const CatalogueFlags& flags, Output& output) {
  std::vector<const Algorithm*> algorithms;
  if (flags.collective == "all") {
    for (const Algorithm& algorithm : catalogue()) algorithms.push_back(&algorithm);
  } else {
    algorithms = algorithms_of(parse_collective(flags.collective));
  }
  if (!flags.json) {
    output.line(
        "# N ranks, n bytes of the whole buffer, m segments, k radix, a = alpha, b = beta, "
        "g = gamma");
    output.print("{:<14} {:<26} {:<6} {:<26} {}", "collective", "algo", "form", "proof",
                 "supported N");
  }
  bool proved = true;
  StatusLine status;
  for (const Algorithm* algorithm : algorithms) {
    status.show(fmt::format("proving {}", algorithm->full_name));
    const Findings findings = prove_up_to(*algorithm, flags.prove);
    proved = proved && !findings.failure;
    if (flags.json) {
      output.line(row_json(*algorithm, findings, flags.prove).dump());
    } else {
      print_row(*algorithm, findings, flags.prove, output);
    }
  }
  return proved;
}

Command add_catalogue(CLI::App& app) {
  const auto flags = std::make_shared<CatalogueFlags>();
  app.add_option("COLLECTIVE", flags->collective, "Only the algorithms of this one, or all")
      ->capture_default_str();
  app.add_option("--prove", flags->prove, "Prove the plans for up to so many ranks; 0: do not")
      ->check(CLI::Range(0, 512))
      ->capture_default_str();
  app.add_flag("--json", flags->json, "Print JSON, one line an algorithm");
  app.footer(std::string(R"(
A proof follows every element of every rank through the recorded plan: each contribution is combined
exactly once, nothing is read before it was written, and every rank ends with what the collective
promises. The sweep takes 1, N, 2N+3 and 4N elements where they are supported, every root up to 16
ranks, and 1 to 4 segments, radices 2 to 5 and groups of 1 to 4 where these matter.

JSON keys of a line:
  collective, algo, full_name   names, as other commands take them
  steps, bytes, time            closed forms: messages in a row, bytes a rank sends at most, seconds
  form                          exact: equal to the replayed plan; bound: at least as large; mixed:
                                exact for some problems (such as equal parts), a bound for others
  supported                     which N and counts can run; others are refused before data moves
  any_part_sizes                whether it serves unequal counts (the v-form)
  source                        where it comes from
  proof                         status: proved, FAILED or not run; up_to_ranks; plans: how many were
                                proved; unsupported_ranks: those up to up_to_ranks that cannot run;
                                failure: what is wrong, where one failed

Examples:
  tutti catalogue --prove 0
  tutti catalogue allreduce
  tutti catalogue --json --prove 64 > catalogue.jsonl)") +
             "\n" + exit_codes);
  return [flags](Output& output) { return print_catalogue(*flags, output); };
}

}  // namespace tutti
