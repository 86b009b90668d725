#include "experiments/question.hpp"

#include <algorithm>

#include "collectives/run.hpp"

namespace tutti {

std::vector<Job> Question::jobs(std::size_t count) const {
  std::vector<Job> jobs;
  for (const Algorithm* algorithm : algorithms) jobs.push_back({algorithm, count, dtype, op, root});
  return jobs;
}

std::size_t Question::largest_bytes() const {
  return *std::max_element(counts.begin(), counts.end()) * bytes_of(dtype);
}

std::string Question::describe() const {
  const std::string detail = reduces(collective)    ? fmt::format(", {}", name_of(op))
                             : has_root(collective) ? fmt::format(", root {}", root)
                                                    : "";
  return fmt::format("{} of {}{}, {} rank{}", name_of(collective), name_of(dtype), detail, ranks,
                     ranks == 1 ? "" : "s");
}

Question ask(const QuestionFlags& flags, int ranks) {
  Question question;
  question.collective = parse_collective(flags.collective);
  question.algorithms = parse_algorithms(question.collective, flags.algorithms);
  question.ranks = ranks;
  question.dtype = parse_dtype(flags.dtype);
  question.op = parse_op(flags.op);
  question.root = flags.root;
  check_supported(question.collective, question.dtype, question.op, question.root, ranks);
  for (const std::size_t bytes : sweep_sizes(flags.sweep)) {
    question.counts.push_back(bytes / bytes_of(question.dtype));
  }
  return question;
}

std::string redop_name(Collective collective, Op op) {
  return reduces(collective) ? std::string(name_of(op)) : "none";
}

void check_ranks(int ranks, int most) {
  if (ranks >= 1 && ranks <= most) return;
  throw Error(ErrorKind::usage, fmt::format("--ranks {}: expected 1 to {}", ranks, most));
}

}  // namespace tutti
