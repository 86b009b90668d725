// The shapes that come with tutti, in topologies/, and files that include others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "topologies/document.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;

/// By name, the ranks that it has room for.
struct Ready {
  const char* name;
  int size;
};

constexpr Ready ready_shapes[] = {
    {"dragonfly", 1056},      {"emulated_racks", 8}, {"emulated_ring", 6}, {"emulated_star", 4},
    {"fat_tree", 1024},       {"hgx_128", 1024},     {"hgx_32", 256},      {"hgx_8", 64},
    {"hgx_h100", 8},          {"hypercube", 16},     {"laptop", 8},        {"leaf_spine_100g", 192},
    {"leaf_spine_400g", 512}, {"ring", 8},           {"star", 8},          {"torus_2d", 16},
    {"torus_3d", 64},         {"two_site_wan", 64}};

std::string path_of(const std::string& name) {
  return fmt::format("topologies/{}.yaml", name);
}

Shape load(const std::string& name, const std::vector<std::string>& settings = {},
           const std::vector<std::string>& failures = {}) {
  return load_shape(path_of(name), settings, failures);
}

int node_after(const Link& link, int node) {
  return link.from == node ? link.to : link.from;
}

TEST(ReadyShapes, AreTheFilesOfTheFolder) {
  std::set<std::string> files, names;
  for (const fs::directory_entry& entry : fs::directory_iterator("topologies")) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path().stem());
  }
  for (const Ready& ready : ready_shapes) names.insert(ready.name);
  EXPECT_EQ(files, names);
}

TEST(ReadyShapes, LoadWithTheirRanks) {
  for (const Ready& ready : ready_shapes) EXPECT_EQ(load(ready.name).size(), ready.size);
}

TEST(ReadyShapes, AreShortAndSayWhereTheirNumbersComeFrom) {
  for (const Ready& ready : ready_shapes) {
    const std::string text = read_source(path_of(ready.name));
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 30) << ready.name;
    EXPECT_THAT(text, StartsWith("# ")) << ready.name;
    // The star's numbers are those of the examples, and nobody's.
    if (ready.name == std::string("star")) continue;
    EXPECT_THAT(text, HasSubstr("\nsource: ")) << ready.name;
  }
}

TEST(ReadyShapes, HaveRoutesThatLeadFromHostToHost) {
  for (const Ready& ready : ready_shapes) {
    SCOPED_TRACE(ready.name);
    const Shape shape = load(ready.name);
    const int hosts = static_cast<int>(shape.hosts.size());
    const int step = std::max(1, hosts / 16);
    for (int from = 0; from < hosts; from += step) {
      for (int to = hosts - 1; to >= 0; to -= step) {
        if (from == to) continue;
        int node = from;
        for (const int index : shape.route(from, to)) {
          const Link& link = shape.links[static_cast<std::size_t>(index)];
          EXPECT_TRUE(link.from == node || (link.is_shared(index) && link.to == node));
          node = node_after(link, node);
        }
        EXPECT_EQ(node, to);
        EXPECT_GE(shape.latency_seconds(from, to), 0.2e-6);
        EXPECT_LE(shape.latency_seconds(from, to), 10e-3);
        EXPECT_LE(shape.bandwidth_bytes_per_second(from, to), 1e12);
      }
    }
  }
}

TEST(ReadyShapes, TakeEditsOfEveryClassOfLinks) {
  for (const Ready& ready : ready_shapes) {
    const Shape shape = load(ready.name);
    std::set<std::string> classes;
    for (const Link& link : shape.links) classes.insert(link.link_class);
    for (const std::string& link_class : classes) {
      const Shape edited = load(
          ready.name, {fmt::format("links.{}.bandwidth=50%", link_class), "host[0].speed=0.5x"});
      EXPECT_EQ(edited.hosts[0].speed, 0.5);
      for (std::size_t index = 0; index < shape.links.size(); ++index) {
        const bool changed = shape.links[index].link_class == link_class;
        EXPECT_EQ(edited.links[index].bandwidth_bytes_per_second,
                  shape.links[index].bandwidth_bytes_per_second * (changed ? 0.5 : 1.0));
      }
    }
  }
}

TEST(ReadyShapes, AnHgxNodeKeepsToItsRails) {
  const Shape shape = load("hgx_32");
  // Device 3 of machine 0 to device 3 of machine 9: one leaf, no spine.
  for (const int index : shape.route(3, 75)) {
    EXPECT_NE(shape.links[static_cast<std::size_t>(index)].link_class, "spine");
  }
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(3, 75), 50e9);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(3, 4), 450e9);
  EXPECT_EQ(shape.hosts[75].machine, 9);
}

TEST(ReadyShapes, AFailedRailIsRoutedAround) {
  const Shape shape = load("hgx_8", {}, {"node:machine-0/nic-3"});
  const Route route = shape.route(3, 11);
  EXPECT_FALSE(route.empty());
  for (const int index : route) {
    EXPECT_FALSE(shape.links[static_cast<std::size_t>(index)].failed);
  }
}

