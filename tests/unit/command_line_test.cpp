#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "collectives/catalogue.hpp"
#include "run_tutti.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto star = "--topology topologies/star.yaml ";

TEST(CommandLine, HelpIsEverywhereAndHasExamples) {
  for (const char* command : {"", "verify", "bench", "simulate", "crossover"}) {
    const CommandResult result = run_tutti(std::string(command) + " --help");
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.output, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:"))) << command;
    EXPECT_THAT(result.errors, IsEmpty()) << command;
  }
}

TEST(CommandLine, TheVersionIsPrinted) {
  EXPECT_THAT(run_tutti("--version").output, StartsWith("tutti 0."));
}

TEST(CommandLine, AUsageErrorExitsWith2AndPrintsOnlyOnStderr) {
  for (const char* arguments : {"",
                                "frobnicate",
                                "bench",
                                "bench allreduce --frobnicate",
                                "bench allreduce --ranks 0",
                                "bench allreduce --ranks many",
                                "bench allreduce -n 0",
                                "bench allreduce -b 2K -e 1K",
                                "bench allreduce -b 1X",
                                "bench allreduce -f 1",
                                "bench allreduce -f -2",
                                "bench allreduce -i 1K -f 2",
                                "bench allreduce -i ''",
                                "bench allreduce --sizes ''",
                                "bench allreduce --sizes 1K -b 4",
                                "bench allreduce --sizes 1K -e 4K",
                                "bench allreduce -f 2 --sizes 1K",
                                "crossover --sizes 1K -i 1K --topology topologies/star.yaml",
                                "bench allgather --counts 3,0,5",
                                "bench allgather --counts 3,0,5,-2",
                                "bench allgather --counts 3,0,5,x",
                                "bench allgather --counts 3,0,5,2 --sizes 1K",
                                "bench allgather --counts 3,0,5,2 -b 8",
                                "bench allgather --counts 3,0,5,2 --algo auto",
                                "bench allreduce --counts 3,0,5,2",
                                "bench alltoall --counts 3,0,5,2 --algo bruck",
                                "bench allreduce --members 0,4",
                                "bench allreduce --members 2,2",
                                "bench allreduce --members 0,-1",
                                "bench allreduce --members ''",
                                "bench allreduce --members 1,,2",
                                "bench allreduce --members 1,2,",
                                "bench allgather --counts 3,,5,2",
                                "bench allgather --counts ''",
                                "bench broadcast --members 3,1 -r 2",
                                "verify --members 4",
                                "verify --counts 1,2",
                                "bench allreduce --algo ring --rules rules.csv",
                                "bench allreduce --accumulate half",
                                "verify --seed -1",
                                "simulate allreduce --ranks 0 --topology topologies/star.yaml",
                                "simulate allreduce --timeout 0 --topology topologies/star.yaml",
                                "bench allreduce --timeout 0",
                                "bench allreduce --format xml",
                                "bench allreduce --transport pigeon",
                                "bench allreduce -d int32 -o average",
                                "bench broadcast -r 4 --ranks 4",
                                "bench reduce -r 4 --ranks 4",
                                "bench allreduce -o replace",
                                "bench allreduce --segments -1",
                                "bench broadcast --algo knomial --radix 1",
                                "bench allgather --algo neighbor_exchange --ranks 3",
                                "verify --dtype float8",
                                "verify --dtype ''",
                                "verify --transport udp",
                                "verify --seed x",
                                "simulate allreduce",
                                "crossover",
                                "crossover --topology topologies/star.yaml --model precise",
                                "crossover --topology topologies/star.yaml --set hosts=0",
                                "crossover --topology topologies/star.yaml --ranks 1 --measure"}) {
    const CommandResult result = run_tutti(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments << '\n' << result.errors;
    EXPECT_THAT(result.errors, StartsWith("tutti: ")) << arguments;
    EXPECT_THAT(result.output, IsEmpty()) << arguments;
  }
}

TEST(CommandLine, AnUnknownNameListsTheValidOnes) {
  EXPECT_THAT(run_tutti("bench allredcue").errors,
              HasSubstr("allreduce, broadcast, allgather, reduce_scatter"));
  EXPECT_THAT(run_tutti("bench allreduce --algo ring,rign").errors,
              AllOf(HasSubstr("'rign'"), HasSubstr("ring, ring_gloo, ring_segmented, tree")));
  EXPECT_THAT(run_tutti("bench allreduce -d float --sizes 1K -n 1").exit_code, 0);
  EXPECT_THAT(run_tutti("verify --dtype float8").errors, HasSubstr("bfloat16"));
}

TEST(CommandLine, AnAlgorithmThatTheRanksCannotRunIsRefusedWithWhatItSupports) {
  EXPECT_THAT(run_tutti("bench allgather --algo neighbor_exchange --ranks 3").errors,
              AllOf(HasSubstr("allgather_neighbor_exchange: 3 ranks"), HasSubstr("even N")));
  const CommandResult all = run_tutti("bench allgather --ranks 3 --sizes 4 -n 1 -w 0");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.output, HasSubstr("left out, not supported by 3 ranks: "
                                    "allgather_neighbor_exchange (even N)"));
}

