#include "experiments/verify_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "exec/gloo_reference.hpp"

namespace tutti {
namespace {

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 0x1p-52;
    case DType::float32:
      return 0x1p-23;
    case DType::float16:
      return 0x1p-10;
    case DType::bfloat16:
      return 0x1p-7;
    default:
      return 0.0;
  }
}

bool same_bytes(Block a, Block b) {
  return a.is_empty() || std::memcmp(a.data, b.data, a.bytes()) == 0;
}

std::vector<double> magnitudes_of(const std::vector<Block>& contributions) {
  std::vector<double> sums(contributions.front().count, 0.0);
  for (const Block contribution : contributions) {
    const std::vector<double> values = to_doubles(contribution);
    for (std::size_t i = 0; i < values.size(); ++i) sums[i] += std::abs(values[i]);
  }
  return sums;
}

// Compares one rank's result, of which `scale` holds sum|x|.
Deviation compare_elements(Block found, Block wanted, const double* scale, int ranks) {
  const double factor = (ranks - 1) * epsilon_of(found.dtype);
  const std::vector<double> found_values = to_doubles(found), wanted_values = to_doubles(wanted);
  Deviation worst;
  for (std::size_t i = 0; i < found_values.size(); ++i) {
    const double error = std::abs(found_values[i] - wanted_values[i]);
    const double bound = factor * scale[i];
    Deviation deviation;
    deviation.error = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
    deviation.bound = bound;
    deviation.within_bound = error <= bound;
    worst.merge(deviation);
  }
  return worst;
}

bool is_same_everywhere(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::broadcast ||
         collective == Collective::allgather;
}

// The memory of a case; its inputs are in `wanted`, for the reference to work on.
Case make_case(World& world, Collective collective, std::size_t count, DType dtype) {
  Case one;
  one.collective = collective;
  for (int rank = 0; rank < world.size(); ++rank) {
    one.wanted.push_back(world.allocate_block(count, dtype));
    one.found.push_back(world.allocate_block(count, dtype));
  }
  return one;
}

// Enough elements that gloo's chunks have more than their two segments of at most 1 MiB.
std::size_t many_segments(int ranks, DType dtype) {
  return (static_cast<std::size_t>(2 * ranks) << 20) / bytes_of(dtype) + 12'345;
}

void add_cases(World& world, Collective collective, const std::vector<std::size_t>& part_counts,
               DType dtype, std::uint64_t seed, std::vector<Case>& cases) {
  const auto size = static_cast<std::size_t>(world.size());
  const bool rounds_up = collective == Collective::alltoall && part_counts.empty();
  const std::size_t unit = rounds_up ? size : 1;
  const auto add = [&](std::size_t count, Op op, bool is_random, std::string_view only = {}) {
    Case one = make_case(world, collective, (count + unit - 1) / unit * unit, dtype);
    one.op = op;
    one.root = static_cast<int>(cases.size() % size);
    one.part_counts = part_counts;
    one.only = only;
    if (!is_random) one.integers.emplace(world.size(), dtype, op);
    one.seed = seed + cases.size();
    for (int rank = 0; rank < world.size(); ++rank) {
      one.fill(rank, one.wanted[static_cast<std::size_t>(rank)]);
    }
    if (is_random && reduces(collective)) one.magnitudes = magnitudes_of(one.wanted);
    cases.push_back(std::move(one));
  };
  for (const std::size_t count : verify_counts(part_counts)) {
    add(count, Op::sum, true);
    add(count, Op::sum, false);
    if (!reduces(collective)) continue;
    for (const Op op : {Op::product, Op::min, Op::max}) add(count, op, false);
  }
  // 64 MiB in all; more ranks would need more memory than a small machine has to spare. Only gloo's
  // own order is the same in each segment.
  if (collective == Collective::allreduce && world.size() <= 4) {
    add(many_segments(world.size(), dtype), Op::sum, true, "ring_gloo");
  }
}

}  // namespace

void Case::fill(int rank, Block whole) const {
  if (is_random()) return fill_random(division(), rank, seed, whole);
  integers->fill(division(), rank, whole);
}

void Deviation::merge(const Deviation& other) {
  bytes_equal = bytes_equal && other.bytes_equal;
  ranks_agree = ranks_agree && other.ranks_agree;
  within_bound = within_bound && other.within_bound;
  // error / bound > other's, without dividing by 0; of equal ones that with the larger bound.
  const double left = other.error * bound, right = error * other.bound;
  const bool is_beyond = other.error > 0.0 && other.bound == 0.0 && error == 0.0;
  if (left > right || is_beyond || (left == right && other.bound > bound)) {
    error = other.error;
    bound = other.bound;
  }
}

Deviation compare(const Case& one) {
  const Division division = one.division();
  Deviation worst;
  for (int rank = 0; rank < one.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const Block whole = one.found[index];
    const Block found = division.result_of(whole, rank);
    const Block wanted = division.result_of(one.wanted[index], rank);
    Deviation deviation;
    deviation.bytes_equal = same_bytes(found, wanted);
    deviation.ranks_agree = !is_same_everywhere(one.collective) || same_bytes(found, one.found[0]);
    worst.merge(deviation);
    // Equal bytes are compared too, so that the bound is known.
    if (one.magnitudes.empty() || found.is_empty()) continue;
    const std::size_t first =
        static_cast<std::size_t>(found.data - whole.data) / bytes_of(whole.dtype);
    worst.merge(compare_elements(found, wanted, one.magnitudes.data() + first, one.size()));
  }
  return worst;
}

std::vector<std::size_t> verify_counts(const std::vector<std::size_t>& part_counts) {
  if (part_counts.empty()) return {1, 3, 73, 1000, 65'537};
  return {std::accumulate(part_counts.begin(), part_counts.end(), std::size_t{0})};
}

std::vector<Case> make_cases(World& world, const std::vector<Collective>& collectives,
                             const std::vector<std::size_t>& part_counts, DType dtype,
                             std::uint64_t seed, bool use_gloo, double timeout_seconds) {
  std::vector<Case> cases;
  for (const Collective collective : collectives) {
    if (collective == Collective::barrier) continue;
    add_cases(world, collective, part_counts, dtype, seed, cases);
  }
  if (use_gloo && !cases.empty()) {
    std::vector<GlooCase> gloo_cases;
    for (const Case& one : cases) {
      gloo_cases.push_back({one.collective, one.op, one.root, one.wanted});
    }
    run_gloo(world.size(), gloo_cases, timeout_seconds);
    return cases;
  }
  for (const Case& one : cases) reduce_serially(one.division(), one.op, one.wanted);
  return cases;
}

}  // namespace tutti
