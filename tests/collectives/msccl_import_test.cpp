#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "collectives/plan_check.hpp"
#include "collectives/plan_msccl.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Writes files. Steps are "type source target count", such as "rrc i0 o1 1"; "after T S" waits for
// step S of threadblock T, which is "awaited".
class FileWriter {
 public:
  explicit FileWriter(std::string_view attributes)
      : text_(fmt::format("<algo {}>\n", attributes)) {}

  FileWriter& gpu(int id, int input, int output, int scratch) {
    text_ += fmt::format("{}<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n",
                         end_gpu(), id, input, output, scratch);
    in_gpu_ = true;
    threadblock_ = 0;
    return *this;
  }

  FileWriter& threadblock(int send, int recv, const std::vector<std::string>& steps,
                          int channel = 0) {
    text_ += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", threadblock_++,
                         send, recv, channel);
    for (std::size_t i = 0; i < steps.size(); ++i) add_step(i, steps[i]);
    text_ += "</tb>\n";
    return *this;
  }

  std::string text() { return text_ + end_gpu() + "</algo>\n"; }

 private:
  void add_step(std::size_t index, const std::string& step) {
    std::istringstream words(step);
    std::string type, source, target, count;
    words >> type >> source >> target >> count;
    int depid = -1, deps = -1, hasdep = 0;
    for (std::string word; words >> word;) {
      if (word == "awaited") hasdep = 1;
      if (word == "after") words >> depid >> deps;
    }
    text_ += fmt::format(
        "<step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" "
        "cnt=\"{}\" depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        index, type, source[0], source.substr(1), target[0], target.substr(1), count, depid, deps,
        hasdep);
  }

  std::string end_gpu() { return std::exchange(in_gpu_, false) ? "</gpu>\n" : ""; }

  std::string text_;
  bool in_gpu_ = false;
  int threadblock_ = 0;
};

std::string head_of(std::string_view collective, int ranks, int chunks, bool in_place) {
  return fmt::format("coll=\"{}\" ngpus=\"{}\" nchunksperloop=\"{}\" inplace=\"{}\"", collective,
                     ranks, chunks, in_place ? 1 : 0);
}

std::string verdict_of(const std::string& text, const MscclOptions& options = {}) {
  return prove_msccl(parse_msccl(text, options)).text;
}

