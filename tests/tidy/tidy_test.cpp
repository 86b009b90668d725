// The source tree keeps the project's mechanical rules, and the checker finds what breaks them.
#include "tests/tidy/tidy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace tutti::tidy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path root = TUTTI_SOURCE_DIRECTORY;

auto finding(std::size_t line, const std::string& rule) {
  return AllOf(Field(&Finding::line, line), Field(&Finding::rule, HasSubstr(rule)));
}

std::string times(std::size_t count, const std::string& text) {
  std::string repeated;
  for (std::size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

TEST(SourceTree, KeepsTheRulesOfLengthCharactersAndIncludes) {
  const std::vector<SourceFile> files = read_tree(root);
  EXPECT_GT(files.size(), 50U) << "the source tree was not found in " << root;
  for (const SourceFile& file : files) {
    for (const Finding& found : check(file)) ADD_FAILURE() << found;
  }
}

#ifdef TUTTI_ALL_IS_BUILT
TEST(SourceTree, HasNoSourceThatIsNotCompiled) {
  std::ifstream stream(TUTTI_COMPILE_COMMANDS);
  std::set<std::filesystem::path> compiled;
  for (const auto& command : nlohmann::json::parse(stream)) {
    compiled.insert(std::filesystem::weakly_canonical(command.at("file").get<std::string>()));
  }
  for (const SourceFile& file : read_tree(root)) {
    if (!file.path.ends_with(".cpp")) continue;
    EXPECT_TRUE(compiled.contains(std::filesystem::weakly_canonical(root / file.path)))
        << file.path << ":1: belongs to no CMake target";
  }
}
#endif

TEST(Tidy, FindsATabBlanksAtTheEndOfALineAndAMissingLineFeed) {
  EXPECT_THAT(check_characters({"a.cpp", "int a;\n\tint b;\nint c; \nint d;"}),
              ElementsAre(finding(2, "a tab"), finding(3, "blanks"), finding(4, "line feed")));
  EXPECT_THAT(check_characters({"a.cpp", "int a;\n"}), IsEmpty());
}

TEST(Tidy, FindsTheNameOfAPlaceOfOneMachine) {
  const std::string path = std::string("/wor") + "k/main";
  EXPECT_THAT(check_characters({"README.md", "\nLook into " + path + ".\n"}),
              ElementsAre(finding(2, "names a place")));
}

TEST(Tidy, FindsALineThatIsTooLongInCharacters) {
  EXPECT_THAT(check_lengths({"a.cpp", "//\n//" + times(99, "x") + "\n"}),
              ElementsAre(finding(2, "101 columns")));
  EXPECT_THAT(check_lengths({"a.cpp", "//" + times(98, "\u00b5") + "\n"}), IsEmpty());
}

TEST(Tidy, FindsAFileThatIsTooLong) {
  EXPECT_THAT(check_lengths({"a.cpp", times(501, "int a;\n")}),
              ElementsAre(finding(501, "501 lines")));
  EXPECT_THAT(check_lengths({"a.cpp", times(500, "int a;\n")}), IsEmpty());
}

TEST(Tidy, FindsAFunctionThatIsTooLong) {
  const std::string head = "namespace a {\nclass B {\n  int size(int x)\n      const {\n";
  EXPECT_THAT(check_lengths({"a.cpp", head + times(67, "    f();\n") + "  }\n};\n}\n"}), IsEmpty());
  EXPECT_THAT(check_lengths({"a.cpp", head + times(68, "    f();\n") + "  }\n};\n}\n"}),
              ElementsAre(finding(3, "a function of 71 lines")));
}

TEST(Tidy, BracesInStringsAndCommentsDoNotConfuseIt) {
  const std::string tricky = "void f() {\n  g(\"}\", '}', 1'000, R\"(}\")\");  // }\n  /* } */\n" +
                             times(80, "  g();\n") + "}\n";
  EXPECT_THAT(check_lengths({"a.cpp", tricky}), ElementsAre(finding(1, "a function of 84 lines")));
}

TEST(Tidy, ANamespaceAClassOrATableMayBeLong) {
  for (const std::string head :
       {"namespace a {\n", "class A {\n", "const int table[] = {\n", "struct alignas(64) A {\n"}) {
    EXPECT_THAT(check_lengths({"a.cpp", head + times(100, "  int a;\n") + "};\n"}), IsEmpty());
  }
}

TEST(Tidy, FindsAHeaderWithoutPragmaOnce) {
  EXPECT_THAT(check_includes({"sim/a.hpp", "int a;\n"}), ElementsAre(finding(1, "#pragma once")));
  EXPECT_THAT(check_includes({"sim/a.hpp", "// A.\n#pragma once\n"}), IsEmpty());
}

TEST(Tidy, FindsAnIncludeAgainstTheLayers) {
  const auto include = [](const std::string& folder, const std::string& name) {
    return check_includes({folder + "/a.cpp", "\n#include " + name + "\n"});
  };
  for (const std::string name :
       {"<simgrid/s4u.hpp>", "<sys/socket.h>", "<chrono>", "<thread>", "<mutex>", "<torch/torch.h>",
        "<unistd.h>", "\"sim/a.hpp\"", "\"topologies/a.hpp\"", "\"tests/support/a.hpp\""}) {
    EXPECT_THAT(include("collectives", name), ElementsAre(finding(2, "must not include"))) << name;
  }
  EXPECT_THAT(include("topologies", "\"collectives/a.hpp\""), ElementsAre(finding(2, "must not")));
  EXPECT_THAT(include("exec", "\"sim/a.hpp\""), ElementsAre(finding(2, "must not")));
  EXPECT_THAT(include("exec", "<simgrid/s4u.hpp>"), ElementsAre(finding(2, "must not")));
  EXPECT_THAT(include("sim", "\"experiments/a.hpp\""), ElementsAre(finding(2, "must not")));
  EXPECT_THAT(include("training", "\"sim/a.hpp\""), ElementsAre(finding(2, "must not")));
}

TEST(Tidy, AllowsTheIncludesThatTheLayersAllow) {
  const auto include = [](const std::string& folder, const std::string& name) {
    return check_includes({folder + "/a.cpp", "#include " + name + "\n"});
  };
  EXPECT_THAT(include("collectives", "\"collectives/a.hpp\""), IsEmpty());
  EXPECT_THAT(include("collectives", "<vector>"), IsEmpty());
  EXPECT_THAT(include("sim", "<simgrid/s4u.hpp>"), IsEmpty());
  EXPECT_THAT(include("exec", "<sys/mman.h>"), IsEmpty());
  EXPECT_THAT(include("exec", "\"topologies/shape.hpp\""), IsEmpty());
  EXPECT_THAT(include("experiments", "\"sim/a.hpp\""), IsEmpty());
  EXPECT_THAT(include("tests", "\"sim/a.hpp\""), IsEmpty());
}

}  // namespace
}  // namespace tutti::tidy
