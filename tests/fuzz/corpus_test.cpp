// Every target on its kept corpus, and on seeded mutations of it: what the fuzzer does for longer.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

const fs::path corpus = "tests/fuzz/corpus";

std::vector<std::string> texts_of(const std::string& target) {
  std::vector<fs::path> files;
  if (!fs::exists(corpus / target)) return {};
  for (const auto& entry : fs::directory_iterator(corpus / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return texts;
}

/// Some bytes replaced, left out, doubled or swapped for what breaks parsers.
std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> hostile = {
      "-1", "0", "99999999999999999999", "1e308", "nan", "\n", "\"", "<", "\xff", "{", "[", " "};
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t change = 0; change < changes && !text.empty(); ++change) {
    const std::size_t at = random() % text.size();
    const std::size_t length = 1 + random() % 8;
    switch (random() % 3) {
      case 0:
        text.replace(at, length, hostile[random() % hostile.size()]);
        break;
      case 1:
        text.erase(at, length);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), length));
        break;
    }
  }
  return text;
}

TEST(Fuzz, EveryTargetHasACorpusAndEveryCorpusATarget) {
  std::vector<std::string> names;
  for (const FuzzTarget& target : fuzz_targets()) {
    names.push_back(target.name);
    EXPECT_FALSE(texts_of(target.name).empty()) << corpus / target.name << " has no files";
  }
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const std::string name = entry.path().filename();
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Fuzz, EveryTargetTakesItsCorpus) {
  for (const FuzzTarget& target : fuzz_targets()) {
    SCOPED_TRACE(target.name);
    for (const std::string& text : texts_of(target.name)) EXPECT_NO_THROW(target.run(text)) << text;
  }
}

TEST(Fuzz, EveryTargetTakesMutationsOfItsCorpus) {
  constexpr std::uint64_t seed = 20;
  for (const FuzzTarget& target : fuzz_targets()) {
    std::mt19937_64 random(seed);
    const std::vector<std::string> texts = texts_of(target.name);
    for (int round = 0; round < 300 && !texts.empty(); ++round) {
      const std::string text = mutated(texts[random() % texts.size()], random);
      EXPECT_NO_THROW(target.run(text))
          << target.name << ", round " << round << " of seed " << seed << ":\n"
          << text;
    }
  }
}

}  // namespace
}  // namespace tutti