TEST(CommandLine, TuningThatChangesNothingIsRefused) {
  EXPECT_THAT(run_tutti("bench broadcast --algo binomial --radix 4").errors,
              HasSubstr("--radix 4: no chosen algorithm of broadcast uses it; knomial would"));
  EXPECT_THAT(run_tutti("bench barrier --segments 2").errors, HasSubstr("none does"));
  EXPECT_THAT(run_tutti("bench broadcast --algo knomial --radix 1").errors,
              HasSubstr("4 ranks with radix 1 are not supported"));
}

TEST(CommandLine, ALevelThatDoesNotExistOrDoesNotFitIsRefused) {
  const auto error = [](const std::string& arguments) {
    const CommandResult result = run_tutti(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    return result.errors;
  };
  EXPECT_THAT(error("bench allreduce --algo hierarchical --inner rabenseifner"),
              AllOf(HasSubstr("--inner: unknown algorithm 'rabenseifner' for reduce_scatter"),
                    HasSubstr("recursive_halving")));
  EXPECT_THAT(error("explain allreduce hierarchical --ranks 4 --outer rign"),
              AllOf(HasSubstr("--outer: unknown algorithm 'rign' for allreduce"),
                    HasSubstr("rabenseifner")));
  EXPECT_THAT(error("bench allreduce --algo ring --inner direct"),
              HasSubstr("--inner direct: no chosen algorithm of allreduce uses it; hierarchical"));
  EXPECT_THAT(error("bench reduce --outer binomial"),
              HasSubstr("--outer binomial: no algorithm of reduce has levels"));
  EXPECT_THAT(error("bench allgather --algo hierarchical --ranks 6 --group 3 "
                    "--inner neighbor_exchange"),
              HasSubstr("6 ranks with group 3, inner neighbor_exchange are not supported"));
}

TEST(CommandLine, AnUnknownWordIsNamedBesideTheCommands) {
  for (const char* word : {"nope", "--nope"}) {
    EXPECT_THAT(run_tutti(word).errors,
                AllOf(HasSubstr(std::string("'") + word + "'"), HasSubstr("verify, bench")));
  }
  EXPECT_THAT(run_tutti("verify --nope").errors, HasSubstr("--nope"));
}

TEST(CommandLine, ANegativeNumberIsSaidToBeOne) {
  for (const char* flags : {"-f -2", "--timeout -2"}) {
    EXPECT_THAT(run_tutti(std::string("bench allreduce ") + flags).errors,
                HasSubstr("-2 is negative"))
        << flags;
  }
}

TEST(CommandLine, TheNumberOfRanksIsCheckedAlikeByAllCommands) {
  for (const char* command :
       {"bench allreduce", "verify", "simulate allreduce --topology topologies/star.yaml",
        "crossover --topology topologies/star.yaml"}) {
    const CommandResult result = run_tutti(std::string(command) + " --ranks 0");
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.errors, HasSubstr("--ranks 0: expected 1 to ")) << command;
  }
}

TEST(CommandLine, OnlyOpsThatReduceAreOffered) {
  EXPECT_THAT(run_tutti("bench allreduce -o xor").errors,
              AllOf(HasSubstr("sum, product, min, max, average"), Not(HasSubstr("replace"))));
}

