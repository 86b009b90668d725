#include "process/worker_pool.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <numeric>
#include <set>

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::size_t> tasks(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(WorkerPool, EveryTaskIsDoneOnceInAnotherProcess) {
  std::map<std::size_t, std::string> results;
  std::set<std::string> processes;
  run_in_processes(tasks(50), 3,
                   {.work = [](std::size_t task) { return fmt::format("{} {}", task, getpid()); },
                    .finished =
                        [&](std::size_t task, const std::string& result) {
                          const std::size_t space = result.find(' ');
                          EXPECT_EQ(result.substr(0, space), std::to_string(task));
                          processes.insert(result.substr(space + 1));
                          results[task] = result;
                        },
                    .crashed = [](std::size_t, const std::string& why) { ADD_FAILURE() << why; }});
  EXPECT_EQ(results.size(), 50u);
  EXPECT_LE(processes.size(), 3u);
  EXPECT_FALSE(processes.contains(std::to_string(getpid())));
}

TEST(WorkerPool, ATaskWhoseProcessEndsIsReportedAndTheOthersGoOn) {
  std::size_t finished = 0;
  std::map<std::size_t, std::string> crashes;
  run_in_processes(
      tasks(20), 2,
      {.work =
           [](std::size_t task) {
             if (task == 3) std::raise(SIGKILL);
             if (task == 7) _exit(5);
             return std::string(task == 4 ? 1 << 20 : 0, 'x');
           },
       .finished = [&](std::size_t, const std::string&) { ++finished; },
       .crashed = [&](std::size_t task, const std::string& why) { crashes[task] = why; }});
  EXPECT_EQ(finished, 18u);
  ASSERT_EQ(crashes.size(), 2u);
  EXPECT_THAT(crashes[3], HasSubstr("signal 9"));
  EXPECT_THAT(crashes[7], HasSubstr("exit code 5"));
}

TEST(WorkerPool, IsStoppedWithoutWaitingForItsProcesses) {
  std::vector<std::size_t> finished;
  run_in_processes(
      tasks(5), 1,
      {.work =
           [](std::size_t task) {
             while (task == 1) pause();
             return std::string();
           },
       .finished = [&](std::size_t task, const std::string&) { finished.push_back(task); },
       .crashed = [](std::size_t, const std::string& why) { ADD_FAILURE() << why; },
       .stops = [&] { return !finished.empty(); }});
  EXPECT_THAT(finished, ElementsAre(0));
}

TEST(WorkerPool, NoTasksNeedNoProcess) {
  run_in_processes({}, 4, {.work = {}, .finished = {}, .crashed = {}});
}

}  // namespace
}  // namespace tutti
