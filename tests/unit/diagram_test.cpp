#include "experiments/diagram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <pugixml.hpp>

#include "collectives/error.hpp"
#include "collectives/plan_of.hpp"

namespace tutti {
namespace {

constexpr CostModel model{5e-6, 8e-11, 0.0};

std::vector<Arrow> arrows_of(Collective collective, std::string_view name, int ranks) {
  const Problem problem{ranks, static_cast<std::size_t>(4 * ranks), 4, 0, {}};
  return arrows_of(plan_of(find_algorithm(collective, name), problem), model);
}

TEST(Diagram, RunsOfRanksAreJoined) {
  EXPECT_EQ(format_ranks({}), "");
  EXPECT_EQ(format_ranks({3}), "3");
  EXPECT_EQ(format_ranks({5, 4}), "4,5");
  EXPECT_EQ(format_ranks({9, 0, 1, 2, 7, 8, 4}), "0-2,4,7-9");
}

TEST(Diagram, ShowsWhoSendsAndWhoReduces) {
  EXPECT_EQ(text_diagram(arrows_of(Collective::allreduce, "ring", 3), 3),
            "  step  rank 0  rank 1  rank 2\n"
            "  1-2   >1 +2   >2 +0   >0 +1\n"
            "  3-4   >1 <2   >2 <0   >0 <1\n");
}

TEST(Diagram, HasRanksAsLinesWhereStepsAreFewer) {
  EXPECT_THAT(text_diagram(arrows_of(Collective::broadcast, "binomial", 32), 32),
              testing::StartsWith("  rank  step 1  step 2  step 3  step 4  step 5\n"
                                  "  0     >1      >2      >4      >8      >16\n"
                                  "  1     <0      >3      >5      >9      >17\n"));
}

TEST(Diagram, IsEmptyWhereItWouldBeTooWide) {
  EXPECT_EQ(text_diagram(arrows_of(Collective::allreduce, "ring", 64), 64), "");
  EXPECT_EQ(text_diagram({}, 1), "");
}

TEST(SvgDiagram, DrawsAnArrowFromTheSendersBeginToTheReceiversEnd) {
  const std::vector<Arrow> arrows = arrows_of(Collective::allreduce, "tree", 4);
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(svg_diagram(arrows, 4, "a <b> & \"c\"").c_str()));
  EXPECT_STREQ(document.child("svg").child("title").text().get(), "a <b> & \"c\"");
  std::vector<pugi::xml_node> lines;
  for (const pugi::xml_node line : document.child("svg").children("line")) {
    if (line.attribute("marker-end")) lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), arrows.size());
  // By rank 0's line and the last message's end, which is at the right border.
  const double right = 970, left = 70, top = 60, row = 34, end = arrows.back().end_seconds;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto at = [&](const char* key) { return lines[i].attribute(key).as_double(); };
    const auto x = [&](double seconds) { return left + (right - left) * seconds / end; };
    // Coordinates have one digit.
    EXPECT_NEAR(at("x1"), x(arrows[i].begin_seconds), 0.06);
    EXPECT_NEAR(at("x2"), x(arrows[i].end_seconds), 0.06);
    EXPECT_EQ(at("y1"), top + row * arrows[i].from);
    EXPECT_EQ(at("y2"), top + row * arrows[i].to);
    EXPECT_STREQ(lines[i].attribute("marker-end").value(),
                 arrows[i].folds ? "url(#folds)" : "url(#moves)");
  }
}

TEST(SvgDiagram, NothingToDrawIsStillAPicture) {
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(svg_diagram({}, 1, "nothing").c_str()));
}

TEST(SvgDiagram, TooManyRanksAreRefused) {
  EXPECT_THROW(svg_diagram({}, most_svg_ranks + 1, ""), Error);
}

}  // namespace
}  // namespace tutti
