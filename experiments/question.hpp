// Question: which collective, by which algorithms, among how many ranks, of which sizes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/choose.hpp"
#include "collectives/division.hpp"
#include "collectives/run.hpp"
#include "experiments/sizes.hpp"

namespace tutti {

/// The two levels of hierarchical algorithms by name, as typed; "" is their default.
struct LevelNames {
  std::string inner;
  std::string outer;

  bool empty() const { return inner.empty() && outer.empty(); }
};

/// What bench, simulate and crossover have in common on the command line, as typed.
struct QuestionFlags {
  std::string collective = "allreduce";
  std::string algorithms = "all";
  int ranks = 0;
  SweepFlags sweep;
  std::string dtype = "float32";
  std::string op = "sum";
  int root = 0;
  std::string accumulate = "native";
  Tuning tuning;
  LevelNames levels;
  std::string rules;                     ///< A file for choose(); "" is none.
  std::vector<std::size_t> part_counts;  ///< Elements of each rank's part, instead of sizes.
  std::vector<int> members;              ///< The ranks that take part, in their order; none: all.
};

/// One use of one algorithm, the same on every rank.
struct Job {
  const Algorithm* algorithm = nullptr;
  std::size_t count = 0;  ///< Elements of the whole buffer.
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;
  Accumulate accumulate = Accumulate::native;
  Tuning tuning = {};
  std::vector<std::size_t> part_counts = {};  ///< Of a v-form; empty for equal parts.
  std::optional<Choice> choice = {};          ///< Of an automatic job: how `algorithm` was chosen.

  /// The algorithm's, or "auto".
  std::string_view name() const { return choice ? "auto" : algorithm->name; }

  std::size_t bytes() const { return count * bytes_of(dtype); }

  Division division(int ranks) const { return {algorithm->collective, ranks, root, part_counts}; }

  /// Of what travels: with accumulation in float32, elements of float32.
  Problem problem(int ranks) const {
    const DType moved = accumulate == Accumulate::float32 ? DType::float32 : dtype;
    return {ranks, count, bytes_of(moved), root, tuning};
  }
};

/// "left out, not supported by 3 ranks: neighbor_exchange (even N)"; "" where there are none.
/// `with_counts`: of a v-form.
std::string describe_left_out(const std::vector<const Algorithm*>& left_out, int ranks,
                              bool with_counts = false);

/// The flags, understood and found to make sense.
struct Question {
  Collective collective = Collective::allreduce;
  std::vector<const Algorithm*> algorithms;  ///< Those by name, or all.
  bool automatic = false;                    ///< Whether one is to be chosen besides.
  std::vector<const Algorithm*> left_out;    ///< Of "all", those that do not support the problem.
  int ranks = 1;                             ///< That take part.
  std::vector<int> members;                  ///< Which of the world's, in their order; none: all.
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;                                ///< As numbered among those that take part.
  Accumulate accumulate = Accumulate::native;  ///< float32 only where that makes a difference.
  Tuning tuning = {};
  /// Counts are multiples of this: of the ranks for alltoall, so that its parts are equal, else 1.
  std::size_t unit = 1;
  std::vector<std::size_t> counts;  ///< Sizes rounded down to whole units; only 0 for a barrier.
  std::vector<std::size_t> part_counts;  ///< Of a v-form, whose sum is the only count; else none.

  /// All algorithms on `count` elements; see jobs_of() for the automatic one.
  std::vector<Job> jobs(std::size_t count) const;

  /// The jobs for each count.
  std::size_t jobs_per_count() const { return algorithms.size() + (automatic ? 1 : 0); }

  std::size_t largest_bytes() const;

  /// Whether there are results to check.
  bool has_results() const { return collective != Collective::barrier; }

  /// "allreduce of float32, sum, 4 ranks", for headers.
  std::string describe() const;

  /// "counts 3 0 5 2, members 3 1 2 0", for notes; "" where neither was given.
  std::string describe_parts() const;

  /// See below.
  std::string describe_left_out() const {
    return tutti::describe_left_out(left_out, ranks, !part_counts.empty());
  }
};

/// "segments 8, radix 4, group 2, inner direct, outer ring", without those that are left open.
std::string describe(const Tuning& tuning);

/// Whether it can run with this many elements in each rank's part.
bool supports_counts(const Algorithm& algorithm, const std::vector<std::size_t>& part_counts,
                     const Tuning& tuning);

/// Throws Error(usage) unless there is one for each rank, or none.
void check_counts(const std::vector<std::size_t>& part_counts, int ranks);

/// Throws Error(usage) unless these are different ranks of `ranks`. Returns how many take part: all
/// where there are none.
int check_members(const std::vector<int>& members, int ranks);

/// Throws Error(usage) that says what is valid, before anything runs. `ranks` replaces the flags'.
/// Warns about flags that have no effect on the collective.
Question ask(const QuestionFlags& flags, int ranks);

/// Whether "auto" is among the comma-separated names.
bool names_auto(std::string names);

/// `tuning` with the levels. Throws Error(usage) that lists the valid names, or says that no
/// algorithm of the collective has levels.
Tuning with_levels(Tuning tuning, Collective collective, const LevelNames& names);

/// A flag that changes nothing is a mistake: throws Error(usage) for tuning that none of
/// `algorithms` uses, unless `automatic` and another algorithm of the collective does.
void check_tuning_used(Collective collective, const std::vector<const Algorithm*>& algorithms,
                       bool automatic, const Tuning& tuning);

/// "float32 accumulation", for notes; "" where elements accumulate in their own type.
std::string describe(Accumulate accumulate);

/// The op as nccl-tests prints it: "none" where the collective does not reduce.
std::string redop_name(Collective collective, Op op);

/// Throws Error(usage) unless 1 <= ranks <= most.
void check_ranks(int ranks, int most);

}  // namespace tutti
