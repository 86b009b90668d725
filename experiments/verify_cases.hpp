// The cases that verify runs: inputs, the results they should have, and how far others are off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/world.hpp"
#include "experiments/inputs.hpp"
#include "experiments/question.hpp"

namespace tutti {

struct Case {
  Collective collective = Collective::allreduce;
  Op op = Op::sum;
  int root = 0;
  std::vector<std::size_t> part_counts = {};  ///< Of a v-form; empty for equal parts.
  std::string_view only = {};  ///< The one algorithm that it is for; empty: all of the collective.
  std::optional<ExactInputs> integers;  ///< Integer-valued inputs; none: random ones.
  std::uint64_t seed = 0;               ///< For random inputs.
  std::vector<Block> wanted;            ///< By rank, in shared memory: the reference's results.
  std::vector<Block> found;             ///< By rank, in shared memory: what an algorithm works on.
  /// The sum over ranks of |contribution|, element by element, where results are rounded: random
  /// inputs of a reduction. Else empty.
  std::vector<double> magnitudes;

  std::size_t count() const { return found.front().count; }
  int size() const { return static_cast<int>(found.size()); }
  Division division() const { return {collective, size(), root, part_counts}; }
  bool is_random() const { return !integers.has_value(); }
  bool is_for(const Algorithm& algorithm) const {
    return collective == algorithm.collective && (only.empty() || only == algorithm.name);
  }

  /// Makes `whole` what `rank` contributes.
  void fill(int rank, Block whole) const;
};

/// How far `found` is from `wanted`, over all ranks.
struct Deviation {
  bool bytes_equal = true;
  bool ranks_agree = true;  ///< Where all ranks have the same result: they have the same bytes.
  double error = 0.0;       ///< |found - wanted| of the element nearest to (or beyond) its bound.
  double bound = 0.0;       ///< (N-1) eps sum|x| of that element.
  bool within_bound = true;

  /// The worse of both.
  void merge(const Deviation& other);
};

Deviation compare(const Case& one);

/// Elements that every case list uses: few, odd, and many. For alltoall they are rounded up to
/// equal parts. With `part_counts`, only their sum.
std::vector<std::size_t> verify_counts(const std::vector<std::size_t>& part_counts);

/// All cases of one dtype, for those of `collectives` that move data, in memory of `world`, with
/// the reference's results: gloo's if `use_gloo`, which may take `timeout_seconds` for each wait,
/// else the serial fold's. With `part_counts`, which gloo does not know, of those parts instead of
/// verify_counts().
std::vector<Case> make_cases(World& world, const std::vector<Collective>& collectives,
                             const std::vector<std::size_t>& part_counts, DType dtype,
                             std::uint64_t seed, bool use_gloo, double timeout_seconds);

}  // namespace tutti
