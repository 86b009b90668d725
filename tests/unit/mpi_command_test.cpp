// The command under mpirun: one table, one complaint, one exit code, whatever happens to whom.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "run_tutti.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// `parts` are mpirun's, such as "-n 2 TUTTI bench"; TUTTI stands for the command.
CommandResult run_mpi(std::string parts) {
  const std::string placeholder = "TUTTI";
  for (std::size_t at = 0; (at = parts.find(placeholder, at)) != std::string::npos;) {
    parts.replace(at, placeholder.size(), TUTTI_COMMAND);
    at += std::string(TUTTI_COMMAND).size();
  }
  return run_command(fmt::format("{} {}", TUTTI_MPIRUN, parts));
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(MpiCommand, ABenchUsesAllProcessesAndSpeaksOnce) {
  const CommandResult result =
      run_mpi("-n 3 TUTTI bench allreduce --algo ring,auto --sizes 4,1M -n 2 -w 1 --json");
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::istringstream lines(result.output);
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(row["ranks"], 3);
    EXPECT_EQ(row["transport"], "mpi");
    EXPECT_EQ(row["wrong"], 0);
  }
  EXPECT_EQ(rows, 4);
}

TEST(MpiCommand, FewerRanksThanProcessesLeaveTheOthersIdle) {
  const CommandResult result =
      run_mpi("-n 3 TUTTI bench alltoall --algo pairwise --ranks 2 --sizes 64K -n 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(count_of(result.output, "tutti bench: alltoall"), 1) << result.output;
}

TEST(MpiCommand, MoreRanksThanProcessesAreAUsageErrorThatNamesBothOnce) {
  const CommandResult result = run_mpi("-n 2 TUTTI bench allreduce --ranks 5");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("5 ranks"), HasSubstr("2 have joined")));
  EXPECT_EQ(count_of(result.errors, "tutti: "), 1) << result.errors;
}

TEST(MpiCommand, AMistypedFlagIsComplainedAboutOnce) {
  const CommandResult result = run_mpi("-n 3 TUTTI bench allreduce --rinks 3");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(count_of(result.errors, "--rinks"), 1) << result.errors;
}

TEST(MpiCommand, WithoutALauncherMpiIsAWorldOfOne) {
  const CommandResult result = run_tutti("bench allreduce --transport mpi --sizes 4K -n 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("transport mpi"));
}

TEST(MpiCommand, AnotherTransportMayBeAskedForUnderALauncher) {
  const CommandResult result =
      run_mpi("-n 1 TUTTI bench allreduce --transport shm --ranks 2 --sizes 4K -n 1");
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("transport shm"));
}

TEST(MpiCommand, RanksThatMakeDifferentCallsEndWithAMismatchThatNamesBoth) {
  const CommandResult result = run_mpi(
      "-n 1 TUTTI bench allreduce --algo ring --sizes 4K : "
      "-n 1 TUTTI bench allreduce --algo ring --sizes 8K");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("allreduce_ring of 1024"),
                    HasSubstr("allreduce_ring of 2048")));
}

TEST(MpiCommand, WhatGoesWrongOnOneRankEndsAllAndIsSaid) {
  const CommandResult result = run_mpi(
      "-n 2 TUTTI bench allreduce --sizes 4K : "
      "-n 1 TUTTI bench allreduce --sizes 4K --trace /nowhere/trace");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("/nowhere/trace"));
}

TEST(MpiCommand, ResultsThatCannotBeWrittenEndAllRanks) {
  const CommandResult result = run_mpi(
      "-n 1 sh -c 'TUTTI bench allreduce --sizes 4K >/dev/full' : "
      "-n 2 TUTTI bench allreduce --sizes 4K");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("cannot write the results"));
}

// The launcher notices and ends the others. Without it they would go on for minutes.
TEST(MpiCommand, AKilledRankEndsAllAndLeavesNoProcess) {
  const std::string bench = "TUTTI bench allreduce --sizes 1048583 -n 1000000 --timeout 100000000";
  const CommandResult result = run_mpi(
      fmt::format("-n 2 {0} : -n 1 sh -c '{0} & pid=$!; sleep 1; kill -9 $pid; wait $pid'", bench));
  EXPECT_EQ(result.exit_code, 128 + 9) << result.errors;
  const CommandResult left = run_command("grep -lsa 'sizes.10[4]8583' /proc/[0-9]*/cmdline");
  EXPECT_THAT(left.output, Not(HasSubstr("proc")));
}

const std::string study =
    "TUTTI whatif allreduce --algo ring,tree --topology topologies/star.yaml "
    "--vary ranks=2,4,8 --vary bytes=1K..64K*4";

TEST(MpiCommand, AStudyIsSharedOutAndPrintedOnce) {
  const CommandResult alone = run_mpi("-n 1 " + study);
  const CommandResult shared = run_mpi("-n 3 " + study);
  EXPECT_EQ(shared.exit_code, 0) << shared.errors;
  EXPECT_EQ(shared.output, alone.output);
  EXPECT_THAT(shared.output, HasSubstr("# tutti whatif: 24 points"));
  const CommandResult wrong = run_mpi("-n 3 " + study + " --vary root=rung");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(count_of(wrong.errors, "rung"), 1) << wrong.errors;
}

TEST(MpiCommand, AStudysFileHoldsWhatAllHaveComputedAndIsGoneOnFrom) {
  const std::string file = testing::TempDir() + "tutti_study_" + std::to_string(getpid());
  const std::string command = study + " -o " + file;
  EXPECT_EQ(run_mpi("-n 3 " + command).exit_code, 0);
  const CommandResult lines = run_command("cat " + file);
  EXPECT_EQ(count_of(lines.output, "\n"), 24);
  const CommandResult left = run_command("ls " + file + ".part*");
  EXPECT_EQ(left.output, "");
  const CommandResult again = run_mpi("-n 2 " + command);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(run_command("cat " + file).output, lines.output);
  run_command("rm " + file);
}

}  // namespace
}  // namespace tutti
