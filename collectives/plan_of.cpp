#include "collectives/plan_of.hpp"

#include "collectives/run.hpp"

namespace tutti {

Plan plan_of(const Algorithm& algorithm, const Problem& problem) {
  PlanWorld world(problem.ranks);
  const Block data = world.allocate_block(problem.count, DType::float32);
  Arguments arguments;
  arguments.output = data;
  arguments.root = problem.root;
  arguments.tuning = problem.tuning;
  if (algorithm.collective == Collective::alltoall) {
    arguments.input = world.allocate_block(problem.count, DType::float32);
  }
  world.run([&](Rank& rank) { run(algorithm, rank.channel(), arguments); });
  return world.plan();
}

Promise promise_of(const Algorithm& algorithm, const Problem& problem) {
  Promise promise;
  promise.collective = algorithm.collective;
  promise.ranks = problem.ranks;
  promise.count = problem.count;
  promise.root = problem.root;
  promise.out_of_place = algorithm.collective == Collective::alltoall;
  return promise;
}

}  // namespace tutti
