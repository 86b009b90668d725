// Jobs under conditions, on both engines.
#include "experiments/trial.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace tutti {
namespace {

class TrialTest : public testing::TestWithParam<Engine> {
 protected:
  Trial trial(const std::string& algorithm, std::size_t bytes, const ConditionFlags& conditions,
              const std::vector<std::string>& settings = {},
              const std::vector<std::string>& stragglers = {}) const {
    ClusterFlags flags;
    flags.topology = topology_;
    flags.changes.settings = settings;
    flags.stragglers = stragglers;
    const Cluster cluster = load_cluster(flags, 8);
    Job job;
    job.algorithm = &find_algorithm(Collective::allreduce, algorithm);
    job.count = bytes / 4;
    return run_trial(cluster, GetParam(), job, understand(conditions, 8), TraceFile(""));
  }

  std::string topology_ = "topologies/star.yaml";
};

INSTANTIATE_TEST_SUITE_P(Engines, TrialTest, testing::Values(Engine::simgrid, Engine::replay),
                         [](const auto& tested) {
                           return tested.param == Engine::simgrid ? "SimGrid" : "Replay";
                         });

// Seven and seven steps of 5 us and an eighth of the bytes at 12.5 GB/s.
constexpr double ring_of_1m_seconds = 14 * (5e-6 + (1 << 17) / 12.5e9);

TEST_P(TrialTest, ARingIsBandwidthBoundAndItsPathAsLongAsItsSteps) {
  const Trial found = trial("ring", 1 << 20, {.why = true});
  ASSERT_TRUE(found.why.has_value());
  EXPECT_NEAR(found.timing.mean_seconds, ring_of_1m_seconds, 1e-6 * ring_of_1m_seconds);
  EXPECT_EQ(found.why->time.limit(), "bandwidth-bound");
  EXPECT_EQ(found.why->path.size(), 14u);
  EXPECT_NEAR(found.why->time.latency_seconds, 70e-6, 1e-9);
  ASSERT_FALSE(found.why->busiest.empty());
  EXPECT_NEAR(*found.why->busiest[0].utilisation, 14 * (1 << 17) / 12.5e9 / ring_of_1m_seconds,
              1e-6);
}

TEST_P(TrialTest, ALateRankIsWhatAllWaitFor) {
  const Trial found = trial("ring", 1 << 20, {}, {}, {"rank", "5", "by", "500us"});
  EXPECT_GT(found.timing.mean_seconds, 500e-6);
  ASSERT_TRUE(found.awaited.has_value());
  EXPECT_EQ(found.awaited->kind, "rank");
  EXPECT_EQ(found.awaited->name, "5");
  const auto& waits = found.wait_seconds;
  ASSERT_EQ(waits.size(), 8u);
  EXPECT_EQ(std::min_element(waits.begin(), waits.end()) - waits.begin(), 5);
  EXPECT_GT(waits[6], 500e-6);
}

TEST_P(TrialTest, ASlowHostIsWhatAllWaitFor) {
  const Trial found =
      trial("ring", 16 << 20, {.why = true}, {"reduction=10GBps", "host[3].speed=0.05x"});
  EXPECT_EQ(found.awaited->name, "3");
  EXPECT_EQ(found.why->time.limit(), "reduction-bound");
}

TEST_P(TrialTest, GroupsAtOnceShareTheLinksBetweenThem) {
  // On a ring of hosts, the even and the odd ranks use the same cables.
  const auto ring = [&](const std::string& groups) {
    ClusterFlags flags;
    flags.topology = "topologies/ring.yaml";
    Job job;
    job.algorithm = &find_algorithm(Collective::allreduce, "ring");
    job.count = 1 << 20;
    return run_trial(load_cluster(flags, 8), GetParam(), job, understand({.groups = groups}, 8),
                     TraceFile(""));
  };
  const Trial lone = ring("0-6:2"), both = ring("0-6:2,1-7:2");
  EXPECT_TRUE(lone.group_seconds.empty());
  ASSERT_EQ(both.group_seconds.size(), 2u);
  EXPECT_GT(both.group_seconds[0], 1.5 * lone.timing.mean_seconds);
  EXPECT_NEAR(both.group_seconds[0], both.group_seconds[1], 1e-9);
}

TEST_P(TrialTest, AStragglersDelayIsPaidOnceInManyCollectivesBackToBack) {
  const std::vector<std::string> late = {"rank", "5", "by", "500us"};
  const double one = trial("ring", 1 << 20, {}, {}, late).timing.mean_seconds;
  const double of_ten = trial("ring", 1 << 20, {.repeat = 10}, {}, late).timing.mean_seconds;
  const double on_time = trial("ring", 1 << 20, {}).timing.mean_seconds;
  EXPECT_LT(10 * of_ten, one + 9.5 * on_time);
  EXPECT_GT(10 * of_ten, 500e-6 + 9 * on_time);
}

TEST_P(TrialTest, JitterIsRepeatableAndItsPercentilesAreApart) {
  const ConditionFlags noisy{
      .jitters = {"message=exponential:5us", "start=uniform:10us"}, .repetitions = 20, .seed = 7};
  const Trial first = trial("ring", 1 << 10, noisy), again = trial("ring", 1 << 10, noisy);
  EXPECT_EQ(first.timing.mean_seconds, again.timing.mean_seconds);
  EXPECT_EQ(first.timing.p99_seconds, again.timing.p99_seconds);
  EXPECT_GT(first.timing.p99_seconds, first.timing.p50_seconds);
  EXPECT_GT(first.timing.p50_seconds, 70e-6);
  ConditionFlags other = noisy;
  other.seed = 8;
  EXPECT_NE(trial("ring", 1 << 10, other).timing.mean_seconds, first.timing.mean_seconds);
}

// Without contention both know all there is to know.
TEST(TrialOnBothEngines, SayTheSameOfTheSameRun) {
  ClusterFlags flags;
  flags.topology = "topologies/leaf_spine_100g.yaml";
  const Cluster cluster = load_cluster(flags, 12);
  Job job;
  job.algorithm = &find_algorithm(Collective::allreduce, "ring");
  job.count = 120'000;
  const Conditions conditions = understand({.why = true}, 12);
  const Why simgrid = *run_trial(cluster, Engine::simgrid, job, conditions, TraceFile("")).why;
  const Why replay = *run_trial(cluster, Engine::replay, job, conditions, TraceFile("")).why;
  EXPECT_NEAR(simgrid.seconds, replay.seconds, 1e-6 * replay.seconds);
  // A millionth of the run for the rounding of SimGrid's clock.
  const double off = 1e-6 * replay.seconds;
  EXPECT_NEAR(simgrid.time.latency_seconds, replay.time.latency_seconds, off);
  EXPECT_NEAR(simgrid.time.transfer_seconds, replay.time.transfer_seconds, off);
  EXPECT_NEAR(simgrid.time.reduction_seconds, replay.time.reduction_seconds, off);
  EXPECT_NEAR(simgrid.time.overhead_seconds, replay.time.overhead_seconds, off);
  EXPECT_EQ(simgrid.time.limit(), replay.time.limit());
  ASSERT_EQ(simgrid.busiest.size(), replay.busiest.size());
  for (std::size_t i = 0; i < simgrid.busiest.size(); ++i) {
    EXPECT_EQ(simgrid.busiest[i].bytes, replay.busiest[i].bytes);
  }
  for (std::size_t rank = 0; rank < 12; ++rank) {
    EXPECT_NEAR(simgrid.wait_seconds[rank], replay.wait_seconds[rank], off) << rank;
  }
}

}  // namespace
}  // namespace tutti
