// explain, catalogue and replay, as users run them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>

#include "collectives/catalogue.hpp"
#include "collectives/plan_json.hpp"
#include "run_tutti.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr auto star = "--topology topologies/star.yaml";

std::string temporary(const std::string& name) {
  return fmt::format("{}tutti_{}_{}", testing::TempDir(), getpid(), name);
}

TEST(ExplainCommand, PrintsWhatIsOnFile) {
  const CommandResult result = run_tutti("explain allreduce ring --ranks 4 --count 8 --gamma 0.1");
  const char* path = "tests/golden/explain_allreduce_ring.txt";
  if (std::getenv("TUTTI_WRITE_GOLDEN") != nullptr) std::ofstream(path) << result.output;
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, read_text(path));
}

TEST(ExplainCommand, EveryAlgorithmCostsWhatItsFormSaysAndIsProved) {
  for (const Algorithm& algorithm : catalogue()) {
    const CommandResult result =
        run_tutti(fmt::format("explain {} {} --ranks 6 --root 0 --count 36 --gamma 0.2",
                              name_of(algorithm.collective), algorithm.name));
    EXPECT_EQ(result.exit_code, 0) << result.errors << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr("proof: holds"), HasSubstr("closed form")));
  }
}

TEST(ExplainCommand, TuningThatChangesNothingIsRefused) {
  EXPECT_THAT(run_tutti("explain broadcast binomial --ranks 4 --radix 4").errors,
              HasSubstr("--radix 4: no chosen algorithm of broadcast uses it; knomial would"));
  EXPECT_EQ(run_tutti("explain broadcast knomial --ranks 4 --radix 4").exit_code, 0);
}

// 5 us of latency, and 1 us for the send and 2 us for the receive of one message after the other.
TEST(ExplainCommand, OverheadsAreCountedForEveryMessage) {
  const std::string overheads = " --beta 0 --send-overhead 1 --receive-overhead 2";
  const CommandResult scattered = run_tutti("explain scatter linear --ranks 6" + overheads);
  EXPECT_EQ(scattered.exit_code, 0) << scattered.errors;
  EXPECT_THAT(scattered.output,
              AllOf(ContainsRegex("sends +5 +5  bound"), ContainsRegex("receives +1 +1  bound"),
                    ContainsRegex("time_us +12.000 +12.000  bound"),
                    HasSubstr("overheads: 1 us a send, 2 us a receive")));
  EXPECT_THAT(run_tutti("explain scatter linear --ranks 6 --beta 0").output,
              AllOf(ContainsRegex("time_us +5.000 +5.000  bound"), Not(HasSubstr("overheads:"))));
  EXPECT_THAT(run_tutti("explain allreduce ring --ranks 3" + overheads).output,
              ContainsRegex("time_us +32.000 +32.000  bound"));
}

TEST(ExplainCommand, ManyRanksShareLines) {
  const CommandResult result = run_tutti("explain broadcast binomial --ranks 100 --root 99");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("modulo 100"));
  EXPECT_LT(std::count(result.output.begin(), result.output.end(), '\n'), 160);
}

TEST(ExplainCommand, TheSvgIsWellFormed) {
  const std::string file = temporary("ring.svg");
  const CommandResult result = run_tutti("explain allreduce ring --ranks 5 --svg " + file);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  pugi::xml_document document;
  EXPECT_TRUE(document.load_file(file.c_str()));
  EXPECT_EQ(document.child("svg").select_nodes("line[@marker-end]").size(), 40U);
  unlink(file.c_str());
}

TEST(ExplainCommand, ExportsAreWhatTheirFormatsAre) {
  const auto exported = [](const std::string& format) {
    const CommandResult result =
        run_tutti("explain allreduce ring --ranks 3 --count 9 --export " + format);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output;
  };
  EXPECT_THAT(exported("goal"), StartsWith("num_ranks 3\n\nrank 0 {\nl1: send 12b to 1 tag 0\n"));
  EXPECT_THAT(exported("msccl"), StartsWith("<algo name=\"allreduce_ring\""));
  EXPECT_THAT(exported("text"), StartsWith("plan of 3 ranks\nrank 0 step 1 send to 1"));
  EXPECT_EQ(plan_from_json(exported("json")).size, 3);
}

