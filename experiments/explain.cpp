#include "experiments/explain.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include "collectives/plan_goal.hpp"
#include "collectives/plan_json.hpp"
#include "collectives/plan_msccl.hpp"
#include "collectives/plan_of.hpp"
#include "experiments/command.hpp"
#include "experiments/diagram.hpp"
#include "experiments/files.hpp"
#include "experiments/question.hpp"
#include "experiments/sizes.hpp"

namespace tutti {
namespace {

constexpr int most_ranks = 512;
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::size_t most_lines = 200;  // Of the table of messages.
constexpr int most_single_ranks = 8;     // With more, similar messages share a line.
constexpr std::size_t most_folds = 16;
constexpr std::size_t most_fold_text = 400;  // Characters.

// The flags, understood.
struct Subject {
  const Algorithm* algorithm = nullptr;
  Problem problem;
  CostModel model;
};

std::size_t count_of(const ExplainFlags& flags) {
  if (flags.count > 0) return flags.count;
  const auto ranks = static_cast<std::size_t>(flags.ranks);
  constexpr std::size_t element_bytes = bytes_of(DType::float32);
  if (!flags.bytes.empty()) return parse_size(flags.bytes) / element_bytes;
  return (std::size_t{1} << 20) / element_bytes / ranks * ranks;
}

Subject understand(const ExplainFlags& flags) {
  Subject subject;
  const Collective collective = parse_collective(flags.collective);
  subject.algorithm = &find_algorithm(collective, flags.algorithm);
  check_ranks(flags.ranks, most_ranks);
  subject.problem.ranks = flags.ranks;
  subject.problem.count = collective == Collective::barrier ? 0 : count_of(flags);
  subject.problem.root = flags.root;
  subject.problem.tuning =
      with_levels({.segments = flags.segments, .radix = flags.radix, .group = flags.group},
                  collective, {flags.inner, flags.outer});
  check_tuning_used(collective, {subject.algorithm}, false, subject.problem.tuning);
  subject.model = {flags.alpha_microseconds * 1e-6, flags.beta_nanoseconds_per_byte * 1e-9,
                   flags.gamma_nanoseconds_per_byte * 1e-9, flags.send_overhead_microseconds * 1e-6,
                   flags.receive_overhead_microseconds * 1e-6};
  // The range of a flag lets a NaN pass.
  const double sum = subject.model.alpha_seconds + subject.model.beta_seconds_per_byte +
                     subject.model.gamma_seconds_per_byte + subject.model.overhead_seconds();
  if (std::isnan(sum)) {
    throw Error(ErrorKind::usage,
                "--alpha, --beta, --gamma and the overheads: nan is no number, expected 0 or more");
  }
  if (subject.problem.bytes() <= most_bytes) return subject;
  throw Error(ErrorKind::usage,
              fmt::format("--bytes {}: expected at most {}", subject.problem.bytes(), most_bytes));
}

std::string exported(const Subject& subject, const Plan& plan, const std::string& format) {
  if (format == "text") return to_text(plan);
  if (format == "json") return to_json(plan);
  if (format == "goal") return to_goal(plan, subject.model.gamma_seconds_per_byte);
  if (format == "msccl") {
    return to_msccl(plan, subject.algorithm->collective, subject.problem.bytes(),
                    subject.algorithm->full_name);
  }
  throw Error(ErrorKind::usage,
              fmt::format("--export '{}': expected goal, msccl, json or text", format));
}

std::string place_of(const Arrow& arrow) {
  const PlanAddress& at = arrow.address;
  if (at.buffer < -1) return "scratch";
  return fmt::format("{}..{}", at.offset_bytes, at.offset_bytes + arrow.bytes);
}

void print_message_table(const std::vector<Arrow>& arrows, Output& output) {
  output.print("  {:>4} {:>5} {:>5} {:>12} {:>24}  {:<8} {:>12} {:>12}", "step", "from", "to",
               "bytes", "of the buffer", "receiver", "begin_us", "end_us");
  for (const Arrow& arrow : arrows) {
    output.print("  {:>4} {:>5} {:>5} {:>12} {:>24}  {:<8} {:>12.3f} {:>12.3f}", arrow.step,
                 arrow.from, arrow.to, arrow.bytes, place_of(arrow),
                 arrow.folds ? "reduces" : "keeps", arrow.begin_seconds * 1e6,
                 arrow.end_seconds * 1e6);
  }
}

// Messages of one step and size over the same distance share a line.
void print_grouped_table(const std::vector<Arrow>& arrows, int ranks, Output& output) {
  struct Group {
    std::vector<int> senders;
    double begin_seconds = 1e300;
    double end_seconds = 0.0;
  };
  std::map<std::tuple<int, int, std::size_t, bool>, Group> groups;
  for (const Arrow& arrow : arrows) {
    const int distance = (arrow.to - arrow.from + ranks) % ranks;
    Group& group = groups[{arrow.step, distance, arrow.bytes, arrow.folds}];
    group.senders.push_back(arrow.from);
    group.begin_seconds = std::min(group.begin_seconds, arrow.begin_seconds);
    group.end_seconds = std::max(group.end_seconds, arrow.end_seconds);
  }
  output.print("  {:>4} {:>8} {:>5} {:>12}  {:<8} {:>12} {:>12}  {}", "step", "messages", "to",
               "bytes", "receiver", "begin_us", "end_us", "from");
  std::size_t lines = 0;
  for (const auto& [key, group] : groups) {
    if (++lines > most_lines) {
      output.print("  ... and {} lines more; see --export text", groups.size() - most_lines);
      return;
    }
    const auto& [step, distance, bytes, folds] = key;
    const std::string senders = format_ranks(group.senders);
    output.print("  {:>4} {:>8} {:>5} {:>12}  {:<8} {:>12.3f} {:>12.3f}  {}", step,
                 group.senders.size(), fmt::format("+{}", distance), bytes,
                 folds ? "reduces" : "keeps", group.begin_seconds * 1e6, group.end_seconds * 1e6,
                 senders.size() > 60 ? senders.substr(0, 57) + "..." : senders);
  }
}

void print_messages(const std::vector<Arrow>& arrows, int ranks, Output& output) {
  output.line("");
  if (ranks <= most_single_ranks && arrows.size() <= most_lines) {
    output.line("messages, by the step in which they arrive if each takes one:");
    return print_message_table(arrows, output);
  }
  output.print(
      "messages, by the step in which they arrive if each takes one; +d: to the rank d "
      "higher, modulo {}:",
      ranks);
  print_grouped_table(arrows, ranks, output);
}

void print_steps(const std::vector<Arrow>& arrows, Output& output) {
  struct Sum {
    std::size_t messages = 0;
    std::size_t bytes = 0;
    std::map<int, std::size_t> by_sender;
  };
  std::map<int, Sum> steps;
  for (const Arrow& arrow : arrows) {
    Sum& sum = steps[arrow.step];
    ++sum.messages;
    sum.bytes += arrow.bytes;
    sum.by_sender[arrow.from] += arrow.bytes;
  }
  output.line("\nbytes per step:");
  output.print("  {:>4} {:>8} {:>14} {:>18}", "step", "messages", "bytes", "most by one rank");
  std::size_t lines = 0;
  for (const auto& [step, sum] : steps) {
    if (++lines > most_lines) return output.line("  ...");
    std::size_t most = 0;
    for (const auto& [rank, bytes] : sum.by_sender) most = std::max(most, bytes);
    output.print("  {:>4} {:>8} {:>14} {:>18}", step, sum.messages, sum.bytes, most);
  }
}

void print_ranks(const std::vector<PlanVolume>& ranks, Output& output) {
  using Key = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>;
  std::map<Key, std::vector<int>, std::greater<>> groups;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const PlanVolume& one = ranks[i];
    groups[{one.bytes_sent, one.bytes_received, one.bytes_reduced, one.messages_sent,
            one.messages_received}]
        .push_back(static_cast<int>(i));
  }
  output.line("\nbytes per rank:");
  output.print("  {:>14} {:>14} {:>14} {:>9} {:>9}  {}", "sent", "received", "reduced", "messages",
               "receives", "ranks");
  std::size_t lines = 0;
  for (const auto& [key, members] : groups) {
    if (++lines > most_lines) return output.line("  ...");
    const auto& [sent, received, reduced, sends, receives] = key;
    output.print("  {:>14} {:>14} {:>14} {:>9} {:>9}  {}", sent, received, reduced, sends, receives,
                 format_ranks(members));
  }
}

// A smaller problem that is divided in the same way: the proof looks at every element.
Problem problem_to_prove(Problem problem) {
  const std::size_t unit =
      static_cast<std::size_t>(problem.ranks <= 64 ? 8 * problem.ranks : problem.ranks);
  if (problem.count > 2 * unit) problem.count = unit + problem.count % unit;
  return problem;
}

bool print_proof(const Subject& subject, Output& output) {
  const Problem problem = problem_to_prove(subject.problem);
  const Plan plan = plan_of(*subject.algorithm, problem);
  std::vector<FoldTree> folds;
  try {
    folds = fold_trees(plan, promise_of(*subject.algorithm, problem));
  } catch (const Error& error) {
    output.print("\nproof: FAILED: {}", error.what());
    return false;
  }
  if (subject.algorithm->collective == Collective::barrier) {
    output.line("\nproof: holds; no rank leaves before it has heard from every other");
  } else {
    output.print("\nproof: holds; {} elements were followed on every rank", problem.count);
  }
  if (folds.empty()) return true;
  output.line("fold order, the same on every rank that holds the result:");
  for (std::size_t i = 0; i < folds.size(); ++i) {
    if (i == most_folds) {
      output.print("  ... and {} more", folds.size() - i);
      break;
    }
    const FoldTree& fold = folds[i];
    output.print("  elements {}..{}: {:.{}}{}", fold.first_element, fold.last_element, fold.text,
                 most_fold_text, fold.text.size() > most_fold_text ? "..." : "");
  }
  return true;
}

// An exact form must be met, a bound must not be exceeded; a part in a million for rounding.
const char* verdict_of(Form form, double paper, double found) {
  const double tolerance = 1e-6 * std::max(paper, found);
  if (form == Form::bound) return found <= paper + tolerance ? "bound" : "EXCEEDED";
  return std::abs(paper - found) <= tolerance ? "exact" : "DIFFERS";
}

// When the last rank ends.
double replayed_seconds(const Plan& plan, const CostModel& model) {
  const std::vector<double> ends = replay(plan, model);
  return ends.empty() ? 0.0 : *std::max_element(ends.begin(), ends.end());
}

bool print_costs(const Subject& subject, const Plan& plan, Output& output) {
  const Algorithm& algorithm = *subject.algorithm;
  const Problem& problem = subject.problem;
  const Form form = algorithm.form(problem);
  const std::vector<PlanVolume> ranks = volumes(plan);
  std::size_t sent = 0, most = 0;
  for (int rank = 0; rank < problem.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    sent = std::max(sent, ranks[index].bytes_sent);
    most = std::max(most, algorithm.bytes_sent(problem, rank));
  }
  const bool has_overheads = subject.model.overhead_seconds() > 0.0;
  const double paper = predicted_seconds(algorithm, problem, subject.model);
  const int steps = algorithm.steps(problem);
  const Messages messages = messages_of(algorithm, problem);
  bool right = true;
  const auto line = [&](const char* what, double on_paper, double in_plan, int digits,
                        std::string_view formula, Form claimed) {
    const std::string_view verdict = verdict_of(claimed, on_paper, in_plan);
    right = right && (verdict == "exact" || verdict == "bound");
    output.print("  {:<10} {:>16.{}f} {:>16.{}f}  {:<8}  {}", what, on_paper, digits, in_plan,
                 digits, verdict, formula);
  };
  output.print("\n  {:<10} {:>16} {:>16}  {:<8}  {}", "", "closed form", "replayed", "", "formula");
  line("steps", steps, depth(plan), 0, algorithm.steps_formula, form);
  if (has_overheads || messages != Messages{steps, steps}) {
    line("sends", messages.sent, replayed_seconds(plan, {.send_overhead_seconds = 1.0}), 0,
         "by ranks that wait for each other, one by one", Form::bound);
    line("receives", messages.received, replayed_seconds(plan, {.receive_overhead_seconds = 1.0}),
         0, "likewise", Form::bound);
  }
  line("bytes", static_cast<double>(most), static_cast<double>(sent), 0, algorithm.bytes_formula,
       form);
  line("time_us", paper * 1e6, replayed_seconds(plan, subject.model) * 1e6, 3,
       algorithm.seconds_formula, has_overheads ? Form::bound : form);
  const LowerBound bound = lower_bound(algorithm.collective, problem, subject.model);
  output.print(
      "  bytes: what one rank sends at most; a bound counts what one port a rank carries,");
  output.print(
      "  the replay has no contention; with one port no algorithm takes less than {:.3f} us",
      bound.seconds() * 1e6);
  return right;
}

}  // namespace

