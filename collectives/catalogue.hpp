// The catalogue: every algorithm by name, with what it costs on paper.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/closed_form.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// The buffer `data` that every algorithm works on, in place, has the same count on all ranks, and
/// is divided into one part a rank, equal ones unless the caller gives counts (the v-forms):
///
/// * allreduce: in, the rank's contribution; out, the reduction of all, on every rank.
/// * broadcast: in, the root's content; out, the same on every rank.
/// * allgather: in, part `rank`; out, all parts on every rank.
/// * reduce_scatter: in, the rank's contribution; out, part `rank` holds the reduction of all
/// ranks'
///   part `rank`; the other parts are unspecified.
/// * reduce: in, the rank's contribution; out, the reduction at the root, unspecified elsewhere.
/// * gather: in, part `rank`; out, all parts at the root, unspecified elsewhere but for part
/// `rank`.
/// * scatter: in, all parts at the root; out, part `rank`; the other parts are unspecified.
/// * alltoall: in, part j of `source` is for rank j; out, part i of `data` comes from rank i.
/// * barrier: no data; no rank leaves before all have entered.
enum class Collective : std::uint8_t {
  allreduce,
  broadcast,
  allgather,
  reduce_scatter,
  reduce,
  gather,
  scatter,
  alltoall,
  barrier,
};

std::span<const Collective> all_collectives();
std::string_view name_of(Collective collective);

/// Throws Error(usage) that lists the valid names.
Collective parse_collective(std::string_view name);

/// True where the collective combines contributions, so that an Op matters.
constexpr bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

/// True where one rank, the root, is unlike the others.
constexpr bool is_rooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

/// What one rank hands to an algorithm.
struct Invocation {
  Parts data;  ///< One part a rank; algorithms that need no parts use data.whole().
  Parts
      source;  ///< For alltoall, the parts to send; `data` otherwise. Never overlaps `data` partly.
  Op op = Op::sum;
  int root = 0;
  Tuning tuning = {};
};

/// How a closed form relates to the replay of the plan in the alpha-beta-gamma model.
enum class Form : std::uint8_t {
  exact,  ///< Equal.
  bound,  ///< At least as large: the formula counts what one port can carry, or rounds parts up.
};

/// Whether an algorithm takes parts of any size, and so serves the v-form of its collective.
enum class PartSizes : std::uint8_t { any, equal };

constexpr Form always_exact(const Problem&) {
  return Form::exact;
}
constexpr bool always_supported(const Problem&) {
  return true;
}

/// One entry. The functions are pure.
struct Algorithm {
  Collective collective;
  std::string_view name;       ///< "ring"; unique within the collective.
  std::string_view full_name;  ///< "allreduce_ring"; its calls' name in errors and traces.

  /// Runs it on one rank. `op` is not average.
  void (*execute)(Channel& channel, const Invocation& invocation);

  /// Messages on the longest chain of dependent ones: the time for alpha = 1, beta = gamma = 0.
  int (*steps)(const Problem& problem);

  /// As steps, but what a rank sends or receives at once is counted one by one. Null: one each a
  /// step; see messages_of().
  Messages (*messages)(const Problem& problem) = nullptr;

  /// Bytes that `rank` sends.
  std::size_t (*bytes_sent)(const Problem& problem, int rank);

  /// Seconds until the last rank is done when all begin at once, by alpha, beta and gamma alone;
  /// predicted_seconds() adds the overheads.
  double (*seconds)(const Problem& problem, const CostModel& model);

  /// Whether steps, bytes and seconds are exact for this problem.
  Form (*form)(const Problem& problem) = always_exact;

  /// Whether it can run at all; run() refuses before any data moves where it cannot.
  bool (*supports)(const Problem& problem) = always_supported;

  std::string_view steps_formula;    ///< "2(N-1)"
  std::string_view bytes_formula;    ///< Per rank, at most: "2(N-1)/N n"
  std::string_view seconds_formula;  ///< "2(N-1)a + 2(N-1)/N n b + (N-1)/N n g"
  std::string_view source;           ///< The paper or file it comes from.
  std::string_view supported = "any N";

  /// run() refuses counts where only equal parts are supported.
  PartSizes parts = PartSizes::any;

  /// Which fields of Tuning make a difference.
  bool uses_segments = false;
  bool uses_radix = false;
  bool uses_group = false;

  /// Of an algorithm of two levels: the names of what they run where Tuning::inner and outer leave
  /// it open. Empty for all others.
  std::string_view default_inner = {};
  std::string_view default_outer = {};
  bool has_levels() const { return !default_inner.empty(); }

  /// Whether the parts it works on must follow each other without gaps (see Parts::select).
  bool needs_adjacent_parts = false;

  /// Whether all messages at a time go from ranks r to r + 1, or all to r - 1, so that but one at a
  /// time leaves a group of consecutive ranks.
  bool between_neighbors = false;

  /// Seconds where links are of two classes, for an algorithm that treats them differently; null
  /// for those that take as long as if all links were the slowest, or less.
  double (*profile_seconds)(const Problem& problem, const CostProfile& profile) = nullptr;
};

/// Algorithm::messages, or one sent and one received a step.
Messages messages_of(const Algorithm& algorithm, const Problem& problem);

/// The closed form of the time with the overheads: those of one send and one receive are added to
/// alpha, and those of what messages_of() counts beyond the steps to the sum. Without overheads
/// this is Algorithm::seconds; with them it is never less than what replay() finds, but may be more
/// even where that is exact, since overheads and latencies of different ranks overlap.
double predicted_seconds(const Algorithm& algorithm, const Problem& problem,
                         const CostModel& model);

/// The same for links of two classes.
double predicted_seconds(const Algorithm& algorithm, const Problem& problem,
                         const CostProfile& profile);

/// What the inner level of a two-level algorithm runs: a reduce_scatter for an allreduce (and on
/// the way back its mirror image), otherwise the collective itself.
Collective inner_collective(Collective collective);

/// The algorithms of the two levels.
struct Levels {
  const Algorithm* inner = nullptr;
  const Algorithm* outer = nullptr;
};

/// Those that `tuning` names, otherwise the defaults; nulls for an algorithm without levels.
Levels levels_of(const Algorithm& algorithm, const Tuning& tuning);

/// All algorithms, grouped by collective.
std::span<const Algorithm> catalogue();

/// Those of one collective, in the order of tables and of "all".
std::vector<const Algorithm*> algorithms_of(Collective collective);

/// Throws Error(usage) that lists the collective's algorithms.
const Algorithm& find_algorithm(Collective collective, std::string_view name);

/// A comma-separated list of names, or "all".
std::vector<const Algorithm*> parse_algorithms(Collective collective, std::string_view names);

/// A time that no algorithm can beat in the alpha-beta-gamma model, and why.
struct LowerBound {
  double latency_seconds = 0.0;  ///< One message: a rank may send to all others at once.
  /// What some rank must move (2(N-1)/N n, n or (N-1)/N n), or reduce: the larger, since one piece
  /// may be reduced while the next arrives.
  double bandwidth_seconds = 0.0;

  /// The larger of the two: they may overlap.
  double seconds() const { return std::max(latency_seconds, bandwidth_seconds); }
};

/// All zero for one rank or no elements.
LowerBound lower_bound(Collective collective, const Problem& problem, const CostModel& model);

/// nccl-tests' factor from algorithm to bus bandwidth: allreduce 2(N-1)/N, broadcast and reduce 1,
/// the others (N-1)/N; 0 for one rank and a barrier, where bus bandwidth has no meaning.
double bus_bandwidth_factor(Collective collective, int ranks);

}  // namespace tutti
