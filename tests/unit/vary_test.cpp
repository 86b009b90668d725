#include "experiments/vary.hpp"

#include <gmock/gmock.h>

#include "collectives/error.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> values_of(const std::string& text) {
  return parse_axis("key=" + text).values;
}

std::string error_of(const std::string& text) {
  try {
    parse_axis(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Vary, AListIsTakenAsTyped) {
  EXPECT_EQ(parse_axis("links.spine.latency=2us").key, "links.spine.latency");
  EXPECT_THAT(values_of("ring,tree"), ElementsAre("ring", "tree"));
  EXPECT_THAT(values_of("block,[1,0,2],4x4"), ElementsAre("block", "[1,0,2]", "4x4"));
  EXPECT_THAT(values_of("../shapes/a.yaml,./b..c.yaml"),
              ElementsAre("../shapes/a.yaml", "./b..c.yaml"));
}

TEST(Vary, TwoValuesGoOnByTheirFactorOrElseByTheirDifference) {
  EXPECT_THAT(values_of("4,8,..,64"), ElementsAre("4", "8", "16", "32", "64"));
  EXPECT_THAT(values_of("4,8,..,12"), ElementsAre("4", "8", "12"));
  EXPECT_THAT(values_of("8,4,..,1"), ElementsAre("8", "4", "2", "1"));
  EXPECT_THAT(values_of("1K,4K,..,64K"), ElementsAre("1K", "4K", "16K", "64K"));
  EXPECT_THAT(values_of("3,10,20,..,40,50"), ElementsAre("3", "10", "20", "40", "50"));
  EXPECT_THAT(values_of("512,1K,..,4K"), ElementsAre("512", "1K", "2K", "4K"));
}

TEST(Vary, ARangeHasAFactorOrADifference) {
  EXPECT_THAT(values_of("25%..200%*2"), ElementsAre("25%", "50%", "100%", "200%"));
  EXPECT_THAT(values_of("1us..9us+4us"), ElementsAre("1us", "5us", "9us"));
  EXPECT_THAT(values_of("500ns..2us*2"), ElementsAre("500ns", "1us", "2us"));
  EXPECT_THAT(values_of("100%..25%*0.5"), ElementsAre("100%", "50%", "25%"));
  EXPECT_THAT(values_of("1..8*3"), ElementsAre("1", "3"));  // 9 is beyond the end.
  EXPECT_THAT(values_of("5..5*2"), ElementsAre("5"));
  EXPECT_THAT(values_of("0.1..0.3+0.1"), ElementsAre("0.1", "0.2", "0.3"));
  const auto sizes = values_of("1K..1G*4");
  ASSERT_EQ(sizes.size(), 11u);
  EXPECT_EQ(sizes[5], "1M");
  EXPECT_EQ(sizes.back(), "1G");
}

TEST(Vary, WhatIsNoAxisIsAnErrorThatSaysWhatIsExpected) {
  EXPECT_THAT(error_of("ranks"), HasSubstr("--vary ranks: expected KEY=VALUES such as"));
  EXPECT_THAT(error_of("=4"), HasSubstr("expected KEY=VALUES"));
  EXPECT_THAT(error_of("ranks="), HasSubstr("an empty value"));
  EXPECT_THAT(error_of("ranks=4,,8"), HasSubstr("an empty value"));
  EXPECT_THAT(error_of("ranks=4,8,4"), HasSubstr("4 comes twice"));
  EXPECT_THAT(error_of("ranks=4,..,8"), HasSubstr("'..' needs two values before it"));
  EXPECT_THAT(error_of("ranks=4,8,.."), HasSubstr("'..' needs two values before it"));
  EXPECT_THAT(error_of("ranks=4,8,..,31"), HasSubstr("leads to 31"));
  EXPECT_THAT(error_of("algo=ring,tree,..,z"), HasSubstr("numbers of one kind"));
  EXPECT_THAT(error_of("bytes=1K..1G"), HasSubstr("expected a step"));
  EXPECT_THAT(error_of("bytes=1K..1us*2"), HasSubstr("numbers of one kind"));
  EXPECT_THAT(error_of("bytes=1K..1G*1"), HasSubstr("do not lead from 1K to 1G"));
  EXPECT_THAT(error_of("bytes=1K..1G*0.5"), HasSubstr("do not lead"));
  EXPECT_THAT(error_of("n=8..1*-1"), HasSubstr("do not lead"));
  EXPECT_THAT(error_of("n=8..0*0.5"), HasSubstr("do not lead"));
  EXPECT_THAT(error_of("n=1..1000000+1"), HasSubstr("more than 10000 values"));
}

TEST(Vary, SizesAreWrittenInTheLargestUnitThatDividesThem) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(1024), "1K");
  EXPECT_EQ(format_size(std::size_t{3} << 20), "3M");
}

}  // namespace
}  // namespace tutti
