#include "topologies/resize.hpp"

#include <gmock/gmock.h>

#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;

int size_for(const std::string& name, int ranks, std::vector<std::string> settings = {}) {
  const std::string file = "topologies/" + name + ".yaml";
  for (const std::string& setting : settings_for_ranks(file, settings, ranks)) {
    settings.push_back(setting);
  }
  return load_shape(file, settings).size();
}

TEST(Resize, FactorsAreAsEqualAsCanBe) {
  EXPECT_THAT(balanced_factors(32, 2), ElementsAre(4, 8));
  EXPECT_THAT(balanced_factors(24, 3), ElementsAre(2, 3, 4));
  EXPECT_THAT(balanced_factors(7, 2), ElementsAre(1, 7));
  EXPECT_THAT(balanced_factors(64, 3), ElementsAre(4, 4, 4));
}

TEST(Resize, ShapesHaveExactlyTheRanksWhereTheirKindCan) {
  for (const int ranks : {4, 8, 12, 32, 64}) {
    for (const char* name : {"star", "ring", "torus_2d", "torus_3d"}) {
      EXPECT_EQ(size_for(name, ranks), ranks) << name;
    }
  }
}

TEST(Resize, OtherShapesAreTheSmallestWithRoom) {
  EXPECT_EQ(size_for("hypercube", 20), 32);
  EXPECT_EQ(size_for("leaf_spine_100g", 49), 72);  // Three leaves of 24.
  EXPECT_EQ(size_for("hgx_8", 64), 64);
  EXPECT_EQ(size_for("hgx_8", 65), 128);  // Two pods of 8 machines of 8.
  EXPECT_EQ(size_for("fat_tree", 100), 128);
  EXPECT_EQ(size_for("dragonfly", 33), 64);
}

TEST(Resize, SettingsComeFirst) {
  EXPECT_EQ(size_for("leaf_spine_100g", 49, {"hosts_per_leaf=10", "links.spine.latency=2x"}), 50);
}

TEST(Resize, AShapeWithoutASizeIsAnError) {
  EXPECT_THROW(settings_for_ranks("topologies/laptop.yaml", {}, 4), ShapeError);
}

}  // namespace
}  // namespace tutti
