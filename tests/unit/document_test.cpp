#include "topologies/document.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "topologies/shape.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Parsed {
  Sources sources;
  DocumentNode root;
};

Parsed parse(std::string_view text) {
  Parsed parsed;
  parsed.root = parse_document(text, parsed.sources, parsed.sources.add("FILE"));
  return parsed;
}

std::string refusal(std::string_view text) {
  try {
    parse(text);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

std::string place(const Mark& mark) {
  return fmt::format("{}:{}", mark.line, mark.column);
}

TEST(Document, RemembersWhereKeysAndValuesWereWritten) {
  const Parsed parsed = parse("# a comment\nshape: star\nlinks:\n  host: {latency: 5us}\n");
  const DocumentNode& root = parsed.root;
  ASSERT_EQ(root.kind, DocumentNode::Kind::map);
  EXPECT_EQ(place(root.mark), "2:1");
  EXPECT_EQ(root.find("shape")->text, "star");
  EXPECT_EQ(place(root.find("shape")->key_mark), "2:1");
  EXPECT_EQ(place(root.find("shape")->mark), "2:8");
  const DocumentNode* const latency = root.find("links")->find("host")->find("latency");
  EXPECT_EQ(place(latency->key_mark), "4:10");
  EXPECT_EQ(place(latency->mark), "4:19");
  EXPECT_EQ(parsed.sources.where(latency->mark), "FILE:4:19");
  EXPECT_EQ(root.find("hosts"), nullptr);
}

TEST(Document, ListsKeepTheirOrder) {
  const Parsed parsed = parse("[3, [a, 'b c'], \"d\"]\n");
  ASSERT_EQ(parsed.root.kind, DocumentNode::Kind::list);
  ASSERT_EQ(parsed.root.children.size(), 3u);
  EXPECT_EQ(parsed.root.children[0].text, "3");
  EXPECT_EQ(parsed.root.children[1].children[1].text, "b c");
  EXPECT_EQ(parsed.root.children[2].text, "d");
}

TEST(Document, AKeyWithoutValueIsEmpty) {
  EXPECT_EQ(parse("hosts:\nshape: star\n").root.find("hosts")->kind, DocumentNode::Kind::empty);
  EXPECT_EQ(parse("").root.kind, DocumentNode::Kind::empty);
}

TEST(Document, AnchorsAliasesAndTagsAreRefusedWithTheirPlace) {
  EXPECT_THAT(refusal("a: &x 1\nb: 2\n"), AllOf(StartsWith("FILE:1:4: "), HasSubstr("anchor")));
  EXPECT_THAT(refusal("a: &x {c: 1}\n"), HasSubstr("anchor"));
  EXPECT_THAT(refusal("a: &x [1]\nb: *x\n"), HasSubstr("anchor"));
  EXPECT_THAT(refusal("a: &x\nb: 1\n"), HasSubstr("anchor"));
  EXPECT_THAT(refusal("a: *x\n"), AllOf(StartsWith("FILE:1:"), HasSubstr("not valid YAML")));
  EXPECT_THAT(refusal("a: !!str 1\n"), AllOf(StartsWith("FILE:1:4: "), HasSubstr("tag")));
  EXPECT_THAT(refusal("a: !mine [1]\n"), HasSubstr("tag"));
}

TEST(Document, ABillionLaughsAreRefusedAtTheFirst) {
  std::string text = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (char name = 'b'; name <= 'i'; ++name) {
    const std::string earlier(1, static_cast<char>(name - 1));
    text += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", name, earlier);
  }
  EXPECT_THAT(refusal(text), StartsWith("FILE:1:4: an anchor"));
}

TEST(Document, WhatIsTooDeepTooLongOrTooMuchIsRefused) {
  EXPECT_THAT(refusal(std::string(100000, '[')),
              AllOf(StartsWith("FILE:1:"), HasSubstr("more than 32 values in each other")));
  std::string blocks;
  for (int depth = 0; depth < 1000; ++depth) blocks += std::string(depth, ' ') + "a:\n";
  EXPECT_EQ(refusal(blocks), "FILE:32:32: more than 32 values in each other");
  EXPECT_EQ(refusal(std::string((16 << 20) + 1, ' ')),
            "FILE: larger than 16777216 bytes, which no shape needs");
  EXPECT_EQ(refusal("a: 1\n" + std::string((1 << 20) + 1, '#') + "\n"),
            "FILE:2:1: a line of more than 1048576 bytes, expected shorter ones");
  for (const char* mark : {"[", "? ", "\"\" ", "a: "}) {
    std::string many;
    while (many.size() < maximum_document_bytes - 100000) {
      for (int i = 0; i < 20000; ++i) many += mark;
      many += "\n";
    }
    EXPECT_THAT(refusal(many), HasSubstr("more than 2097152 brackets, commas")) << mark;
  }
  Sources sources;
  const int source = sources.add("FILE");
  EXPECT_NO_THROW(parse_document("[1, 2, 3]", sources, source, 4));
  EXPECT_THROW(parse_document("[1, 2, 3, 4]", sources, source, 4), ShapeError);
}

TEST(Document, ControlCharactersAndOtherEncodingsAreRefusedWithTheirPlace) {
  EXPECT_EQ(refusal(std::string("a: 1\nb: \0", 9)),
            "FILE:2:4: the byte 0x00, expected text in UTF-8");
  EXPECT_EQ(refusal("a: 1\x04\n"), "FILE:1:5: the byte 0x04, expected text in UTF-8");
  EXPECT_EQ(refusal("\xff\xfe"), "FILE:1:1: the byte 0xff, expected text in UTF-8");
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "a: 1\n")
                .root.find("a")
                ->text,
            "1");
}