std::string error_of(const std::string& text, ErrorKind kind = ErrorKind::usage) {
  try {
    parse_msccl(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

TEST(MscclImport, AHandWrittenFileIsProvedAndAForgottenContributionIsNamed) {
  EXPECT_EQ(verdict_of(read_text("tests/fixtures/all_pairs.xml")), "proved: allreduce, in place");
  EXPECT_EQ(verdict_of(read_text("tests/fixtures/all_pairs_wrong.xml")),
            "wrong: allreduce on 4 ranks: chunk 3 of rank 0 ends as (2 + (0 + 3)) of chunk 3 and "
            "lacks the contribution of rank 1");
}

TEST(MscclImport, FusedStepsAreWhatTheyFuse) {
  // A ring out of place.
  FileWriter file(head_of("allreduce", 3, 3, false));
  for (int rank = 0; rank < 3; ++rank) {
    const int next = (rank + 1) % 3, last = (rank + 2) % 3;
    file.gpu(rank, 3, 3, 0)
        .threadblock(next, last,
                     {fmt::format("s i{} o0 1", rank), fmt::format("rrs i{} o0 1", last),
                      fmt::format("rrcs i{0} o{0} 1", next), fmt::format("rcs i0 o{} 1", rank),
                      fmt::format("r i0 o{} 1", last)});
  }
  const MscclPlan imported = parse_msccl(file.text(), {.bytes = 300});
  EXPECT_EQ(prove_msccl(imported).text, "proved: allreduce, out of place");
  for (const PlanVolume& volume : volumes(imported.plan)) {
    EXPECT_EQ(volume.bytes_sent, 400U);
    EXPECT_EQ(volume.bytes_reduced, 200U);
  }
  EXPECT_EQ(depth(imported.plan), 4);
}

TEST(MscclImport, InputAndOutputShareTheirMemoryInPlace) {
  for (const bool in_place : {true, false}) {
    const std::string place = in_place ? "in place" : "out of place";
    FileWriter gather(head_of("allgather", 2, 2, in_place));
    FileWriter scatter(head_of("reduce_scatter", 2, 2, in_place));
    FileWriter old_name(head_of("reducescatter", 2, 2, in_place));
    for (int rank = 0; rank < 2; ++rank) {
      const int other = 1 - rank;
      const std::string own = in_place ? "nop i0 o0 0" : fmt::format("cpy i0 o{} 1", rank);
      gather.gpu(rank, 1, 2, 0)
          .threadblock(other, other, {"s i0 o0 1", fmt::format("r i0 o{} 1", other), own});
      for (FileWriter* file : {&scatter, &old_name}) {
        file->gpu(rank, 2, 1, 0)
            .threadblock(other, other,
                         {fmt::format("s i{} o0 1", other), fmt::format("rrc i{} o0 1", rank)});
      }
    }
    EXPECT_EQ(verdict_of(gather.text()), "proved: allgather, " + place);
    EXPECT_EQ(verdict_of(scatter.text()), "proved: reduce_scatter, " + place);
    EXPECT_EQ(verdict_of(old_name.text()), "proved: reduce_scatter, " + place);
  }
}

TEST(MscclImport, AnExchangeInPlaceIsBufferedAsMscclDoes) {
  FileWriter file(head_of("alltoall", 2, 2, true));
  for (int rank = 0; rank < 2; ++rank) {
    const int other = 1 - rank;
    file.gpu(rank, 2, 2, 0)
        .threadblock(other, other,
                     {fmt::format("s i{} o0 1", other),  //
                      fmt::format("r i0 o{} 1", other)});
  }
  EXPECT_EQ(verdict_of(file.text()), "proved: alltoall, in place");
}

TEST(MscclImport, TheRootOfABroadcastIsTheCallers) {
  FileWriter file(head_of("broadcast", 2, 1, true));
  file.gpu(0, 1, 1, 0).threadblock(-1, 1, {"r i0 o0 1"});
  file.gpu(1, 1, 1, 0).threadblock(0, -1, {"s i0 o0 1"});
  const std::string text = file.text();
  EXPECT_EQ(verdict_of(text, {.root = 1}), "proved: broadcast, in place");
  EXPECT_THAT(verdict_of(text), HasSubstr("chunk 0 of rank 1 is read before it was written"));
  EXPECT_THROW(parse_msccl(text, {.root = 2}), Error);
}

TEST(MscclImport, StepsOfDifferentChannelsMatchAmongThemselves) {
  FileWriter file(head_of("broadcast", 2, 2, true));
  file.gpu(0, 2, 2, 0).threadblock(1, -1, {"s i0 o0 1"}, 0).threadblock(1, -1, {"s i1 o1 1"}, 1);
  file.gpu(1, 2, 2, 0).threadblock(-1, 0, {"r i1 o1 1"}, 1).threadblock(-1, 0, {"r i0 o0 1"}, 0);
  EXPECT_EQ(verdict_of(file.text()), "proved: broadcast, in place");
}

TEST(MscclImport, RanksThatAddInDifferentOrdersAreNoted) {
  FileWriter file(head_of("allreduce", 3, 1, true));
  for (int rank = 0; rank < 3; ++rank) {
    const int next = (rank + 1) % 3, last = (rank + 2) % 3;
    file.gpu(rank, 1, 1, 2)
        .threadblock(next, next, {"s i0 s0 1", "r i0 s0 1 awaited"})
        .threadblock(
            last, last,
            {"s i0 s1 1", "r i0 s1 1", "nop i0 o0 0 after 0 1", "re s0 i0 1", "re s1 i0 1"});
  }
  EXPECT_EQ(verdict_of(file.text()),
            "proved: allreduce, in place; the last bits may differ, since not all ranks add in the "
            "same order");
}

TEST(MscclImport, AMissingDependencyIsARaceHoweverItWouldTurnOut) {
  const auto verdict = [](const std::string& dependency) {
    FileWriter file(head_of("broadcast", 2, 1, false));
    file.gpu(0, 1, 1, 0).threadblock(1, -1, {"s i0 o0 1", "cpy i0 o0 1"});
    file.gpu(1, 1, 1, 1)
        .threadblock(-1, 0, {"r i0 s0 1 awaited"})
        .threadblock(-1, -1, {"cpy s0 o0 1" + dependency});
    return verdict_of(file.text());
  };
  EXPECT_EQ(verdict(" after 0 0"), "proved: broadcast, out of place");
  EXPECT_EQ(verdict(""),
            "wrong: rank 1: the steps of lines 10 and 13 both touch scratch chunk 0, and neither "
            "waits for the other");
}

TEST(MscclImport, AnOrderThatOtherRanksGiveIsNoRace) {
  // Rank 0 receives what rank 1 made of its chunk; hence its send is over.
  FileWriter file(head_of("allreduce", 2, 1, true));
  file.gpu(0, 1, 1, 0).threadblock(1, -1, {"s i0 o0 1"}).threadblock(-1, 1, {"r i0 o0 1"});
  file.gpu(1, 1, 1, 0).threadblock(0, 0, {"rrcs i0 i0 1"});
  EXPECT_EQ(verdict_of(file.text()), "proved: allreduce, in place");
}

TEST(MscclImport, WhatNobodyKnowsIsReplayedButNotProved) {
  FileWriter file("name=\"next\" ngpus=\"2\" nchunksperloop=\"1\"");
  file.gpu(0, 1, 1, 0).threadblock(1, -1, {"s i0 o0 1"});
  file.gpu(1, 1, 1, 0).threadblock(-1, 0, {"r i0 o0 1"});
  const MscclPlan imported = parse_msccl(file.text(), {.bytes = 8});
  EXPECT_EQ(volumes(imported.plan)[0].bytes_sent, 8U);
  EXPECT_EQ(prove_msccl(imported).status, MscclVerdict::Status::unknown);
}

TEST(MscclImport, MessagesThatDoNotMatchAndDeadlocksNameTheirLines) {
  FileWriter unheard(head_of("broadcast", 2, 1, true));
  unheard.gpu(0, 1, 1, 0).threadblock(1, -1, {"s i0 o0 1"});
  EXPECT_THAT(error_of(unheard.text(), ErrorKind::mismatch),
              HasSubstr("rank 0, line 4: send to 1"));
  FileWriter uneven(head_of("broadcast", 2, 2, true));
  uneven.gpu(0, 2, 2, 0).threadblock(1, -1, {"s i0 o0 2"});
  uneven.gpu(1, 2, 2, 0).threadblock(-1, 0, {"r i0 o0 1"});
  EXPECT_THAT(error_of(uneven.text(), ErrorKind::mismatch),
              HasSubstr("line 9: found a receive of"));
  FileWriter cycle(head_of("broadcast", 1, 1, true));
  cycle.gpu(0, 1, 1, 0)
      .threadblock(-1, -1, {"nop i0 o0 0 awaited after 1 0"})
      .threadblock(-1, -1, {"nop i0 o0 0 awaited after 0 0"});
  EXPECT_THAT(error_of(cycle.text(), ErrorKind::deadlock), HasSubstr("line 4: nop cannot start"));
}

// A good file with the first `from` replaced.
std::string error_with(const std::string& from, const std::string& to) {
  std::string text = read_text("tests/fixtures/all_pairs.xml");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return error_of(text.replace(at, from.size(), to));
}

TEST(MscclImport, ErrorsNameTheLineAndWhatWasExpected) {
  const struct {
    const char* from;
    const char* to;
    const char* error;
  } cases[] = {
      {"ngpus=\"4\"", "ngpus=\"0\"",
       "line 3: found ngpus=\"0\", expected a number from 1 to 65536"},
      {"ngpus=\"4\"", "ngpus=\"65537\"", "line 3: found ngpus=\"65537\""},
      {"nchunksperloop=\"4\"", "", "line 3: found no nchunksperloop, expected a number from 1"},
      {"nchunksperloop=\"4\"", "nchunksperloop=\"9999999999\"", "found nchunksperloop=\"99999999"},
      {"inplace=\"1\"", "inplace=\"yes\"", "line 3: found inplace=\"yes\", expected a number"},
      {"<gpu id=\"1\"", "<gpu id=\"0\"", ": found gpu 0 again, expected another id"},
      {"<gpu id=\"1\"", "<gpu id=\"4\"", ": found id=\"4\", expected a number from 0 to 3"},
      {"s_chunks=\"4\"", "s_chunks=\"-1\"", "line 5: found s_chunks=\"-1\""},
      {"s_chunks=\"4\"", "s_chunks=\"1\"",
       "line 8: found chunks 1 to 1 of 's', expected chunks be"},
      {"send=\"1\"", "send=\"0\"", "line 6: found send=\"0\" in gpu 0, expected another rank"},
      {"send=\"1\"", "send=\"-1\"", "line 7: found a send in a tb without one"},
      {"recv=\"1\"", "recv=\"-1\"", "line 8: found a receive in a tb without one"},
      {"recv=\"2\"", "recv=\"1\"", "line 17: found a second tb of gpu 0 that receives from rank 1"},
      {"<tb id=\"1\"", "<tb id=\"0\"", "line 17: found tb 0 of gpu 0 again"},
      {"<step s=\"1\"", "<step s=\"2\"", "line 8: found s=\"2\", expected 1: steps are numbered"},
      {"type=\"re\"", "type=\"put\"", "line 11: found type=\"put\", expected s, r, rcs"},
      {"srcbuf=\"s\"", "srcbuf=\"x\"", "line 11: found srcbuf=\"x\", expected i, o or s"},
      {"cnt=\"1\"", "cnt=\"5\"", "line 7: found chunks 1 to 5 of 'i', expected chunks below 4"},
      {"depid=\"1\" deps=\"1\"", "depid=\"7\" deps=\"1\"",
       "line 9: found a wait for step 1 of tb 7"},
      {"depid=\"1\" deps=\"1\"", "depid=\"1\" deps=\"4\"", "expected one of its 4 steps"},
      {"hasdep=\"1\"", "hasdep=\"0\"", "found hasdep=\"0\", expected 1, since the step of line"},
      {"</gpu>", "<op/></gpu>", "found <op>, expected <tb>"},
      {"<step s=\"0\"", "text <step s=\"0\"", "found text, expected <step>"},
      {"</gpu>", "", "found no well-formed XML"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(error_with(one.from, one.to), HasSubstr(one.error)) << one.from << ' ' << one.to;
  }
  EXPECT_THAT(error_of(""), HasSubstr("line 1: found no well-formed XML"));
  EXPECT_EQ(error_of("<!-- -->\n<plan/>"), "line 2: found <plan>, expected <algo>");
  EXPECT_THAT(error_of("<algo " + head_of("allgather", 4, 6, true) + "/>"),
              HasSubstr("found nchunksperloop=\"6\" of allgather on 4 ranks, expected a multiple"));
}

TEST(MscclImport, ASizeThatTheChunksDoNotDivideIsRefusedWithOneThatTheyDo) {
  try {
    parse_msccl(read_text("tests/fixtures/all_pairs.xml"), {.bytes = 1001});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("for 1001 bytes, expected a size that it divides, such as "
                                        "1004"));
  }
}

TEST(MscclImport, HugeCountsInASmallFileAreRefused) {
  FileWriter file(head_of("broadcast", 64, 1 << 20, true));
  file.gpu(0, 1, 1, 0);
  for (int peer = 1; peer < 64; ++peer) file.threadblock(peer, -1, {"s i0 o0 1048576"});
  EXPECT_THAT(error_of(file.text()), HasSubstr("found too many chunks, expected 33554432"));
  std::string deep = "<algo nchunksperloop=\"1\">";
  for (int i = 0; i < 100'000; ++i) deep += "<gpu>";
  EXPECT_THAT(error_of(deep), HasSubstr("found no well-formed XML"));
  const std::string wide = "<algo " + head_of("allreduce", 65'536, 1 << 20, true) + "/>";
  EXPECT_THAT(verdict_of(wide), HasSubstr("not proved: too many ranks"));
}

TEST(MscclImport, DamagedTextIsRefusedOrUnderstoodButNeverMore) {
  const std::string good = read_text("tests/fixtures/all_pairs.xml");
  constexpr unsigned seed = 20240918;
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string text = good;
    for (auto changes = random() % 3 + 1; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>('0' + random() % 10);
      } else {
        text.erase(at, random() % 4);
      }
    }
    try {
      verdict_of(text);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300) << "seed " << seed;
}

}  // namespace
}  // namespace tutti
