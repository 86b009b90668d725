// Question: which collective, by which algorithms, among how many ranks, of which sizes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "experiments/sizes.hpp"

namespace tutti {

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
};

/// One use of one algorithm, the same on every rank.
struct Job {
  const Algorithm* algorithm = nullptr;
  std::size_t count = 0;  ///< Elements of the whole buffer.
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;
  Accumulate accumulate = Accumulate::native;

  std::size_t bytes() const { return count * bytes_of(dtype); }
  /// Of what travels: with accumulation in float32, elements of float32.
  Problem problem(int ranks) const {
    const DType moved = accumulate == Accumulate::float32 ? DType::float32 : dtype;
    return {ranks, count, bytes_of(moved), root};
  }
};

/// The flags, understood and found to make sense.
struct Question {
  Collective collective = Collective::allreduce;
  std::vector<const Algorithm*> algorithms;
  int ranks = 1;
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;
  Accumulate accumulate = Accumulate::native;  ///< float32 only where that makes a difference.
  std::vector<std::size_t> counts;             ///< Sizes rounded down to whole elements.

  /// All algorithms on `count` elements.
  std::vector<Job> jobs(std::size_t count) const;

  std::size_t largest_bytes() const;

  /// "allreduce of float32, sum, 4 ranks", for headers.
  std::string describe() const;
};

/// Throws Error(usage) that says what is valid, before anything runs. `ranks` replaces the flags'.
/// Warns about flags that have no effect on the collective.
Question ask(const QuestionFlags& flags, int ranks);

/// "float32 accumulation", for notes; "" where elements accumulate in their own type.
std::string describe(Accumulate accumulate);

/// The op as nccl-tests prints it: "none" where the collective does not reduce.
std::string redop_name(Collective collective, Op op);

/// True where a root matters.
constexpr bool has_root(Collective collective) {
  return collective == Collective::broadcast;
}

/// Throws Error(usage) unless 1 <= ranks <= most.
void check_ranks(int ranks, int most);

}  // namespace tutti
