#include <array>

#include "collectives/butterfly.hpp"
#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/participants.hpp"

namespace tutti {
namespace {

int rounds_of(const Problem& problem) {
  return floor_log2(problem.ranks);
}

Participants participants_of(const Problem& problem,
                             const Butterfly& butterfly = recursive_halving) {
  return {problem.ranks, butterfly.participants(problem.ranks)};
}

bool has_surplus(const Problem& problem) {
  return participants_of(problem).surplus > 0;
}

// One part a participant, where all work on equal parts, or on those of the ranks.
Parts equal_pieces(const Problem& problem, const Participants& all) {
  return {ghost_of(problem), all.count};
}

Parts rank_pieces(const Problem& problem) {
  return participants_of(problem).pieces(Parts(ghost_of(problem), problem.ranks));
}

template <int passes>
int butterfly_steps(const Problem& problem) {
  return steps_unless_empty(problem, passes * rounds_of(problem) + (has_surplus(problem) ? 2 : 0));
}

// A pass of messages of one, two, four, ... parts. Those of the first parts are the largest, and
// the participant that owns the first takes part in all of them.
double pass_seconds(const Parts& pieces, bool folds, const CostModel& model) {
  double seconds = 0.0;
  for (int length = 1; length < pieces.size(); length *= 2) {
    seconds += chain_seconds(1, folds ? 1 : 0, pieces.range(0, length).bytes(), model);
  }
  return seconds;
}

// What the owner of part `place` sends in an allgather: all that it has, in every step.
std::size_t allgather_pass_bytes(const Parts& pieces, int place) {
  std::size_t bytes = 0;
  for (int length = 1; length < pieces.size(); length *= 2) {
    bytes += pieces.range(place & -length, length).bytes();
  }
  return bytes;
}

double reduce_scatter_seconds(const Problem& problem, const CostModel& model) {
  const double pass = pass_seconds(rank_pieces(problem), true, model);
  if (!has_surplus(problem)) return pass;
  return chain_seconds(1, 1, problem.bytes(), model) + pass +
         chain_seconds(1, 0, largest_part_bytes(problem, Partition::balanced), model);
}

std::size_t reduce_scatter_bytes(const Problem& problem, int rank) {
  const Participants all = participants_of(problem);
  if (all.is_surplus(rank)) return problem.bytes();
  const std::size_t returned =
      all.is_paired(rank) ? part_bytes(problem, rank - 1, Partition::balanced) : 0;
  return problem.bytes() - rank_pieces(problem)[all.participant_of(rank)].bytes() + returned;
}

double allgather_seconds(const Problem& problem, const CostModel& model) {
  const double pass = pass_seconds(rank_pieces(problem), false, model);
  if (!has_surplus(problem)) return pass;
  return chain_seconds(1, 0, largest_part_bytes(problem, Partition::balanced), model) + pass +
         chain_seconds(1, 0, problem.bytes(), model);
}

std::size_t allgather_bytes(const Problem& problem, int rank) {
  const Participants all = participants_of(problem);
  if (all.is_surplus(rank)) return part_bytes(problem, rank, Partition::balanced);
  return allgather_pass_bytes(rank_pieces(problem), all.participant_of(rank)) +
         (all.is_paired(rank) ? problem.bytes() : 0);
}

double allreduce_seconds(const Problem& problem, const CostModel& model) {
  const Parts pieces = equal_pieces(problem, participants_of(problem));
  return pass_seconds(pieces, true, model) + pass_seconds(pieces, false, model) +
         (has_surplus(problem) ? chain_seconds(2, 1, problem.bytes(), model) : 0.0);
}

template <const Butterfly& butterfly>
std::size_t allreduce_bytes(const Problem& problem, int rank) {
  const Participants all = participants_of(problem, butterfly);
  if (all.is_surplus(rank)) return problem.bytes();
  const Parts pieces = equal_pieces(problem, all);
  const int participant = all.participant_of(rank);
  std::size_t gathered = static_cast<std::size_t>(all.count - 1) * pieces.largest_bytes();
  int place = participant;
  if (butterfly.place != nullptr) {
    place = butterfly.place(participant, rounds_of(problem));
    gathered = allgather_pass_bytes(pieces, place);
  }
  return problem.bytes() - pieces[place].bytes() + gathered +
         (all.is_paired(rank) ? problem.bytes() : 0);
}

int swing_steps(const Problem& problem) {
  const Participants all = participants_of(problem, swing);
  return steps_unless_empty(problem, 2 * ceil_log2(all.count) + (all.surplus > 0 ? 2 : 0));
}

Messages swing_messages(const Problem& problem) {
  const Participants all = participants_of(problem, swing);
  const int messages =
      steps_unless_empty(problem, 2 * swing.messages(all.count) + (all.surplus > 0 ? 2 : 0));
  return {messages, messages};
}

// All participants exchange as many parts in a step, in both passes all but one.
double swing_seconds(const Problem& problem, const CostModel& model) {
  const Participants all = participants_of(problem, swing);
  const std::size_t moved_bytes =
      static_cast<std::size_t>(all.count - 1) * equal_pieces(problem, all).largest_bytes();
  return messages_seconds(2 * ceil_log2(all.count), 2 * moved_bytes, model) +
         reduction_seconds(moved_bytes, model) +
         (all.surplus > 0 ? chain_seconds(2, 1, problem.bytes(), model) : 0.0);
}

constexpr std::string_view allreduce_steps_formula = "2 log2 N, or 2 floor(log2 N) + 2";
constexpr std::string_view allreduce_bytes_formula = "2(P-1)/P n, P = 2^k <= N, or n more";
constexpr std::string_view allreduce_seconds_formula =
    "2 log2 P a + 2(P-1)/P n b + (P-1)/P n g, or 2(a + n b) + n g more";

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "rabenseifner",
        .full_name = "allreduce_rabenseifner",
        .execute = [](Channel& c,
                      const Invocation& i) { allreduce_rabenseifner(c, i.data.whole(), i.op); },
        .steps = butterfly_steps<2>,
        .bytes_sent = allreduce_bytes<distance_doubling>,
        .seconds = allreduce_seconds,
        .steps_formula = allreduce_steps_formula,
        .bytes_formula = allreduce_bytes_formula,
        .seconds_formula = allreduce_seconds_formula,
        .source = "Rabenseifner, ICCS 2004",
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "swing",
        .full_name = "allreduce_swing",
        .execute = [](Channel& c,
                      const Invocation& i) { allreduce_swing(c, i.data.whole(), i.op); },
        .steps = swing_steps,
        .messages = swing_messages,
        .bytes_sent = allreduce_bytes<swing>,
        .seconds = swing_seconds,
        .form = always_bound,
        .steps_formula = "2 ceil(log2 N), 2 more for odd N",
        .bytes_formula = "2(P-1)/P n, P = N or N-1, even; n more for odd N",
        .seconds_formula =
            "2 ceil(log2 P) a + 2(P-1)/P n b + (P-1)/P n g, or 2(a + n b) + n g more",
        .source = "De Sensi et al., NSDI 2024",
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "bine",
        .full_name = "allreduce_bine",
        .execute = [](Channel& c, const Invocation& i) { allreduce_bine(c, i.data.whole(), i.op); },
        .steps = butterfly_steps<2>,
        .bytes_sent = allreduce_bytes<bine>,
        .seconds = allreduce_seconds,
        .steps_formula = allreduce_steps_formula,
        .bytes_formula = allreduce_bytes_formula,
        .seconds_formula = allreduce_seconds_formula,
        .source = "De Sensi et al., SC 2025",
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "recursive_doubling",
        .full_name = "allgather_recursive_doubling",
        .execute = [](Channel& c, const Invocation& i) { allgather_recursive_doubling(c, i.data); },
        .steps = butterfly_steps<1>,
        .bytes_sent = allgather_bytes,
        .seconds = allgather_seconds,
        .steps_formula = "log2 N, or floor(log2 N) + 2",
        .bytes_formula = "(N-1)/N n, or n more",
        .seconds_formula = "log2 N a + (N-1)/N n b, or 2a + (n/N + n) b more",
        .source = thakur,
        .needs_adjacent_parts = true,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "recursive_halving",
        .full_name = "reduce_scatter_recursive_halving",
        .execute = [](Channel& c,
                      const Invocation& i) { reduce_scatter_recursive_halving(c, i.data, i.op); },
        .steps = butterfly_steps<1>,
        .bytes_sent = reduce_scatter_bytes,
        .seconds = reduce_scatter_seconds,
        .steps_formula = "log2 N, or floor(log2 N) + 2",
        .bytes_formula = "(N-1)/N n, or n",
        .seconds_formula = "log2 N a + (N-1)/N n (b + g), or 2a + n (b + g) + n/N b more",
        .source = thakur,
        .needs_adjacent_parts = true,
    },
};

}  // namespace

std::span<const Algorithm> butterfly_entries() {
  return entries;
}

}  // namespace tutti
