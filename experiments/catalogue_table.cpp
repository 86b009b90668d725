#include "experiments/catalogue_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "collectives/plan_of.hpp"
#include "exec/cores.hpp"
#include "experiments/command.hpp"

namespace tutti {
namespace {

constexpr int ranks_of_forms = 16;
constexpr int most_workers = 16;  // One proof of 512 ranks takes up to 600 MB.

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
    if (algorithm.uses_segments) tunings.push_back({.segments = value});
    if (algorithm.uses_radix) tunings.push_back({.radix = value + 1});
    if (algorithm.uses_group) tunings.push_back({.group = value});
  }
  if (!algorithm.has_levels()) return tunings;
  const auto inners = algorithms_of(inner_collective(algorithm.collective));
  const auto outers = algorithms_of(algorithm.collective);
  for (std::size_t i = 0; i < std::max(inners.size(), outers.size()); ++i) {
    tunings.push_back({.inner = inners[i % inners.size()], .outer = outers[i % outers.size()]});
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

// Of one rank count. Calls on_plan() before each proof.
template <typename OnPlan>
Findings prove_at(const Algorithm& algorithm, int ranks, const OnPlan& on_plan) {
  Findings findings;
  for_each_problem(algorithm, ranks, [&](const Problem& problem) {
    if (findings.failure) return;
    on_plan();
    ++findings.plans;
    try {
      prove(plan_of(algorithm, problem), promise_of(algorithm, problem));
    } catch (const Error& error) {
      findings.failure = error.what();
    }
  });
  if (findings.plans == 0) findings.unsupported.push_back(ranks);
  return findings;
}

// Up to the first rank count that fails.
Findings merged(const std::vector<Findings>& by_ranks) {
  Findings all;
  for (const Findings& one : by_ranks) {
    all.plans += one.plans;
    all.unsupported.insert(all.unsupported.end(), one.unsupported.begin(), one.unsupported.end());
    all.failure = one.failure;
    if (all.failure) break;
  }
  return all;
}

// On many cores: proofs are pure.
Findings prove_up_to(const Algorithm& algorithm, int most_ranks, StatusLine& status) {
  std::vector<Findings> by_ranks(static_cast<std::size_t>(most_ranks));
  std::atomic<int> next = most_ranks;  // The longest proofs first.
  std::mutex mutex;
  std::size_t plans = 0;
  const auto on_plan = [&] {
    const std::lock_guard lock(mutex);
    status.show(fmt::format("proving {}: {} rank counts to go, plan {}", algorithm.full_name,
                            std::max(next.load(), 0), ++plans));
  };
  const auto work = [&] {
    for (int ranks = next--; ranks >= 1; ranks = next--) {
      by_ranks[static_cast<std::size_t>(ranks - 1)] = prove_at(algorithm, ranks, on_plan);
    }
  };
  std::vector<std::future<void>> helpers;
  for (int i = 1; i < std::min({available_cores(), most_ranks, most_workers}); ++i) {
    helpers.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& helper : helpers) helper.get();
  return merged(by_ranks);
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

// "" for an algorithm without levels.
std::string levels_text(const Algorithm& algorithm) {
  if (!algorithm.has_levels()) return "";
  const Collective inner = inner_collective(algorithm.collective);
  return fmt::format("any inner{} x any outer, {} x {} unless --inner and --outer name others",
                     inner == algorithm.collective ? "" : fmt::format(" {}", name_of(inner)),
                     algorithm.default_inner, algorithm.default_outer);
}

// Among as many ranks as forms are looked at, with parts of some elements.
Problem typical_problem(const Algorithm& algorithm) {
  const bool is_barrier = algorithm.collective == Collective::barrier;
  return {.ranks = ranks_of_forms, .count = is_barrier ? 0 : std::size_t{64} * ranks_of_forms};
}

Json row_json(const Algorithm& algorithm, const Findings& findings, int most_ranks) {
  Json proof{{"status", proof_status(findings, most_ranks)},
             {"up_to_ranks", most_ranks},
             {"plans", findings.plans},
             {"unsupported_ranks", findings.unsupported}};
  const Messages messages = messages_of(algorithm, typical_problem(algorithm));
  if (findings.failure) proof["failure"] = *findings.failure;
  return Json{
      {"collective", name_of(algorithm.collective)},
      {"algo", algorithm.name},
      {"full_name", algorithm.full_name},
      {"steps", algorithm.steps_formula},
      {"messages",
       {{"ranks", ranks_of_forms}, {"sent", messages.sent}, {"received", messages.received}}},
      {"bytes", algorithm.bytes_formula},
      {"time", algorithm.seconds_formula},
      {"form", form_of(algorithm)},
      {"supported", algorithm.supported},
      {"any_part_sizes", algorithm.parts == PartSizes::any},
      {"levels", levels_text(algorithm)},
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
  const Problem typical = typical_problem(algorithm);
  const Messages messages = messages_of(algorithm, typical);
  const int steps = algorithm.steps(typical);
  output.print("    steps   {}{}", algorithm.steps_formula,
               messages == Messages{steps, steps}
                   ? ""
                   : fmt::format("; among {} ranks {}, with {} sends and {} receives",
                                 ranks_of_forms, steps, messages.sent, messages.received));
  output.print("    bytes   {}", algorithm.bytes_formula);
  output.print("    time    {}", algorithm.seconds_formula);
  if (algorithm.has_levels()) output.print("    levels  {}", levels_text(algorithm));
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
    const Findings findings = prove_up_to(*algorithm, flags.prove, status);
    status.clear();
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
ranks, and 1 to 4 segments, radices 2 to 5, groups of 1 to 4 and each algorithm as an inner and
as an outer level where these matter. It runs on up to 16 cores, each of which takes up to 600 MB
for 512 ranks; a terminal shows how far it is.

JSON keys of a line:
  collective, algo, full_name   names, as other commands take them
  steps, bytes, time            closed forms: messages in a row, bytes a rank sends at most, seconds
  messages                      sends and receives by ranks that wait for each other, one by one,
                                among so many ranks: each has an overhead, however many at once
  form                          exact: equal to the replayed plan; bound: at least as large; mixed:
                                exact for some problems (such as equal parts), a bound for others
  supported                     which N and counts can run; others are refused before data moves
  any_part_sizes                whether it serves unequal counts (the v-form)
  levels                        what the two levels of a hierarchical algorithm may run; else ""
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
