#include "experiments/study.hpp"

#include <gmock/gmock.h>

#include <set>

#include "topologies/shape.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

StudyFlags flags_of(const std::vector<std::string>& axes,
                    const std::string& topology = "topologies/star.yaml") {
  StudyFlags flags;
  flags.topologies = {topology};
  flags.axes = axes;
  return flags;
}

std::string error_of(const StudyFlags& flags) {
  try {
    plan_study(flags);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

std::set<std::string> keys_of(const Study& study) {
  std::set<std::string> keys;
  for (const Point& point : study.points) keys.insert(point.key);
  return keys;
}

TEST(Study, HasAPointForEachCombination) {
  StudyFlags flags = flags_of({"bytes=1K..1G*4", "ranks=4,8,..,64"});
  flags.collectives = "allreduce,broadcast";
  flags.algorithms = "ring,binomial";
  flags.topologies = {"topologies/ring.yaml", "topologies/torus_2d.yaml"};
  flags.resize = true;
  const Study study = plan_study(flags);
  EXPECT_EQ(study.sites.size(), 10u);
  EXPECT_EQ(study.points.size(), 220u);
  EXPECT_EQ(keys_of(study).size(), 220u);
  for (const auto& site : study.sites) EXPECT_EQ(site->cluster.shape.size(), site->ranks);
  EXPECT_EQ(study.points.front().job.algorithm->full_name, "allreduce_ring");
  EXPECT_EQ(study.points.back().job.bytes(), std::size_t{1} << 30);
}

TEST(Study, KeysDependOnWhateverTheTimesDependOn) {
  const std::vector<std::string> axes = {"bytes=1M", "algo=ring"};
  const auto key = [&](StudyFlags flags) { return plan_study(flags).points.at(0).key; };
  const StudyFlags plain = flags_of(axes);
  std::set<std::string> keys = {key(plain)};
  EXPECT_EQ(key(plain), *keys.begin());
  std::vector<StudyFlags> others(9, plain);
  others[0].cluster.changes.settings = {"latency=6us"};
  others[1].cluster.model = "exact";
  others[2].cluster.engine = "replay";
  others[3].cluster.stragglers = {"rank", "1", "by", "1us"};
  others[4].conditions.jitters = {"start=uniform:1us"};
  others[5].conditions.jitters = {"start=uniform:1us"};
  others[5].conditions.seed = 2;
  others[6].conditions.groups = "0-3,4-7";
  others[7].ranks = 4;
  others[8].op = "max";
  for (const StudyFlags& other : others) keys.insert(key(other));
  EXPECT_EQ(keys.size(), 10u);
}

TEST(Study, WhatAnAlgorithmDoesNotLookAtMakesNoOtherPoint) {
  StudyFlags flags = flags_of({"bytes=1M", "segments=1,4,16", "algo=ring,chain"});
  const Study study = plan_study(flags);
  EXPECT_EQ(study.points.size(), 6u);
  EXPECT_EQ(keys_of(study).size(), 4u);  // The ring's three are one.
}

TEST(Study, AnAlgorithmOfAnotherCollectiveIsLeftToThat) {
  StudyFlags flags = flags_of({"bytes=1M", "algo=rabenseifner,binomial"});
  flags.collectives = "allreduce,broadcast";
  EXPECT_EQ(plan_study(flags).points.size(), 2u);
}

TEST(Study, WhatIsNotSupportedIsLeftOutWithANote) {
  StudyFlags flags = flags_of({"bytes=1M", "ranks=3,4", "algo=neighbor_exchange,ring"});
  flags.collectives = "allgather";
  const Study study = plan_study(flags);
  EXPECT_EQ(study.points.size(), 3u);
  ASSERT_EQ(study.notes.size(), 1u);
  EXPECT_THAT(study.notes[0], HasSubstr("allgather_neighbor_exchange (1 point, even N)"));
}

TEST(Study, BadInputIsAnErrorThatNamesTheNearestValidName) {
  EXPECT_THAT(error_of(flags_of({"ranks=0,4"})), HasSubstr("--vary ranks=0: expected 1 to"));
  EXPECT_THAT(error_of(flags_of({"ranks=4,16"})),
              HasSubstr("--vary ranks=16: topologies/star.yaml has room for 8 ranks"));
  EXPECT_THAT(error_of(flags_of({"links.hots.bandwidth=50%"})),
              HasSubstr("--vary links.hots.bandwidth=50%: no class of links is named 'hots', the "
                        "nearest valid one is 'host'"));
  EXPECT_THAT(error_of(flags_of({"links[sitch-host-0].latency=2x"})), HasSubstr("nearest"));
  EXPECT_THAT(error_of(flags_of({"rank=4"})), HasSubstr("--vary also knows 'ranks'"));
  EXPECT_THAT(error_of(flags_of({"bytes=1Q"})), HasSubstr("size '1Q'"));
  EXPECT_THAT(error_of(flags_of({"algo=rnig"})), HasSubstr("unknown algorithm 'rnig'"));
  EXPECT_THAT(error_of(flags_of({"model=alpha"})), HasSubstr("unknown network model 'alpha'"));
  EXPECT_THAT(error_of(flags_of({"ranks=4", "ranks=8"})), HasSubstr("given twice"));
  EXPECT_THAT(error_of(flags_of({"segments=2", "algo=ring"})), HasSubstr("no algorithm"));
  StudyFlags without;
  EXPECT_THAT(error_of(without), HasSubstr("--topology FILE"));
  StudyFlags twice = flags_of({"ranks=4"});
  twice.ranks = 4;
  EXPECT_THAT(error_of(twice), HasSubstr("given beside --ranks"));
  StudyFlags grown = flags_of({});
  grown.resize = true;
  EXPECT_THAT(error_of(grown), HasSubstr("--resize"));
  StudyFlags unequal = flags_of({});
  unequal.conditions.groups = "0-3,4-6";
  unequal.algorithms = "auto";
  EXPECT_THAT(error_of(unequal), HasSubstr("auto chooses for one size"));
}

}  // namespace
}  // namespace tutti