/// A folder for as long as the object lives.
class IncludedFiles : public testing::Test {
 protected:
  IncludedFiles() { fs::create_directories(folder_ / "inner"); }
  ~IncludedFiles() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  std::string refusal(const std::string& file) {
    try {
      load_shape(file);
    } catch (const ShapeError& error) {
      std::string what = error.what();
      const std::string folder = folder_.string() + "/";
      for (std::size_t at = what.find(folder); at != std::string::npos; at = what.find(folder)) {
        what.erase(at, folder.size());
      }
      return what;
    }
    return "no error";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / fmt::format("tutti-ready-shapes-test-{}", getpid());
  const std::string outer_ = "shape: star\nhosts: 2\nbandwidth: 1GBps\nlatency: 1us\nhost: ";
  const std::string inner_ =
      "shape: star\nhosts: 3\nbandwidth: 1GBps\nlatency: 1us\ngateways: [switch]\n";
};

TEST_F(IncludedFiles, AreFoundBesideTheFileThatNamesThem) {
  write("inner/rack.yaml", inner_ + "host: {file: node.yaml}\n");
  write("inner/node.yaml", inner_);
  EXPECT_EQ(load_shape(write("a.yaml", outer_ + "{file: inner/rack.yaml}\n")).size(), 18);
  EXPECT_EQ(load_shape(write("a.yaml", outer_ + "{file: inner/rack.yaml}\n"),
                       {"host.host.hosts=1", "host.hosts=5"})
                .size(),
            10);
}

TEST_F(IncludedFiles, AreNamedInTheirErrors) {
  const std::string file = write("a.yaml", outer_ + "{file: inner/rack.yaml}\n");
  EXPECT_EQ(refusal(file),
            "a.yaml:5:14: host.file: inner/rack.yaml: cannot be opened: No such file or directory");
  write("inner/rack.yaml", inner_ + "hots: 3\n");
  EXPECT_THAT(refusal(file), StartsWith("inner/rack.yaml:6:1: unknown key 'hots' in host, "));
  write("inner/rack.yaml", inner_ + "}\n");
  EXPECT_THAT(refusal(file), HasSubstr("inner/rack.yaml:6:1: not valid YAML"));
  write("inner/rack.yaml", "- 4\n");
  EXPECT_EQ(refusal(file), "inner/rack.yaml:1:1: host: a list, expected 'key: value' lines");
  EXPECT_THAT(refusal(write("a.yaml", outer_ + "{file: inner}\n")), HasSubstr("is it a file?"));
  EXPECT_THAT(refusal(write("a.yaml", outer_ + "{file: a.yaml, cores: 2}\n")),
              HasSubstr("unknown key 'cores' in host, expected file"));
  EXPECT_THAT(refusal(write("a.yaml", outer_ + "{file: [a]}\n")), HasSubstr("host.file: a list"));
}

TEST_F(IncludedFiles, MayBeNamedBySettings) {
  const std::string plain = "shape: star\nhosts: 2\nbandwidth: 1GBps\nlatency: 1us\n";
  const std::string inner = write("inner/rack.yaml", inner_);
  EXPECT_EQ(load_shape(write("a.yaml", plain), {"host.file=" + inner, "host.hosts=4"}).size(), 8);
  EXPECT_EQ(load_shape(write("a.yaml", outer_ + "{file: b.yaml}\n"),
                       {"host={file: " + write("b.yaml", inner_) + "}"})
                .size(),
            6);
  EXPECT_THROW(load_shape(write("a.yaml", plain), {"host.file=no/such"}), ShapeError);
}

TEST_F(IncludedFiles, MustNotIncludeThemselvesOrGoTooDeep) {
  const std::string file = write("a.yaml", outer_ + "{file: b.yaml}\n");
  write("b.yaml", inner_ + "host: {file: ./inner/../b.yaml}\n");
  EXPECT_EQ(refusal(file), "b.yaml:6:14: host.file: b.yaml includes itself");
  write("b.yaml", inner_ + "host: {file: a.yaml}\n");
  EXPECT_THAT(refusal(file), HasSubstr("includes itself"));
  for (int depth = 0; depth < 10; ++depth) {
    write(fmt::format("{}.yaml", depth),
          inner_ + fmt::format("host: {{file: {}.yaml}}\n", depth + 1));
  }
  EXPECT_THAT(refusal(write("a.yaml", outer_ + "{file: 0.yaml}\n")),
              HasSubstr("more than 8 files in each other"));
}

TEST(ReadyShapes, DamagedCopiesLoadOrAreRefused) {
  constexpr unsigned seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const char* name : {"leaf_spine_100g", "hgx_8", "two_site_wan", "laptop", "torus_3d"}) {
    const std::string good = read_source(path_of(name));
    for (int i = 0; i < 100; ++i) {
      std::string text = good.substr(0, random() % 3 == 0 ? random() % good.size() : good.size());
      for (std::uint64_t flips = 1 + random() % 3; flips > 0 && !text.empty(); --flips) {
        text[random() % text.size()] = random() % 2 == 0 ? static_cast<char>(random() % 256)
                                                         : "-:{}[]&*#, \n0918xGus"[random() % 20];
      }
      try {
        const Shape shape = parse_shape(text, path_of(name));
        EXPECT_GE(shape.size(), 1);
        shape.route(0, static_cast<int>(shape.hosts.size()) - 1);
      } catch (const ShapeError& error) {
        EXPECT_THAT(error.what(), HasSubstr(".yaml:")) << text;
      }
    }
  }
}

}  // namespace
}  // namespace tutti
