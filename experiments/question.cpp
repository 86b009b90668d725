#include "experiments/question.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "experiments/output.hpp"

namespace tutti {
namespace {

// What it runs on.
std::string supported_by(const Algorithm& algorithm, bool with_counts) {
  const bool is_limit = with_counts && algorithm.parts == PartSizes::equal;
  return fmt::format("{}{}", algorithm.supported, is_limit ? ", equal parts" : "");
}

bool supports(const Question& question, const Algorithm& algorithm) {
  if (!question.part_counts.empty()) {
    return supports_counts(algorithm, question.part_counts, question.tuning);
  }
  return std::all_of(question.counts.begin(), question.counts.end(), [&](std::size_t count) {
    return algorithm.supports(
        Problem{question.ranks, count, bytes_of(question.dtype), question.root, question.tuning});
  });
}

// Takes "auto" out of a list of names; returns whether it was there.
bool take_auto(std::string& names) {
  std::string others;
  bool found = false;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    begin = end + 1;
    if (name == "auto") {
      found = true;
    } else {
      others += (others.empty() ? "" : ",") + name;
    }
  }
  if (found) names = others;
  return found;
}

void select_algorithms(Question& question, std::string names) {
  question.automatic = take_auto(names);
  if (question.automatic && names.empty()) return;
  for (const Algorithm* algorithm : parse_algorithms(question.collective, names)) {
    const bool is_supported = supports(question, *algorithm);
    (is_supported ? question.algorithms : question.left_out).push_back(algorithm);
    if (is_supported || names == "all") continue;
    const std::string tuning = describe(question.tuning);
    const bool has_counts = !question.part_counts.empty();
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: {}{}{} are not supported, expected {}", algorithm->full_name,
                    counted(question.ranks, "rank"), has_counts ? " with counts" : "",
                    tuning.empty() ? "" : " with " + tuning, supported_by(*algorithm, has_counts)));
  }
  if (!question.algorithms.empty()) return;
  throw Error(ErrorKind::usage,
              describe_left_out(question.left_out, question.ranks, !question.part_counts.empty()));
}

std::string text_of(int value) {
  return std::to_string(value);
}

std::string text_of(const Algorithm* algorithm) {
  return std::string(algorithm->name);
}

constexpr bool is_half(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

}  // namespace

std::vector<Job> Question::jobs(std::size_t count) const {
  std::vector<Job> jobs;
  for (const Algorithm* algorithm : algorithms) {
    jobs.push_back({.algorithm = algorithm,
                    .count = count,
                    .dtype = dtype,
                    .op = op,
                    .root = root,
                    .accumulate = accumulate,
                    .tuning = tuning,
                    .part_counts = part_counts});
  }
  return jobs;
}

std::size_t Question::largest_bytes() const {
  return *std::max_element(counts.begin(), counts.end()) * bytes_of(dtype);
}

std::string Question::describe() const {
  std::string text(name_of(collective));
  if (collective != Collective::barrier) text += fmt::format(" of {}", name_of(dtype));
  if (reduces(collective)) text += fmt::format(", {}", name_of(op));
  if (is_rooted(collective)) text += fmt::format(", root {}", root);
  if (reduces(collective) && is_half(dtype)) {
    const bool is_widened = accumulate == Accumulate::float32;
    text += is_widened ? " accumulated in float32" : " accumulated natively";
  }
  if (const std::string tuned = tutti::describe(tuning); !tuned.empty()) text += ", " + tuned;
  text += fmt::format(", {}", counted(ranks, "rank"));
  if (const std::string parts = describe_parts(); !parts.empty()) text += ", " + parts;
  return text;
}

