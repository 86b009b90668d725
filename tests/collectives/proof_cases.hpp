// Plans to prove: one algorithm for one problem, recorded.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/proof.hpp"
#include "collectives/run.hpp"

namespace tutti {

/// Records `algorithm` through run(), in place, with float32 elements.
inline Plan plan_to_prove(const Algorithm& algorithm, const Problem& problem) {
  PlanWorld world(problem.ranks);
  const Block data = world.allocate_block(problem.count, DType::float32);
  const Block source = world.allocate_block(problem.count, DType::float32);
  Arguments arguments{.output = data, .root = problem.root, .tuning = problem.tuning};
  if (algorithm.collective == Collective::alltoall) arguments.input = source;
  world.run([&](Rank& rank) { run(algorithm, rank.channel(), arguments); });
  return world.plan();
}

inline std::vector<FoldTree> prove(const Algorithm& algorithm, const Problem& problem) {
  return prove(plan_to_prove(algorithm, problem), Promise{.collective = algorithm.collective,
                                                          .ranks = problem.ranks,
                                                          .count = problem.count,
                                                          .root = problem.root});
}

}  // namespace tutti
