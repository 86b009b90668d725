// Golden plans: what every algorithm does with 11 elements on 5 ranks, word for word, or with 12 on
// 4 where it does not support that. After a change that is meant, TUTTI_WRITE_GOLDEN=1 writes the
// files anew; read their difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/plan.hpp"
#include "collectives/run.hpp"

namespace tutti {
namespace {

constexpr int root = 2;

std::string plan_text(const Algorithm& algorithm) {
  Problem problem{.ranks = 5, .count = 11, .root = root};
  if (!algorithm.supports(problem)) problem = {.ranks = 4, .count = 12, .root = root};
  PlanWorld world(problem.ranks);
  const Block data = world.allocate_block(problem.count, DType::float32);
  world.run([&](Rank& rank) { run(algorithm, rank.channel(), data, Op::sum, root); });
  return to_text(world.plan());
}

class GoldenPlan : public testing::TestWithParam<const Algorithm*> {};

TEST_P(GoldenPlan, IsTheOneOnFile) {
  const std::string path =
      std::string(TUTTI_GOLDEN_FOLDER) + "/" + std::string(GetParam()->full_name) + ".txt";
  const std::string text = plan_text(*GetParam());
  if (std::getenv("TUTTI_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, GoldenPlan, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : catalogue()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

}  // namespace
}  // namespace tutti
