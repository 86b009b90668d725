#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/participants.hpp"
#include "collectives/recursive.hpp"

namespace tutti {
namespace {

int recursive_doubling_steps(const Problem& problem) {
  const int rounds = floor_log2(problem.ranks);
  return steps_unless_empty(problem, rounds + ((1 << rounds) < problem.ranks ? 2 : 0));
}

std::size_t recursive_doubling_bytes(const Problem& problem, int rank) {
  const int rounds = floor_log2(problem.ranks);
  const int surplus = problem.ranks - (1 << rounds);
  const bool paired = rank < 2 * surplus;
  const int messages = paired && rank % 2 == 0 ? 1 : rounds + (paired ? 1 : 0);
  return static_cast<std::size_t>(messages) * problem.bytes();
}

double recursive_doubling_seconds(const Problem& problem, const CostModel& model) {
  const int rounds = floor_log2(problem.ranks);
  const bool has_surplus = (1 << rounds) < problem.ranks;
  return chain_seconds(rounds + (has_surplus ? 2 : 0), rounds + (has_surplus ? 1 : 0),
                       problem.bytes(), model);
}

std::vector<int> radices_of(const Problem& problem) {
  return exchange_radices(problem.ranks, problem.tuning.radix);
}

Participants multiplying_participants(const Problem& problem) {
  const std::vector<int> radices = radices_of(problem);
  return {problem.ranks, std::accumulate(radices.begin(), radices.end(), 1, std::multiplies<>())};
}

// Messages that a participant sends to the others of its groups.
int exchanged_messages(const Problem& problem) {
  const std::vector<int> radices = radices_of(problem);
  return std::accumulate(radices.begin(), radices.end(), -static_cast<int>(radices.size()));
}

int multiplying_steps(const Problem& problem) {
  const bool has_surplus = multiplying_participants(problem).surplus > 0;
  return steps_unless_empty(problem,
                            static_cast<int>(radices_of(problem).size()) + (has_surplus ? 2 : 0));
}

Messages multiplying_messages(const Problem& problem) {
  const bool has_surplus = multiplying_participants(problem).surplus > 0;
  const int messages =
      steps_unless_empty(problem, exchanged_messages(problem) + (has_surplus ? 2 : 0));
  return {messages, messages};
}

std::size_t multiplying_bytes(const Problem& problem, int rank) {
  const Participants all = multiplying_participants(problem);
  const int messages =
      all.is_surplus(rank) ? 1 : exchanged_messages(problem) + (all.is_paired(rank) ? 1 : 0);
  return static_cast<std::size_t>(messages) * problem.bytes();
}

double multiplying_seconds(const Problem& problem, const CostModel& model) {
  if (problem.count == 0) return 0.0;
  const std::size_t exchanged =
      static_cast<std::size_t>(exchanged_messages(problem)) * problem.bytes();
  const bool has_surplus = multiplying_participants(problem).surplus > 0;
  return messages_seconds(static_cast<int>(radices_of(problem).size()), exchanged, model) +
         reduction_seconds(exchanged, model) +
         (has_surplus ? chain_seconds(2, 1, problem.bytes(), model) : 0.0);
}

// What a rank sends at once shares its port, unless it is but one message.
Form multiplying_form(const Problem& problem) {
  const std::vector<int> radices = radices_of(problem);
  return std::all_of(radices.begin(), radices.end(), [](int radix) { return radix == 2; })
             ? Form::exact
             : Form::bound;
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "recursive_doubling",
        .full_name = "allreduce_recursive_doubling",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_recursive_doubling(c, i.data.whole(), i.op);
            },
        .steps = recursive_doubling_steps,
        .bytes_sent = recursive_doubling_bytes,
        .seconds = recursive_doubling_seconds,
        .steps_formula = "log2 N, or floor(log2 N) + 2",
        .bytes_formula = "log2 N n, or (floor(log2 N) + 1) n",
        .seconds_formula = "log2 N (a + n b + n g), or 2(a + n b) + n g more",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "recursive_multiplying",
        .full_name = "allreduce_recursive_multiplying",
        .execute =
            [](Channel& c, const Invocation& i) {
              allreduce_recursive_multiplying(c, i.data.whole(), i.op, i.tuning.radix);
            },
        .steps = multiplying_steps,
        .messages = multiplying_messages,
        .bytes_sent = multiplying_bytes,
        .seconds = multiplying_seconds,
        .form = multiplying_form,
        .supports = [](const Problem& p) { return p.tuning.radix == 0 || p.tuning.radix >= 2; },
        .steps_formula = "R = log_k N, or R + 2",
        .bytes_formula = "(k-1) R n, or ((k-1) R + 1) n",
        .seconds_formula = "R (a + (k-1) n (b + g)), or 2(a + n b) + n g more",
        .source = "Ruefenacht, Bull, Booth, EuroMPI 2016; MPICH recexch",
        .supported = "any N, radix k >= 2",
        .uses_radix = true,
    },
};

}  // namespace

std::span<const Algorithm> recursive_entries() {
  return entries;
}

}  // namespace tutti
