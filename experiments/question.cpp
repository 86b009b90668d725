#include "experiments/question.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "experiments/output.hpp"

namespace tutti {
namespace {

bool supports(const Question& question, const Algorithm& algorithm) {
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
    throw Error(ErrorKind::usage,
                fmt::format("{}: {}{} are not supported, expected {}", algorithm->full_name,
                            counted(question.ranks, "rank"),
                            tuning.empty() ? "" : " with " + tuning, algorithm->supported));
  }
  if (!question.algorithms.empty()) return;
  throw Error(ErrorKind::usage, describe_left_out(question.left_out, question.ranks));
}

// A flag that changes nothing is a mistake.
void check_tuning(const Question& question) {
  const auto check_used = [&](const char* flag, int value, bool Algorithm::*uses) {
    if (value == 0) return;
    std::vector<std::string_view> users;
    for (const Algorithm* algorithm : algorithms_of(question.collective)) {
      if (algorithm->*uses) users.push_back(algorithm->name);
    }
    if (question.automatic && !users.empty()) return;
    for (const Algorithm* algorithm : question.algorithms) {
      if (algorithm->*uses) return;
    }
    throw Error(
        ErrorKind::usage,
        fmt::format("{} {}: no chosen algorithm of {} uses it; {}", flag, value,
                    name_of(question.collective),
                    users.empty() ? "none does" : fmt::format("{} would", fmt::join(users, ", "))));
  };
  check_used("--segments", question.tuning.segments, &Algorithm::uses_segments);
  check_used("--radix", question.tuning.radix, &Algorithm::uses_radix);
  check_used("--group", question.tuning.group, &Algorithm::uses_group);
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
                    .tuning = tuning});
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
  return fmt::format("{}, {}", text, counted(ranks, "rank"));
}

std::string describe(const Tuning& tuning) {
  std::vector<std::string> parts;
  if (tuning.segments != 0) parts.push_back(fmt::format("segments {}", tuning.segments));
  if (tuning.radix != 0) parts.push_back(fmt::format("radix {}", tuning.radix));
  if (tuning.group != 0) parts.push_back(fmt::format("group {}", tuning.group));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string describe_left_out(const std::vector<const Algorithm*>& left_out, int ranks) {
  if (left_out.empty()) return "";
  std::vector<std::string> names;
  for (const Algorithm* algorithm : left_out) {
    names.push_back(fmt::format("{} ({})", algorithm->full_name, algorithm->supported));
  }
  return fmt::format("left out, not supported by {}: {}", counted(ranks, "rank"),
                     fmt::join(names, ", "));
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

}  // namespace

Question ask(const QuestionFlags& flags, int ranks) {
  Question question;
  question.collective = parse_collective(flags.collective);
  question.ranks = ranks;
  question.dtype = parse_dtype(flags.dtype);
  question.op = parse_reduction(flags.op);
  question.root = flags.root;
  check_supported(question.collective, question.dtype, question.op, question.root, ranks);
  if (flags.root != 0 && !is_rooted(question.collective)) {
    warn(fmt::format("--root {} has no effect: {} has no root", flags.root,
                     name_of(question.collective)));
  }
  question.accumulate = parse_accumulate(flags.accumulate, question.collective, question.dtype);
  question.tuning = flags.tuning;
  if (question.collective == Collective::alltoall) question.unit = static_cast<std::size_t>(ranks);
  for (const std::size_t bytes : sweep_sizes(flags.sweep)) {
    question.counts.push_back(bytes / bytes_of(question.dtype) / question.unit * question.unit);
  }
  if (question.collective == Collective::barrier) question.counts = {0};
  select_algorithms(question, flags.algorithms);
  check_tuning(question);
  return question;
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
