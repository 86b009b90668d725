#include "experiments/question.hpp"

#include <algorithm>

#include "experiments/output.hpp"

namespace tutti {
namespace {

constexpr bool is_half(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}

}  // namespace

std::vector<Job> Question::jobs(std::size_t count) const {
  std::vector<Job> jobs;
  for (const Algorithm* algorithm : algorithms) {
    jobs.push_back({algorithm, count, dtype, op, root, accumulate});
  }
  return jobs;
}

std::size_t Question::largest_bytes() const {
  return *std::max_element(counts.begin(), counts.end()) * bytes_of(dtype);
}

std::string Question::describe() const {
  const std::string detail = reduces(collective)    ? fmt::format(", {}", name_of(op))
                             : has_root(collective) ? fmt::format(", root {}", root)
                                                    : "";
  const bool is_widened = accumulate == Accumulate::float32;
  const char* const sums = !reduces(collective) || !is_half(dtype) ? ""
                           : is_widened                            ? " accumulated in float32"
                                                                   : " accumulated natively";
  return fmt::format("{} of {}{}{}, {}", name_of(collective), name_of(dtype), detail, sums,
                     counted(ranks, "rank"));
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
  question.algorithms = parse_algorithms(question.collective, flags.algorithms);
  question.ranks = ranks;
  question.dtype = parse_dtype(flags.dtype);
  question.op = parse_reduction(flags.op);
  question.root = flags.root;
  check_supported(question.collective, question.dtype, question.op, question.root, ranks);
  if (flags.root != 0 && !has_root(question.collective)) {
    warn(fmt::format("--root {} has no effect: {} has no root", flags.root,
                     name_of(question.collective)));
  }
  question.accumulate = parse_accumulate(flags.accumulate, question.collective, question.dtype);
  for (const std::size_t bytes : sweep_sizes(flags.sweep)) {
    question.counts.push_back(bytes / bytes_of(question.dtype));
  }
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