TEST(ReplayCommand, AnExportedPlanTakesAsLongAsTheAlgorithm) {
  const std::string file = temporary("plan");
  for (const char* algorithm : {"ring", "tree", "direct", "double_tree", "hierarchical"}) {
    const std::string size = fmt::format("{} --ranks 6 --bytes 600K", algorithm);
    const CommandResult simulated = run_tutti(fmt::format(
        "simulate allreduce --algo {} --ranks 6 --sizes 600K --json {}", algorithm, star));
    ASSERT_EQ(simulated.exit_code, 0) << simulated.errors;
    const double expected = nlohmann::json::parse(simulated.output)["time_us"];
    for (const char* format : {"goal", "json"}) {
      const std::string name = fmt::format("{}.{}", file, format);
      ASSERT_EQ(run_tutti(fmt::format("explain allreduce {} --export {} > {}", size, format, name))
                    .exit_code,
                0);
      const CommandResult replayed = run_tutti(fmt::format("replay {} --json {}", name, star));
      ASSERT_EQ(replayed.exit_code, 0) << replayed.errors;
      const auto json = nlohmann::json::parse(replayed.output);
      // The order of simultaneous posts may differ, and with it SimGrid's last digits.
      EXPECT_NEAR(json["time_us"], expected, 1e-6 * expected) << algorithm << ' ' << format;
      EXPECT_EQ(json["rank_end_us"].size(), 6U);
      unlink(name.c_str());
    }
  }
}

TEST(ReplayCommand, AFileOfAnotherToolIsSimulated) {
  const CommandResult result =
      run_tutti(fmt::format("replay tests/fixtures/reduce_broadcast.goal {} --json", star));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["messages"], 6);
  // Three messages of 5 us and 81.92 ns, and the calc of 2 us.
  EXPECT_NEAR(json["no_contention_us"], 17.24576, 1e-6);
  EXPECT_GE(json["time_us"], json["no_contention_us"].get<double>() - 1e-6);
}

TEST(ReplayCommand, AnMscclFileIsProvedOrNot) {
  const std::string right = "replay tests/fixtures/all_pairs.xml --bytes 4M ";
  const CommandResult result = run_tutti(right + star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("bytes          25165824\n"),
                                   HasSubstr("proof          proved: allreduce, in place\n")));
  const CommandResult wrong =
      run_tutti(fmt::format("replay tests/fixtures/all_pairs_wrong.xml --json {}", star));
  EXPECT_EQ(wrong.exit_code, 1) << wrong.errors;
  const auto json = nlohmann::json::parse(wrong.output);
  EXPECT_EQ(json["proof"]["status"], "wrong");
  EXPECT_THAT(json["proof"]["text"].get<std::string>(),
              HasSubstr("lacks the contribution of rank 1"));
  EXPECT_EQ(json["buffer_bytes"], 1 << 20);
  EXPECT_THAT(
      run_tutti(fmt::format("replay tests/fixtures/all_pairs.xml --bytes 5 {}", star)).errors,
      HasSubstr("tests/fixtures/all_pairs.xml:3: found nchunksperloop=\"4\" for 5 bytes"));
  EXPECT_EQ(run_tutti(fmt::format("replay tests/fixtures/reduce_broadcast.goal --bytes 4 {}", star))
                .exit_code,
            2);
}

TEST(ReplayCommand, BadFilesAreUsageErrorsThatNameFileAndLine) {
  const std::string file = temporary("bad.goal");
  std::ofstream(file) << "num_ranks 2\nrank 0 {\nsend 8b to 7\n}\n";
  const CommandResult result = run_tutti(fmt::format("replay {} {}", file, star));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr(file + ":3: found '7', expected a rank from 0 to 1"));
  std::ofstream(file) << "num_ranks 900\n";
  EXPECT_THAT(run_tutti(fmt::format("replay {} {}", file, star)).errors,
              HasSubstr("900 ranks, but topologies/star.yaml has 8 hosts; try --set hosts=900"));
  unlink(file.c_str());
  EXPECT_EQ(run_tutti(fmt::format("replay {} {}", file, star)).exit_code, 3);
}

