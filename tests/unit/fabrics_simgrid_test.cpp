// Our torus, fat tree and dragonfly against SimGrid's clusters of the same parameters.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <simgrid/s4u.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

constexpr LinkSpec cable = {1e9, 1e-6};

/// One of SimGrid's clusters in a platform of its own; there may be one in a process at a time.
class Cluster {
 public:
  Cluster(const std::string& topology, const std::string& parameters, int hosts) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("tutti-cluster-{}.xml", getpid());
    std::ofstream(file) << fmt::format(
        R"(<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="" suffix="" radical="0-{}" speed="1Gf" bw="1GBps" lat="1us"
           topology="{}" topo_parameters="{}" sharing_policy="SPLITDUPLEX"/>
</platform>
)",
        hosts - 1, topology, parameters);
    int count = 1;
    char name[] = "fabrics_simgrid_test";
    char* arguments[] = {name, nullptr};
    engine_ = std::make_unique<simgrid::s4u::Engine>(&count, arguments);
    engine_->load_platform(file.string());
    std::filesystem::remove(file);
  }

  std::vector<const simgrid::s4u::Link*> route(int from, int to) const {
    std::vector<simgrid::s4u::Link*> links;
    double latency_seconds = 0.0;
    engine_->host_by_name(std::to_string(from))
        ->route_to(engine_->host_by_name(std::to_string(to)), links, &latency_seconds);
    return {links.begin(), links.end()};
  }

 private:
  std::unique_ptr<simgrid::s4u::Engine> engine_;
};

/// Each of our links stands for one of SimGrid's, the same in all routes, and the other way around.
void expect_same_routes(const Fabric& fabric, const Cluster& cluster) {
  std::map<int, const simgrid::s4u::Link*> theirs;
  std::map<const simgrid::s4u::Link*, int> ours;
  for (int from = 0; from < fabric.terminals; ++from) {
    for (int to = 0; to < fabric.terminals; ++to) {
      if (from == to) continue;
      const Route route = fabric.route(from, to);
      const auto other = cluster.route(from, to);
      ASSERT_EQ(route.size(), other.size()) << from << " to " << to;
      for (std::size_t index = 0; index < route.size(); ++index) {
        ASSERT_EQ(theirs.emplace(route[index], other[index]).first->second, other[index])
            << from << " to " << to << ", link " << index;
        ASSERT_EQ(ours.emplace(other[index], route[index]).first->second, route[index])
            << from << " to " << to << ", link " << index;
      }
    }
  }
}

// Where both ways around a ring are equally long, SimGrid's choice depends on the coordinates.
TEST(FabricsLikeSimGrid, ATorusOfOddSizesHasTheSameRoutes) {
  expect_same_routes(grid({.dimensions = {5, 3, 7}, .links = {cable}}),
                     Cluster("TORUS", "5,3,7", 105));
}

TEST(FabricsLikeSimGrid, AFatTreeOfThreeLevelsHasTheSameRoutes) {
  expect_same_routes(fat_tree(k_ary_fat_tree(4, 1, {cable})),
                     Cluster("FAT_TREE", "3;2,2,4;1,2,2;1,1,1", 16));
}

TEST(FabricsLikeSimGrid, AFatTreeOfUnequalLevelsHasTheSameRoutes) {
  expect_same_routes(fat_tree({{4, 3, 2}, {1, 2, 3}, {}, {cable}}),
                     Cluster("FAT_TREE", "3;4,3,2;1,2,3;1,1,1", 24));
}

// SimGrid takes the first of parallel cables downwards, so that only the lengths can be compared.
TEST(FabricsLikeSimGrid, AFatTreeWithParallelCablesHasRoutesOfTheSameLength) {
  const Fabric fabric = fat_tree({{4, 4}, {1, 2}, {1, 2}, {cable}});
  const Cluster cluster("FAT_TREE", "2;4,4;1,2;1,2", 16);
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 16; ++to) {
      if (from == to) continue;
      EXPECT_EQ(fabric.route(from, to).size(), cluster.route(from, to).size());
    }
  }
}

// SimGrid attaches the cables between groups to other routers, so that only the number of routes of
// each length can be compared.
TEST(FabricsLikeSimGrid, ADragonflyHasAsManyRoutesOfEachLength) {
  const Fabric fabric = dragonfly({4, 4, 2, 1, cable, cable, cable});
  const Cluster cluster("DRAGONFLY", "4,1;1,1;4,1;2", 32);
  std::map<std::size_t, int> ours, theirs;
  for (int from = 0; from < 32; ++from) {
    for (int to = 0; to < 32; ++to) {
      if (from == to) continue;
      ++ours[fabric.route(from, to).size()];
      ++theirs[cluster.route(from, to).size()];
    }
  }
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace tutti