std::string Question::describe_parts() const {
  std::vector<std::string> parts;
  if (!part_counts.empty()) parts.push_back(fmt::format("counts {}", fmt::join(part_counts, " ")));
  if (!members.empty()) parts.push_back(fmt::format("members {}", fmt::join(members, " ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe(const Tuning& tuning) {
  std::vector<std::string> parts;
  if (tuning.segments != 0) parts.push_back(fmt::format("segments {}", tuning.segments));
  if (tuning.radix != 0) parts.push_back(fmt::format("radix {}", tuning.radix));
  if (tuning.group != 0) parts.push_back(fmt::format("group {}", tuning.group));
  if (tuning.inner != nullptr) parts.push_back(fmt::format("inner {}", tuning.inner->name));
  if (tuning.outer != nullptr) parts.push_back(fmt::format("outer {}", tuning.outer->name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_left_out(const std::vector<const Algorithm*>& left_out, int ranks,
                              bool with_counts) {
  if (left_out.empty()) return "";
  std::vector<std::string> names;
  for (const Algorithm* algorithm : left_out) {
    names.push_back(
        fmt::format("{} ({})", algorithm->full_name, supported_by(*algorithm, with_counts)));
  }
  return fmt::format("left out, not supported by {}{}: {}", counted(ranks, "rank"),
                     with_counts ? " with counts" : "", fmt::join(names, ", "));
}

namespace {

// Only reductions: replace is for receives, which users do not post.
Op parse_reduction(const std::string& name) {
  try {
    if (const Op op = parse_op(name); op != Op::replace) return op;
  } catch (const Error&) {
  }
  throw Error(
      ErrorKind::usage,
      fmt::format("unknown op '{}', expected one of sum, product, min, max, average", name));
}

Accumulate parse_accumulate(const std::string& name, Collective collective, DType dtype) {
  if (name == "native") return Accumulate::native;
  if (name != "float32") {
    throw Error(ErrorKind::usage,
                fmt::format("unknown accumulation '{}', expected one of native, float32", name));
  }
  if (reduces(collective) && is_half(dtype)) return Accumulate::float32;
  warn(
      fmt::format("--accumulate float32 has no effect on {} of {}, only on reductions of float16 "
                  "and bfloat16",
                  name_of(collective), name_of(dtype)));
  return Accumulate::native;
}

// The counts: of the sizes, or of the parts.
void divide(Question& question, const QuestionFlags& flags) {
  question.part_counts = flags.part_counts;
  if (!flags.part_counts.empty()) {
    if (!has_parts(question.collective)) {
      throw Error(ErrorKind::usage,
                  fmt::format("--counts: {} does not divide its buffer, expected allgather, "
                              "reduce_scatter, gather, scatter or alltoall",
                              name_of(question.collective)));
    }
    check_counts(flags.part_counts, question.ranks);
    question.counts = {
        std::accumulate(flags.part_counts.begin(), flags.part_counts.end(), std::size_t{0})};
    return;
  }
  const bool is_alltoall = question.collective == Collective::alltoall;
  if (is_alltoall) question.unit = static_cast<std::size_t>(question.ranks);
  for (const std::size_t bytes : sweep_sizes(flags.sweep)) {
    question.counts.push_back(bytes / bytes_of(question.dtype) / question.unit * question.unit);
  }
  if (question.collective == Collective::barrier) question.counts = {0};
}

// Closed forms, by which algorithms are chosen, are of equal parts.
void check_named(const Question& question) {
  if (!question.automatic || question.part_counts.empty()) return;
  throw Error(ErrorKind::usage,
              "--counts: auto chooses among equal parts only; name algorithms with --algo");
}

}  // namespace

bool supports_counts(const Algorithm& algorithm, const std::vector<std::size_t>& part_counts,
                     const Tuning& tuning) {
  // As of the next count that divides, which is what run() asks for.
  const std::size_t ranks = part_counts.size();
  const std::size_t sum = std::accumulate(part_counts.begin(), part_counts.end(), std::size_t{0});
  return has_parts(algorithm.collective) && algorithm.parts == PartSizes::any &&
         algorithm.supports({.ranks = static_cast<int>(ranks),
                             .count = (sum + ranks - 1) / ranks * ranks,
                             .tuning = tuning});
}

void check_counts(const std::vector<std::size_t>& part_counts, int ranks) {
  if (part_counts.empty() || part_counts.size() == static_cast<std::size_t>(ranks)) return;
  throw Error(ErrorKind::usage, fmt::format("--counts: {} are given, expected one for each of {}",
                                            part_counts.size(), counted(ranks, "rank")));
}

int check_members(const std::vector<int>& members, int ranks) {
  std::set<int> seen;
  for (const int member : members) {
    if (member < 0 || member >= ranks) {
      throw Error(ErrorKind::usage,
                  fmt::format("--members: {} is not a rank, expected 0 to {}", member, ranks - 1));
    }
    if (seen.insert(member).second) continue;
    throw Error(ErrorKind::usage,
                fmt::format("--members: {} comes twice, expected different ranks", member));
  }
  return members.empty() ? ranks : static_cast<int>(members.size());
}

Question ask(const QuestionFlags& flags, int ranks) {
  Question question;
  question.collective = parse_collective(flags.collective);
  question.members = flags.members;
  question.ranks = check_members(flags.members, ranks);
  question.dtype = parse_dtype(flags.dtype);
  question.op = parse_reduction(flags.op);
  question.root = flags.root;
  check_supported(question.collective, question.dtype, question.op, question.root, question.ranks);
  if (flags.root != 0 && !is_rooted(question.collective)) {
    warn(fmt::format("--root {} has no effect: {} has no root", flags.root,
                     name_of(question.collective)));
  }
  question.accumulate = parse_accumulate(flags.accumulate, question.collective, question.dtype);
  question.tuning = with_levels(flags.tuning, question.collective, flags.levels);
  divide(question, flags);
  select_algorithms(question, flags.algorithms);
  check_named(question);
  check_tuning_used(question.collective, question.algorithms, question.automatic, question.tuning);
  return question;
}

bool names_auto(std::string names) {
  return take_auto(names);
}

Tuning with_levels(Tuning tuning, Collective collective, const LevelNames& names) {
  if (names.empty()) return tuning;
  const std::vector<const Algorithm*> all = algorithms_of(collective);
  if (std::none_of(all.begin(), all.end(), std::mem_fn(&Algorithm::has_levels))) {
    throw Error(ErrorKind::usage, fmt::format("{}: no algorithm of {} has levels",
                                              names.inner.empty() ? "--outer " + names.outer
                                                                  : "--inner " + names.inner,
                                              name_of(collective)));
  }
  const auto find = [](const char* flag, Collective of, const std::string& name) {
    try {
      return name.empty() ? nullptr : &find_algorithm(of, name);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", flag, error.what()));
    }
  };
  tuning.inner = find("--inner", inner_collective(collective), names.inner);
  tuning.outer = find("--outer", collective, names.outer);
  return tuning;
}

void check_tuning_used(Collective collective, const std::vector<const Algorithm*>& algorithms,
                       bool automatic, const Tuning& tuning) {
  const auto check_used = [&](const char* flag, auto value, auto uses) {
    if (!value) return;
    std::vector<std::string_view> users;
    for (const Algorithm* algorithm : algorithms_of(collective)) {
      if (std::invoke(uses, algorithm)) users.push_back(algorithm->name);
    }
    if (automatic && !users.empty()) return;
    for (const Algorithm* algorithm : algorithms) {
      if (std::invoke(uses, algorithm)) return;
    }
    throw Error(
        ErrorKind::usage,
        fmt::format("{} {}: no chosen algorithm of {} uses it; {}", flag, text_of(value),
                    name_of(collective),
                    users.empty() ? "none does" : fmt::format("{} would", fmt::join(users, ", "))));
  };
  check_used("--segments", tuning.segments, &Algorithm::uses_segments);
  check_used("--radix", tuning.radix, &Algorithm::uses_radix);
  check_used("--group", tuning.group, &Algorithm::uses_group);
  check_used("--inner", tuning.inner, &Algorithm::has_levels);
  check_used("--outer", tuning.outer, &Algorithm::has_levels);
}

std::string describe(Accumulate accumulate) {
  return accumulate == Accumulate::float32 ? "float32 accumulation" : "";
}

std::string redop_name(Collective collective, Op op) {
  return reduces(collective) ? std::string(name_of(op)) : "none";
}

void check_ranks(int ranks, int most) {
  if (ranks >= 1 && ranks <= most) return;
  throw Error(ErrorKind::usage, fmt::format("--ranks {}: expected 1 to {}", ranks, most));
}

}  // namespace tutti