TEST(CatalogueCommand, EveryAlgorithmIsListedAndProved) {
  const CommandResult result = run_tutti("catalogue --json --prove 9");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  std::istringstream lines(result.output);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto row = nlohmann::json::parse(line);
    for (const char* key :
         {"collective", "algo", "full_name", "steps", "bytes", "time", "supported", "source"}) {
      EXPECT_FALSE(row[key].get<std::string>().empty()) << key << ' ' << line;
    }
    EXPECT_THAT(row["form"], testing::AnyOf("exact", "bound", "mixed"));
    EXPECT_EQ(row["proof"]["status"], "proved") << line;
    EXPECT_EQ(row["proof"]["up_to_ranks"], 9);
    EXPECT_GE(row["proof"]["plans"], 5);
  }
  EXPECT_EQ(count, catalogue().size());
}

TEST(CatalogueCommand, TheTableSaysWhatWasProved) {
  EXPECT_THAT(
      run_tutti("catalogue allgather --prove 4").output,
      AllOf(HasSubstr("neighbor_exchange"), HasSubstr("proved, N <= 4"), HasSubstr("even N")));
  EXPECT_THAT(run_tutti("catalogue --prove 0").output, HasSubstr("not run"));
}

TEST(CatalogueCommand, ProofsOnAllCoresAreTheSameOnOne) {
  const CommandResult all = run_tutti("catalogue allgather --json --prove 12");
  const CommandResult one =
      run_tutti("; taskset -c 0 " TUTTI_COMMAND " catalogue allgather --json --prove 12 2>&1");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.errors, IsEmpty());
  EXPECT_THAT(one.output, testing::EndsWith(all.output));
}

TEST(PlanCommands, HelpHasExamplesAndExitCodes) {
  for (const char* command : {"explain", "catalogue", "replay"}) {
    EXPECT_THAT(run_tutti(std::string(command) + " --help").output,
                AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:")))
        << command;
  }
}

TEST(PlanCommands, AUsageErrorExitsWith2AndPrintsOnlyOnStderr) {
  for (const char* arguments : {"explain",
                                "explain allreduce",
                                "explain allreduce ring",
                                "explain allreduce ring --ranks 0",
                                "explain allreduce ring --ranks 513",
                                "explain allreduce rign --ranks 4",
                                "explain allreduce ring --ranks 4 --count 0",
                                "explain allreduce ring --ranks 4 --bytes 2G",
                                "explain allreduce ring --ranks 4 --count 8 --bytes 8",
                                "explain allreduce ring --ranks 4 --export xml",
                                "explain allreduce ring --ranks 33 --svg never.svg",
                                "explain allreduce ring --ranks 4 --alpha -1",
                                "explain allreduce ring --ranks 4 --send-overhead -1",
                                "explain allreduce ring --ranks 4 --receive-overhead nan",
                                "explain broadcast binomial --ranks 4 -r 4",
                                "explain allgather neighbor_exchange --ranks 5",
                                "explain alltoall pairwise --ranks 2 --count 4 --export msccl",
                                "catalogue nothing",
                                "catalogue --prove 513",
                                "replay",
                                "explain allreduce ring --ranks 4 --segments 4",
                                "explain allreduce ring --ranks 4 --radix 4",
                                "explain allreduce tree --ranks 4 --group 2"}) {
    const CommandResult result = run_tutti(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << '\n' << result.errors;
    EXPECT_THAT(result.errors, StartsWith("tutti: ")) << arguments;
    EXPECT_THAT(result.output, IsEmpty()) << arguments;
  }
}

}  // namespace
}  // namespace tutti
