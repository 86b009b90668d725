#include "experiments/cluster.hpp"

#include <gtest/gtest.h>

#include "topologies/fabrics.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

// Four switches with four hosts each, on a fifth switch.
Shape two_levels() {
  const LinkSpec host = {10e9, 1e-6}, spine = {1e9, 3e-6};
  return build_shape(
      leaf_spine({.leaves = 4, .spines = 1, .hosts_per_leaf = 4, .host = host, .spine = spine}),
      {.reduction_bytes_per_second = 5e9});
}

TEST(CostProfile, AStarHasOneClassOfLinks) {
  const CostProfile profile = cost_profile(star_shape(8, 12.5e9, 5e-6, 10e9), 8);
  EXPECT_EQ(profile.group, 1);
  EXPECT_DOUBLE_EQ(profile.outer.alpha_seconds, 5e-6);
  EXPECT_DOUBLE_EQ(profile.outer.beta_seconds_per_byte, 8e-11);
  EXPECT_DOUBLE_EQ(profile.outer.gamma_seconds_per_byte, 1e-10);
}

TEST(CostProfile, GroupsOnSwitchesAreFoundWithTheirLinks) {
  const CostProfile profile = cost_profile(two_levels(), 16);
  EXPECT_EQ(profile.group, 4);
  EXPECT_DOUBLE_EQ(profile.inner.alpha_seconds, 2e-6);
  EXPECT_DOUBLE_EQ(profile.inner.beta_seconds_per_byte, 1e-10);
  EXPECT_DOUBLE_EQ(profile.inner.gamma_seconds_per_byte, 2e-10);
  EXPECT_DOUBLE_EQ(profile.outer.alpha_seconds, 8e-6);
  // Four ranks share an uplink of 1 GB/s.
  EXPECT_DOUBLE_EQ(profile.outer.beta_seconds_per_byte, 4e-9);
  EXPECT_DOUBLE_EQ(profile.lone_beta_seconds_per_byte, 1e-9);
  EXPECT_DOUBLE_EQ(profile.outer.gamma_seconds_per_byte, 2e-10);
}

TEST(CostProfile, SitesFarApartAreTheGroupsRatherThanTheRacksWithinThem) {
  const CostProfile profile = cost_profile(load_shape("topologies/two_site_wan.yaml"), 64);
  EXPECT_EQ(profile.group, 32);
  EXPECT_LT(profile.inner.alpha_seconds, 1e-5);
  EXPECT_GT(profile.outer.alpha_seconds, 1e-3);
}

TEST(CostProfile, RanksWithinOneGroupKnowNoOtherLinks) {
  EXPECT_EQ(cost_profile(two_levels(), 4).group, 1);
  EXPECT_DOUBLE_EQ(cost_profile(two_levels(), 4).outer.beta_seconds_per_byte, 1e-10);
  EXPECT_DOUBLE_EQ(cost_profile(two_levels(), 1).outer.alpha_seconds, 0.0);
}

}  // namespace
}  // namespace tutti
