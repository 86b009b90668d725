// What every algorithm of the catalogue computes, on every substrate and for many world sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/kernels.hpp"
#include "collectives/run.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/substrates.hpp"
#include "tests/support/blocks.hpp"
#include "tests/support/loopback_world.hpp"

namespace tutti {
namespace {

constexpr int most_ranks = 9;
constexpr std::size_t odd_count = 37;  // A multiple of no world size but 1.

using Parameter = std::tuple<Substrate, int>;

class Results : public testing::TestWithParam<Parameter> {
 protected:
  int ranks() const { return std::get<1>(GetParam()); }
  std::unique_ptr<World> make() const { return std::get<0>(GetParam()).make(ranks(), {}); }
};
// Also on a substrate that moves nothing.
class GhostResults : public Results {};

std::string name_of_instance(const testing::TestParamInfo<Parameter>& info) {
  return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(On, Results,
                         testing::Combine(testing::ValuesIn(moving_substrates()),
                                          testing::Range(1, most_ranks + 1)),
                         name_of_instance);
INSTANTIATE_TEST_SUITE_P(On, GhostResults,
                         testing::Combine(testing::ValuesIn(all_substrates()),
                                          testing::Range(1, most_ranks + 1)),
                         name_of_instance);

// Every root of a small world; of a larger one the ends and the middle.
std::vector<int> roots_of(Collective collective, int ranks) {
  if (!is_rooted(collective)) return {0};
  if (ranks > 4) return {0, ranks / 2, ranks - 1};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

// Every algorithm with these. An op other than sum is for reductions only.
std::vector<CaseSpec> for_every_algorithm(const CaseSpec& common, int ranks) {
  std::vector<CaseSpec> specs;
  for (const Algorithm* algorithm : supported_algorithms(ranks)) {
    if (common.op != Op::sum && !reduces(algorithm->collective)) continue;
    for (const int root : roots_of(algorithm->collective, ranks)) {
      CaseSpec spec = common;
      spec.algorithm = algorithm;
      spec.count = supported_count(*algorithm, common.count, ranks);
      spec.root = root;
      specs.push_back(spec);
    }
  }
  return specs;
}

// Hierarchies in pairs, so that each algorithm that can serve as a level does so once.
std::vector<CaseSpec> level_specs(int ranks) {
  std::vector<CaseSpec> specs;
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.has_levels()) continue;
    const auto inners = algorithms_of(inner_collective(algorithm.collective));
    const auto outers = algorithms_of(algorithm.collective);
    for (std::size_t i = 0; i < std::max(inners.size(), outers.size()); ++i) {
      const Tuning tuning = {
          .group = 2, .inner = inners[i % inners.size()], .outer = outers[i % outers.size()]};
      if (!algorithm.supports({.ranks = ranks, .tuning = tuning})) continue;
      specs.push_back({.algorithm = &algorithm,
                       .count = odd_count,
                       .root = is_rooted(algorithm.collective) ? ranks / 2 : 0,
                       .tuning = tuning});
    }
  }
  return specs;
}

// All ways of using them that may take different ways through the code.
std::vector<CaseSpec> varied_specs(int ranks) {
  std::vector<CaseSpec> commons;
  const auto size = static_cast<std::size_t>(ranks);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size - 1, size, 2 * size + 1}) {
    commons.push_back({.count = count});
    commons.push_back({.count = count, .in_place = true});
  }
  if (ranks <= 4) commons.push_back({.count = 20011});
  const int group = ranks % 2 == 0 ? 2 : ranks;
  commons.push_back({.count = odd_count, .tuning = {.segments = 3, .radix = 3, .group = group}});
  for (const DType dtype : {DType::float64, DType::float16, DType::bfloat16, DType::int8}) {
    commons.push_back({.count = odd_count, .dtype = dtype});
  }
  for (const Op op : {Op::product, Op::min, Op::max, Op::average}) {
    commons.push_back({.count = odd_count, .op = op});
  }
  std::vector<CaseSpec> specs = level_specs(ranks);
  for (const CaseSpec& common : commons) {
    const std::vector<CaseSpec> some = for_every_algorithm(common, ranks);
    specs.insert(specs.end(), some.begin(), some.end());
  }
  return specs;
}

std::vector<Case> allocate_cases(World& world, const std::vector<CaseSpec>& specs) {
  std::vector<Case> cases;
  for (const CaseSpec& spec : specs) cases.push_back(allocate_case(world, spec));
  return cases;
}

std::vector<Case> run_on_random_data(World& world, const std::vector<CaseSpec>& specs,
                                     std::uint64_t seed) {
  std::vector<Case> cases = allocate_cases(world, specs);
  std::mt19937_64 random(seed);
  for (const Case& each : cases) fill_inputs(each, fill_random, random);
  run_cases(world, cases);
  return cases;
}

TEST_P(Results, EveryAlgorithmGivesTheBitsThatLoopbackGives) {
  const std::uint64_t seed = test_seed(1);
  const std::vector<CaseSpec> specs = varied_specs(ranks());
  LoopbackWorld reference_world(ranks());
  const auto world = make();
  const std::vector<Case> expected = run_on_random_data(reference_world, specs, seed);
  const std::vector<Case> actual = run_on_random_data(*world, specs, seed);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (int rank = 0; rank < ranks(); ++rank) {
      ASSERT_TRUE(same_bits(result_of(expected[i], rank), result_of(actual[i], rank)))
          << specs[i].describe() << ", rank " << rank;
    }
  }
}