TEST(Document, SeveralDocumentsAreRefused) {
  EXPECT_EQ(refusal("a: 1\n---\nb: 1\n"), "FILE:2:1: a second document begins, expected one");
  EXPECT_EQ(parse("---\na: 1\n").root.find("a")->text, "1");
}

TEST(Document, WhatIsNotYamlIsRefusedWithItsPlace) {
  for (const char* text : {"a: [1\n", "a: }\n", "a: 1\n  b: 2\n c: 3\n", "\ta: 1\n", "@"}) {
    EXPECT_THAT(refusal(text), AllOf(StartsWith("FILE:"), HasSubstr("not valid YAML"))) << text;
  }
  EXPECT_THAT(refusal("? [a]\n: 1\n"), StartsWith("FILE:1:3: a key is not a word"));
  EXPECT_THAT(refusal("? {a: 1}\n: 1\n"), StartsWith("FILE:1:3: a key is not a word"));
}

TEST(Document, AHugeFileIsRefusedWithoutReadingIt) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("tutti-document-test-{}", getpid());
  std::ofstream(path) << "a: 1\n";
  EXPECT_EQ(read_source(path), "a: 1\n");
  // Sparse: takes no room, but would take memory if it were read.
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  std::string what;
  try {
    read_source(path);
  } catch (const ShapeError& error) {
    what = error.what();
  }
  std::filesystem::remove(path);
  EXPECT_EQ(what, path + ": larger than 16777216 bytes, which no shape needs");
}

TEST(Document, DamagedTextsAreParsedOrRefused) {
  constexpr unsigned seed = 7;
  SCOPED_TRACE(seed);
  const std::string good =
      "# c\nshape: graph\nnodes: [a, 'b', \"c\\n\"]\nlinks:\n  - {between: [a, b], latency: 1us}\n"
      "  - between: [b, c]\n    latency: >\n      2us\nname: |\n  x\n   y\n? k\n: v\n";
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    std::string text = good.substr(0, random() % 4 == 0 ? random() % good.size() : good.size());
    for (std::uint64_t flips = random() % 4; flips > 0 && !text.empty(); --flips) {
      text[random() % text.size()] = "-:{}[]&*!|>'\"%@?#, \n\tax1\x7f"[random() % 26];
    }
    try {
      parse(text);
    } catch (const ShapeError& error) {
      EXPECT_THAT(error.what(), StartsWith("FILE")) << text;
    }
  }
}

}  // namespace
}  // namespace tutti
