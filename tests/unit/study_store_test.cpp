#include "experiments/study_store.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "collectives/error.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

Json row(const std::string& key) {
  Json made = Json::object();
  made["key"] = key;
  return made;
}

class StudyStoreTest : public testing::Test {
 protected:
  StudyStoreTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StudyStoreTest() override { std::filesystem::remove_all(folder_); }

  std::string content(const std::string& ending = "") const {
    std::ostringstream text;
    text << std::ifstream(file_ + ending).rdbuf();
    return text.str();
  }

  void write(const std::string& text) const { std::ofstream(file_) << text; }

  const std::string folder_ = fmt::format("{}tutti_study_{}", testing::TempDir(), getpid());
  const std::string file_ = folder_ + "/study.jsonl";
};

TEST_F(StudyStoreTest, RowsAreThereTheNextTime) {
  StudyStore(file_, {}).add({{"key", "a"}, {"time_us", 1.5}});
  StudyStore(file_, {}).add({{"key", "b"}, {"error", "no luck"}});
  EXPECT_EQ(content(), "{\"key\":\"a\",\"time_us\":1.5}\n{\"key\":\"b\",\"error\":\"no luck\"}\n");
  const StudyStore store(file_, {});
  EXPECT_TRUE(store.has_result("a"));
  EXPECT_EQ((*store.find("a"))["time_us"], 1.5);
  EXPECT_FALSE(store.has_result("b"));  // It failed, and is to be tried again.
  EXPECT_NE(store.find("b"), nullptr);
  EXPECT_EQ(store.find("c"), nullptr);
}

TEST_F(StudyStoreTest, ALaterRowReplacesAFailure) {
  StudyStore store(file_, {});
  store.add({{"key", "a"}, {"error", "no luck"}});
  store.add({{"key", "a"}, {"time_us", 2}});
  EXPECT_TRUE(store.has_result("a"));
}

TEST_F(StudyStoreTest, ATornLastLineIsCutOff) {
  write("{\"key\":\"a\"}\n{\"key\":\"b\",\"ti");
  StudyStore store(file_, {});
  EXPECT_TRUE(store.has_result("a"));
  EXPECT_EQ(store.find("b"), nullptr);
  store.add(row("b"));
  EXPECT_EQ(content(), "{\"key\":\"a\"}\n{\"key\":\"b\"}\n");
}

TEST_F(StudyStoreTest, AFileOfSomethingElseIsRefusedAndStaysAsItIs) {
  for (const std::string text :
       {"shopping list", "{\"key\":\"a\"}\nmilk\n", "{\"name\":1}\n", "{\"key\":\"a\"}\nbread"}) {
    write(text);
    try {
      const StudyStore store(file_, {});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_THAT(error.what(), HasSubstr("no result of tutti whatif"));
    }
    EXPECT_EQ(content(), text);
  }
}

TEST_F(StudyStoreTest, AFileIsUsedByOneAtATime) {
  const StudyStore store(file_, {});
  EXPECT_THROW(StudyStore(file_, {}), Error);
}

TEST_F(StudyStoreTest, PartsKnowEachOtherAndTheWholeTakesThemOver) {
  StudyStore(file_, {}).add(row("a"));
  StudyStore(file_, {0, 2}).add(row("b"));
  {
    StudyStore second(file_, {1, 2});
    EXPECT_TRUE(second.has_result("a"));
    EXPECT_TRUE(second.has_result("b"));
    second.add(row("c"));
  }
  EXPECT_EQ(content(".part1"), "{\"key\":\"c\"}\n");
  const StudyStore whole(file_, {});
  EXPECT_EQ(content(), "{\"key\":\"a\"}\n{\"key\":\"b\"}\n{\"key\":\"c\"}\n");
  EXPECT_FALSE(std::filesystem::exists(file_ + ".part0"));
  EXPECT_FALSE(std::filesystem::exists(file_ + ".part1"));
}

TEST_F(StudyStoreTest, WithoutAFileRowsAreOnlyKeptInMemory) {
  StudyStore store("", {});
  store.add(row("a"));
  EXPECT_TRUE(store.has_result("a"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(StudyPart, IsWhatMpirunOrSrunSay) {
  const char* const names[] = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
      "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS"};
  for (const char* name : names) unsetenv(name);
  EXPECT_EQ(part_of_environment().count, 1);
  setenv("SLURM_PROCID", "0", 1);  // As in a batch script.
  EXPECT_EQ(part_of_environment().count, 1);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  EXPECT_EQ(part_of_environment().count, 8);
  setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_EQ(part_of_environment().index, 3);
  EXPECT_EQ(part_of_environment().count, 4);
  for (const char* name : names) unsetenv(name);
}

}  // namespace
}  // namespace tutti
