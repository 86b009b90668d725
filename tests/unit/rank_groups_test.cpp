#include "experiments/rank_groups.hpp"

#include <gmock/gmock.h>

#include "collectives/error.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_groups(text, 8);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(RankGroups, AreRangesStridesAndRanksInTheirOrder) {
  EXPECT_TRUE(parse_groups("", 8).empty());
  const auto groups = parse_groups("0-2,3-7:2,6+4", 8);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[1].name, "3-7:2");
  EXPECT_THAT(groups[0].members, ElementsAre(0, 1, 2));
  EXPECT_THAT(groups[1].members, ElementsAre(3, 5, 7));
  EXPECT_THAT(groups[2].members, ElementsAre(6, 4));
}

TEST(RankGroups, ThatCannotBeAreErrors) {
  EXPECT_THAT(error_of("0-3,3-5"), HasSubstr("rank 3 is in 0-3 and in 3-5"));
  EXPECT_THAT(error_of("0-8"), HasSubstr("8 is not a rank, expected 0 to 7"));
  EXPECT_THAT(error_of("a-b"), HasSubstr("'a-b' is no range of ranks"));
  EXPECT_THAT(error_of("0-3,"), HasSubstr("'' is no range of ranks"));
  EXPECT_THAT(error_of("3-1"), HasSubstr("an empty range"));
  EXPECT_THAT(error_of("0-4:0"), HasSubstr("an empty range"));
  EXPECT_THAT(error_of("99999999999"), HasSubstr("is no range of ranks"));
}

TEST(RankGroups, MayBeOfDifferentSizes) {
  const auto groups = parse_groups("0+1,2-5,6", 8);
  EXPECT_EQ(largest_group(groups).name, "2-5");
  EXPECT_THAT(group_sizes(groups, 8), ElementsAre(4, 2, 1));
  EXPECT_THAT(group_sizes({}, 8), ElementsAre(8));
}

}  // namespace
}  // namespace tutti