TEST(CommandLine, ALongWordIsNotRepeatedInFull) {
  const std::string word(100'000, 'x');
  for (const std::string& arguments :
       {word, "bench " + word, "bench allreduce --sizes " + word, "verify " + word}) {
    const CommandResult result = run_tutti(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors,
                AllOf(HasSubstr("xxx...xxx"), ::testing::SizeIs(::testing::Lt(500))));
  }
}

TEST(CommandLine, ARootWithoutAUseIsWarnedAbout) {
  const std::string flags = " --ranks 2 --sizes 4 -n 1 -w 0 -r 1";
  EXPECT_THAT(run_tutti("bench allreduce" + flags).errors, HasSubstr("allreduce has no root"));
  EXPECT_THAT(run_tutti("bench broadcast" + flags).errors, IsEmpty());
}

TEST(CommandLine, MissingMemoryIsSaidToBeMissing) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer itself needs more address space than the limit leaves";
#endif
  const CommandResult result =
      run_tutti("--version; ulimit -v 100000; " TUTTI_COMMAND " verify --ranks 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("memory"), Not(HasSubstr("bad_alloc"))));
}

TEST(CommandLine, MoreRanksThanHostsSayHowToHaveMoreHosts) {
  EXPECT_THAT(run_tutti(std::string("simulate allreduce --ranks 64 ") + star).errors,
              HasSubstr("--set hosts=64"));
}

TEST(CommandLine, SettingsMayComeBeforeTheCollective) {
  const CommandResult result = run_tutti(
      std::string("simulate --set hosts=2 --set latency=1us allreduce --sizes 4 --algo ring ") +
      star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("star(2, 12.5 GB/s, 1 us)"));
}

TEST(CommandLine, SizesBesideASweepAreRefusedWithBothNames) {
  EXPECT_THAT(run_tutti("bench allreduce --sizes 1K -b 4").errors,
              AllOf(HasSubstr("--sizes"), HasSubstr("--minbytes")));
}

// As a file that cannot be written; what such a file says is a matter of usage.
TEST(CommandLine, AnInputThatCannotBeReadIsAnOperatingErrorForAllCommands) {
  for (const char* arguments :
       {"simulate allreduce --topology nowhere.yaml", "crossover --topology nowhere.yaml",
        "simulate allreduce --topology topologies",
        "simulate allreduce --topology topologies/star.yaml --rules nowhere.csv",
        "simulate allreduce --topology topologies/star.yaml --rules topologies",
        "bench allreduce --rules nowhere.csv",
        "replay nowhere.goal --topology topologies/star.yaml",
        "replay topologies --topology topologies/star.yaml",
        "replay tests/fixtures/reduce_broadcast.goal --topology nowhere.yaml"}) {
    const CommandResult result = run_tutti(arguments);
    EXPECT_EQ(result.exit_code, 3) << arguments << '\n' << result.errors;
    EXPECT_THAT(result.errors, StartsWith("tutti: ")) << arguments;
    EXPECT_THAT(result.output, IsEmpty()) << arguments;
  }
  EXPECT_EQ(run_tutti("simulate allreduce --topology CMakeLists.txt").exit_code, 2);
}

TEST(CommandLine, MoreMemoryThanThereIsIsAnOperatingError) {
  for (const char* size : {"1000T", "8388607T"}) {
    const CommandResult result = run_tutti(std::string("bench allreduce --sizes ") + size);
    EXPECT_EQ(result.exit_code, 3) << size;
    EXPECT_THAT(result.errors, StartsWith("tutti: cannot")) << size;
  }
}

TEST(CommandLine, AFullDiskIsAnOperatingError) {
  const CommandResult result =
      run_tutti(std::string("simulate allreduce -e 1K ") + star + ">/dev/full");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("No space left"));
  EXPECT_EQ(run_tutti(std::string("simulate allreduce -e 1K --trace /nowhere/t ") + star).exit_code,
            3);
}

TEST(CommandLine, AReaderThatGoesAwayIsNoCrash) {
  const CommandResult result =
      run_tutti(std::string("simulate allreduce -i 1K -e 100K --algo ring ") + star +
                "| head -n 1; exit ${PIPESTATUS:-0}");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.output, StartsWith("# tutti simulate"));
}

TEST(BenchCommand, PrintsNcclTestsColumnsAndChecksResults) {
  const CommandResult result = run_tutti("bench allreduce --ranks 2 -b 8 -e 32K -f 8 -n 3 -w 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("# Out of bounds values : 0 OK"), HasSubstr("# Avg bus bandwidth"),
                    HasSubstr("redop"), HasSubstr("#wrong"), HasSubstr("p99")));
  std::istringstream lines(result.output);
  int rows = 0;
  for (std::string line; std::getline(lines, line);) rows += line.front() != '#';
  EXPECT_EQ(rows, 5 * static_cast<int>(algorithms_of(Collective::allreduce).size()));
}