bool explain(const ExplainFlags& flags, Output& output) {
  const Subject subject = understand(flags);
  const Algorithm& algorithm = *subject.algorithm;
  const Problem& problem = subject.problem;
  const Plan plan = plan_of(algorithm, problem);
  const std::string title =
      fmt::format("{} on {} rank{}, {} bytes ({} float32)", algorithm.full_name, problem.ranks,
                  problem.ranks == 1 ? "" : "s", problem.bytes(), problem.count);
  const std::vector<Arrow> arrows = arrows_of(plan, subject.model);
  if (!flags.svg.empty()) write_file(flags.svg, svg_diagram(arrows, problem.ranks, title));
  if (!flags.export_format.empty()) {
    std::string text = exported(subject, plan, flags.export_format);
    if (text.ends_with('\n')) text.pop_back();
    output.line(text);
    return true;
  }
  output.line(title);
  output.print("source: {}; supported: {}", algorithm.source, algorithm.supported);
  output.print(
      "model: a = {:g} us a message, b = {:g} ns a byte, g = {:g} ns a byte reduced; no "
      "contention",
      flags.alpha_microseconds, flags.beta_nanoseconds_per_byte, flags.gamma_nanoseconds_per_byte);
  if (subject.model.overhead_seconds() > 0.0) {
    output.print(
        "overheads: {:g} us a send, {:g} us a receive; both are added to a, and again for what is "
        "sent "
        "or received beyond one a step",
        flags.send_overhead_microseconds, flags.receive_overhead_microseconds);
  }
  const bool costs_right = print_costs(subject, plan, output);
  print_messages(arrows, problem.ranks, output);
  const std::string diagram = text_diagram(arrows, problem.ranks);
  output.line("\nspace and time (>1: sends to 1, <1: receives from it, +1: and reduces):");
  output.line(diagram.empty() ? "  nothing, or too much, to draw; see --svg"
                              : diagram.substr(0, diagram.size() - 1));
  print_steps(arrows, output);
  print_ranks(volumes(plan), output);
  const bool proved = print_proof(subject, output);
  if (!flags.svg.empty()) output.print("\nwrote {}", flags.svg);
  return costs_right && proved;
}

