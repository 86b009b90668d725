#include "experiments/study_table.hpp"

#include <gmock/gmock.h>

#include <cstdio>

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string tables_of(const std::vector<StudyEntry>& entries, bool colours = false) {
  std::FILE* const file = std::tmpfile();
  Output output(file);
  write_study_tables(entries, colours, output);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

StudyEntry entry(const std::string& variant, const std::string& algorithm, int ranks,
                 std::size_t bytes, std::optional<double> microseconds) {
  StudyEntry made;
  made.collective = "allreduce";
  made.variant = variant;
  made.algorithm = algorithm;
  made.ranks = ranks;
  made.bytes = bytes;
  if (microseconds) made.seconds = *microseconds * 1e-6;
  return made;
}

TEST(StudyTable, EachCellHasItsWinnerAndTheMarginOverTheSecond) {
  const std::string text =
      tables_of({entry("ring.yaml", "ring", 4, 1024, 30), entry("ring.yaml", "tree", 4, 1024, 20),
                 entry("ring.yaml", "ring", 8, 1024, 20), entry("ring.yaml", "tree", 8, 1024, 20.4),
                 entry("ring.yaml", "naive", 8, 1024, std::nullopt)});
  EXPECT_THAT(text, HasSubstr("allreduce, ring.yaml: the fastest, and its margin"));
  EXPECT_THAT(text, HasSubstr("bytes    4 ranks     8 ranks"));
  EXPECT_THAT(text, HasSubstr("   1K  tree +50%  ring +2.0%"));
}

TEST(StudyTable, SmallMarginsAreGreyWhereThereAreColours) {
  const std::vector<StudyEntry> entries = {
      entry("a", "ring", 4, 1024, 20), entry("a", "tree", 4, 1024, 20.9),
      entry("a", "ring", 8, 1024, 20), entry("a", "tree", 8, 1024, 21.1)};
  EXPECT_THAT(tables_of(entries, true), HasSubstr("\x1b[90m  ring +4.5%\x1b[0m  ring +5.5%\n"));
  EXPECT_THAT(tables_of(entries, false), Not(HasSubstr("\x1b")));
}

TEST(StudyTable, ScalingComparesTheBestTimesOfTheVariants) {
  const std::string text =
      tables_of({entry("a", "ring", 4, 1024, 30), entry("a", "tree", 4, 1024, 20),
                 entry("a", "ring", 8, 1024, 40), entry("b", "ring", 4, 1024, 5000),
                 entry("b", "ring", 8, 1024, std::nullopt)});
  EXPECT_THAT(text, HasSubstr("allreduce of 1K bytes: the best time\n"
                              "  ranks         a        b\n"
                              "      4  20.00 us  5.00 ms\n"
                              "      8  40.00 us        -\n"));
}

TEST(StudyTable, OneAlgorithmHasNoRivalsButTimes) {
  const std::string text =
      tables_of({entry("a", "ring", 4, 1 << 20, 30), entry("a", "ring", 4, 2 << 20, std::nullopt)});
  EXPECT_THAT(text, HasSubstr("allreduce, a: ring, time"));
  EXPECT_THAT(text, HasSubstr("1M  30.00 us"));
  EXPECT_THAT(text, HasSubstr("2M    failed"));
}

TEST(StudyTable, IsCutIntoPiecesThatFitAPage) {
  std::vector<StudyEntry> entries;
  for (int ranks = 1; ranks <= 20; ++ranks) {
    entries.push_back(entry("a", "scatter_allgather", ranks, 1024, 10));
    entries.push_back(entry("a", "binomial", ranks, 1024, 20));
  }
  const std::string text = tables_of(entries);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 102u);
    begin = end + 1;
  }
  EXPECT_THAT(text, HasSubstr("20 ranks"));
}

}  // namespace
}  // namespace tutti