TEST(BenchCommand, EveryCollectiveIsRightForEveryDtype) {
  for (const Collective collective : all_collectives()) {
    for (const char* dtype :
         {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"}) {
      const CommandResult result =
          run_tutti(std::string("bench --ranks 3 --sizes 0,24,4099 -n 1 -w 0 --json -r 1 ") +
                    std::string(name_of(collective)) + " -d " + dtype);
      EXPECT_EQ(result.exit_code, 0) << name_of(collective) << ' ' << dtype << result.errors;
      std::istringstream lines(result.output);
      for (std::string line; std::getline(lines, line);) {
        const auto wrong = nlohmann::json::parse(line)["wrong"];
        EXPECT_TRUE(wrong == 0 || (wrong.is_null() && collective == Collective::barrier)) << line;
      }
    }
  }
}

// Wrong elements in all rows of JSON, and how many rows there are.
struct Wrong {
  std::size_t rows = 0;
  std::size_t elements = 0;
};

Wrong wrong_of(const std::string& output, const std::string& note) {
  Wrong wrong;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line); ++wrong.rows) {
    const auto row = nlohmann::json::parse(line);
    wrong.elements += row["wrong"].get<std::size_t>();
    EXPECT_THAT(row["note"].get<std::string>(), HasSubstr(note));
  }
  return wrong;
}

TEST(BenchCommand, UnequalPartsAmongSomeRanksAreRightForEveryAlgorithmThatTakesThem) {
  for (const std::string& command :
       {std::string("bench -n 1 -w 0 "), std::string("simulate -c 1 ") + star}) {
    for (const char* collective : {"allgather", "reduce_scatter", "alltoall", "gather"}) {
      const CommandResult result = run_tutti(command + " --json --ranks 5 --members 4,1,3,0 " +
                                             "--counts 3,0,5,2 " + collective);
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      const Wrong wrong = wrong_of(result.output, "counts 3 0 5 2, members 4 1 3 0");
      EXPECT_EQ(wrong.elements, 0U);
      std::size_t expected = 0;
      for (const Algorithm* algorithm : algorithms_of(parse_collective(collective))) {
        if (algorithm->parts == PartSizes::any) ++expected;
      }
      EXPECT_EQ(wrong.rows, expected) << collective;
    }
  }
}

TEST(BenchCommand, AlgorithmsThatNeedEqualPartsAreLeftOutOfVFormsAndNamed) {
  const CommandResult result = run_tutti("bench alltoall --ranks 4 --counts 3,0,5,2 -n 1 -w 0");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("4 ranks, counts 3 0 5 2"),
                                   HasSubstr("left out, not supported by 4 ranks with counts: "
                                             "alltoall_bruck (")));
  EXPECT_THAT(run_tutti("bench alltoall --algo bruck --counts 3,0,5,2").errors,
              HasSubstr("alltoall_bruck: 4 ranks with counts are not supported"));
}

TEST(BenchCommand, MembersAreNumberedInTheirOrder) {
  // Of a star whose ranks are alike, three members take as long as three ranks.
  const std::string flags =
      std::string("simulate broadcast --algo linear --sizes 1K --json ") + star;
  const auto time_of = [&](const std::string& more) {
    const CommandResult result = run_tutti(flags + more);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output)["time_us"].get<double>();
  };
  EXPECT_DOUBLE_EQ(time_of("--members 6,1,3 -r 2"), time_of("--ranks 3 -r 2"));
  const std::string file = testing::TempDir() + "tutti_members_trace";
  EXPECT_GT(time_of("--members 6,1 -r 1 --trace " + file), 0.0);
  EXPECT_THAT(read_text(file), HasSubstr("\"rank\":1,\"lane\":0,\"kind\":\"send\",\"peer\":0"));
  std::remove(file.c_str());
}

TEST(BenchCommand, AJsonRowHasTheDocumentedKeysInOrder) {
  const CommandResult result =
      run_tutti("bench allgather --algo ring --ranks 2 --sizes 1027 -n 4 -w 0 --json");
  const auto row = nlohmann::ordered_json::parse(result.output);
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "collective", "algo",     "ranks",          "bytes",   "count",
                      "dtype",      "op",       "root",           "time_us", "p50_us",
                      "p99_us",     "algbw",    "busbw",          "wrong",   "transport",
                      "model",      "topology", "lower_bound_us", "note",    "segments",
                      "radix",      "group",    "inner",          "outer",   "path"}));
  EXPECT_EQ(row["bytes"], 1024);  // Rounded down to whole elements.
  EXPECT_EQ(row["count"], 256);
  EXPECT_EQ(row["op"], "none");
  EXPECT_EQ(row["root"], -1);
  EXPECT_EQ(row["transport"], "shm");
  EXPECT_TRUE(row["model"].is_null());
  EXPECT_TRUE(row["lower_bound_us"].is_null());
  EXPECT_LE(row["p50_us"], row["p99_us"]);
  EXPECT_DOUBLE_EQ(row["busbw"], row["algbw"].get<double>() / 2);
}