namespace {

void add_tuning(CLI::App& app, ExplainFlags& flags) {
  // A plan has events for every segment: more would take minutes to no purpose.
  const CLI::Range tunings(0, 100'000);
  app.add_option("--segments", flags.segments, "Pieces of a pipelined algorithm; 0: its default")
      ->check(tunings);
  app.add_option("--radix", flags.radix, "Fan-out of a k-nomial algorithm; 0: its default")
      ->check(tunings);
  app.add_option("--group", flags.group, "Ranks of an inner group; 0: the default")->check(tunings);
  app.add_option("--inner", flags.inner, "What a hierarchical algorithm runs within the groups");
  app.add_option("--outer", flags.outer, "What it runs between them");
}

}  // namespace

Command add_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  app.add_option("COLLECTIVE", flags->collective, "As in tutti catalogue")->required();
  app.add_option("ALGO", flags->algorithm,
                 "An algorithm of it; an unknown name lists the valid ones")
      ->required();
  app.add_option("--ranks", flags->ranks, "Ranks, 1 to 512")->required();
  CLI::Option* count =
      app.add_option("--count", flags->count, "Elements (float32) of the buffer")
          ->check(CLI::Range(std::size_t{1}, most_bytes / bytes_of(DType::float32)));
  app.add_option("--bytes", flags->bytes,
                 "Size of the buffer instead (binary K, M, G); default: about 1M, equal parts")
      ->excludes(count);
  app.add_option("-r,--root", flags->root, "Root of a rooted collective")->capture_default_str();
  add_tuning(app, *flags);
  app.add_option("--alpha", flags->alpha_microseconds, "Microseconds a message")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--beta", flags->beta_nanoseconds_per_byte, "Nanoseconds a byte")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--gamma", flags->gamma_nanoseconds_per_byte, "Nanoseconds a byte reduced")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--send-overhead", flags->send_overhead_microseconds,
                 "Microseconds that a send keeps its rank busy")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--receive-overhead", flags->receive_overhead_microseconds,
                 "Microseconds that a receive does")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
  app.add_option("--svg", flags->svg, "Also draw the plan into this file, for up to 32 ranks");
  app.add_option("--export", flags->export_format,
                 "Print the plan itself instead: goal, msccl, json or text");
  app.footer(std::string(R"(
Prints what the algorithm's recorded plan does:
  costs     the closed forms beside what the plan does; exact or bound is what the form claims
  messages  who sends what to whom, in which step, and when in the alpha-beta-gamma model
  diagram   the same by step and rank
  bytes     per step and per rank
  proof     whether every rank ends with what the collective promises, followed element by element,
            and the order in which contributions are combined
A step is one message on a chain of messages that wait for each other. Where a rank sends or
receives several in one step, their latencies pass together, their overheads one after the other:
sends and receives count them. With overheads the time's closed form is a bound.

Exports:
  goal      LogGOPSim and ATLAHS; tutti replay reads it. Reductions become calc where --gamma is set
  msccl     XML of MSCCL and RCCL: allreduce, broadcast, allgather and reduce_scatter; tutti replay
            reads it and proves it again
  json      complete
  text      one event a line

Examples:
  tutti explain allreduce ring --ranks 4
  tutti explain broadcast binomial --ranks 16 --root 3 --svg broadcast.svg
  tutti explain allreduce double_tree --ranks 8 --bytes 64M --segments 8 --gamma 0.1
  tutti explain allreduce ring --ranks 8 --export goal > ring.goal)") +
             "\n" + exit_codes);
  return [flags](Output& output) { return explain(*flags, output); };
}

}  // namespace tutti