TEST_P(Results, AllRanksGetTheSameBits) {
  const std::vector<CaseSpec> specs = for_every_algorithm({.count = 3 * odd_count}, ranks());
  const auto world = make();
  for (const Case& done : run_on_random_data(*world, specs, test_seed(2))) {
    if (!is_same_everywhere(done.spec.algorithm->collective)) continue;
    for (int rank = 1; rank < ranks(); ++rank) {
      ASSERT_TRUE(same_bits(result_of(done, 0), result_of(done, rank)))
          << done.spec.describe() << ", rank " << rank;
    }
  }
}

TEST_P(Results, OutOfPlaceLeavesTheInputUntouched) {
  const std::vector<CaseSpec> specs = for_every_algorithm({.count = odd_count}, ranks());
  const auto world = make();
  const std::vector<Case> cases = allocate_cases(*world, specs);
  std::mt19937_64 random(test_seed(3));
  std::vector<std::vector<std::byte>> before;
  for (const Case& each : cases) {
    fill_inputs(each, fill_random, random);
    for (const Block& input : each.inputs) before.push_back(bytes_in(input));
  }
  run_cases(*world, cases);
  auto expected = before.begin();
  for (const Case& each : cases) {
    for (const Block& input : each.inputs) {
      EXPECT_EQ(bytes_in(input), *expected++) << each.spec.describe();
    }
  }
}

void append(std::vector<std::byte>& bytes, Block block) {
  bytes.insert(bytes.end(), block.data, block.data + block.bytes());
}

// What `rank` gets out of place, as one process computes it: reductions rank after rank.
std::vector<std::byte> serial_result(const Case& filled, int rank) {
  const int size = static_cast<int>(filled.inputs.size());
  const Collective collective = filled.spec.algorithm->collective;
  std::vector<std::byte> result;
  if (result_of(filled, rank).is_empty()) return result;
  if (collective == Collective::allgather || collective == Collective::gather) {
    for (const Block& input : filled.inputs) append(result, input);
    return result;
  }
  if (collective == Collective::alltoall) {
    for (const Block& input : filled.inputs) append(result, input.part(rank, size));
    return result;
  }
  append(result, filled.inputs[static_cast<std::size_t>(filled.spec.root)]);
  for (int from = 0; reduces(collective) && from < size; ++from) {
    if (from == filled.spec.root) continue;
    reduce_elements(filled.spec.op, filled.spec.dtype, result.data(),
                    filled.inputs[static_cast<std::size_t>(from)].data, filled.spec.count);
  }
  if (result_of(filled, rank).count == filled.spec.count) return result;
  return bytes_in(Block{result.data(), filled.spec.count, filled.spec.dtype}.part(rank, size));
}

TEST_P(Results, EveryAlgorithmIsExactOnWholeNumbersOfEveryType) {
  std::vector<CaseSpec> specs;
  for (const DType dtype : all_dtypes()) {
    for (const Op op : {Op::sum, Op::product, Op::min, Op::max}) {
      const auto some =
          for_every_algorithm({.count = odd_count, .dtype = dtype, .op = op}, ranks());
      specs.insert(specs.end(), some.begin(), some.end());
    }
  }
  const auto world = make();
  const std::vector<Case> cases = allocate_cases(*world, specs);
  std::mt19937_64 random(test_seed(4));
  for (const Case& each : cases) fill_inputs(each, fill_whole, random);
  run_cases(*world, cases);
  for (const Case& done : cases) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const Block result = result_of(done, rank);
      std::vector<std::byte> expected = serial_result(done, rank);
      ASSERT_TRUE(same_bits(Block{expected.data(), result.count, result.dtype}, result))
          << done.spec.describe() << ", rank " << rank;
    }
  }
}

TEST_P(Results, ANotANumberOfAnyRankReachesEveryRankThroughMinAndMax) {
  std::vector<CaseSpec> specs;
  for (const Op op : {Op::min, Op::max}) {
    for (const DType dtype : {DType::float32, DType::float16}) {
      for (const Algorithm* algorithm : algorithms_of(Collective::allreduce)) {
        specs.push_back({algorithm, static_cast<std::size_t>(ranks()) + 1, dtype, op, 0, false});
      }
    }
  }
  const auto world = make();
  const std::vector<Case> cases = allocate_cases(*world, specs);
  std::mt19937_64 random(test_seed(5));
  for (const Case& each : cases) {
    fill_inputs(each, fill_whole, random);
    for (std::size_t rank = 0; rank < each.inputs.size(); ++rank) {
      set_element(each.inputs[rank], rank, std::numeric_limits<double>::quiet_NaN());
    }
  }
  run_cases(*world, cases);
  for (const Case& done : cases) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const Block result = result_of(done, rank);
      for (std::size_t i = 0; i < result.count; ++i) {
        EXPECT_EQ(std::isnan(element(result, i)), i < result.count - 1)
            << done.spec.describe() << ", rank " << rank << ", element " << i;
      }
    }
  }
}

TEST_P(GhostResults, EveryAlgorithmRunsWithoutMemory) {
  const auto world = make();
  const std::vector<CaseSpec> specs = varied_specs(ranks());
  EXPECT_NO_THROW(world->run([&](Rank& rank) {
    for (const CaseSpec& spec : specs) {
      run(*spec.algorithm, rank.channel(),
          {.output = ghost(spec.count, spec.dtype),
           .op = spec.op,
           .root = spec.root,
           .tuning = spec.tuning});
    }
  }));
}

}  // namespace
}  // namespace tutti