TEST(BenchCommand, WiderAccumulationIsSaidAndRight) {
  const std::string flags = " allreduce --ranks 3 --sizes 4K -n 1 -w 0 --accumulate float32 -d ";
  const CommandResult result = run_tutti("bench --json" + flags + "half");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("float32 accumulation"), HasSubstr("\"wrong\":0")));
  EXPECT_THAT(run_tutti("bench" + flags + "bf16").output, HasSubstr("accumulated in float32"));
  const CommandResult without = run_tutti("bench --json" + flags + "float64");
  EXPECT_THAT(without.errors, HasSubstr("no effect"));
  EXPECT_THAT(without.output, Not(HasSubstr("accumulation")));
}

TEST(BenchCommand, OneRankHasNoBusBandwidth) {
  const CommandResult result =
      run_tutti("bench allreduce --algo ring --ranks 1 --sizes 1K -n 2 --json");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"busbw\":null"), Not(HasSubstr("nan"))));
}

TEST(BenchCommand, MoreRanksThanCoresAreSaidOnStderrAndInEveryRow) {
  const CommandResult result = run_tutti(
      "bench allreduce --ranks 200 --algo tree --sizes 4 -n 1 "
      "-w 0 --json");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("oversubscribed: 200 ranks share"));
  EXPECT_THAT(result.output, HasSubstr("\"note\":\"oversubscribed"));
}

TEST(BenchCommand, CsvHasAHeaderAndAsManyFieldsInEachLine) {
  const CommandResult result = run_tutti(
      "bench reduce_scatter --algo ring --ranks 2 --sizes 1K,2K -n 1 --format csv -o max");
  std::istringstream lines(result.output);
  std::string header, row;
  std::getline(lines, header);
  EXPECT_THAT(header, StartsWith("collective,algo,ranks,bytes,count,dtype,op,root,time_us,"));
  int rows = 0;
  for (; std::getline(lines, row); ++rows) {
    EXPECT_EQ(std::count(row.begin(), row.end(), ','),
              std::count(header.begin(), header.end(), ','));
    EXPECT_THAT(row, StartsWith("\"reduce_scatter\",\"ring\",2,"));
  }
  EXPECT_EQ(rows, 2);
}

TEST(Trace, IsEmptiedOnlyOnceNothingElseCanBeWrong) {
  const std::string file = testing::TempDir() + "tutti_kept_trace";
  for (const std::string& command :
       {std::string("bench allreduce --sizes 1000T"), std::string("bench allreduce -r 9"),
        std::string("verify --dtype float8"),
        std::string("simulate allreduce --sizes 1000T -c 1 ") + star,
        "simulate allreduce --topology " + file, "crossover --topology " + file}) {
    std::ofstream(file) << "shape: star\nhosts: 2\nbandwidth: 1GBps\nlatency: 1us\n";
    EXPECT_NE(run_tutti(command + " --trace " + file).exit_code, 0) << command;
    EXPECT_THAT(read_text(file), StartsWith("shape")) << command;
  }
  std::remove(file.c_str());
}

TEST(Trace, KeysAreInTheHelpOfEachCommandThatWritesOne) {
  for (const char* command : {"verify", "bench", "simulate", "crossover"}) {
    EXPECT_THAT(run_tutti(std::string(command) + " --help").output,
                AllOf(HasSubstr("posted_seconds"), HasSubstr("sequence")))
        << command;
  }
}

TEST(Trace, OfACrossoverIsOfItsSimulatedRuns) {
  const std::string file = testing::TempDir() + "tutti_crossover_trace.jsonl";
  const CommandResult result = run_tutti(
      std::string("crossover --algo ring --sizes 64K --ranks 4 --trace ") + file + " " + star);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string text = read_text(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 * 6 * 2);
  std::remove(file.c_str());
}

TEST(Trace, HasOneWholeJsonLineForEachFinishedRequestOfEachRank) {
  for (const std::string& command : {std::string("bench allreduce --ranks 4 -n 2 -w 1 -c 0"),
                                     std::string("simulate allreduce --ranks 4 ") + star}) {
    const std::string file = testing::TempDir() + "tutti_trace.jsonl";
    const CommandResult result = run_tutti(command + " --algo ring --sizes 64K --trace " + file);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    std::istringstream lines(read_text(file));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const auto record = nlohmann::json::parse(line);
      EXPECT_EQ(record["call"], "allreduce_ring");
      EXPECT_EQ(record["bytes"], 16384);
    }
    // 4 ranks, 6 steps, a send and a receive in each, in every run.
    EXPECT_EQ(count, 4 * 6 * 2 * (command.front() == 'b' ? 3 : 1));
    std::remove(file.c_str());
  }
}

}  // namespace
}  // namespace tutti
