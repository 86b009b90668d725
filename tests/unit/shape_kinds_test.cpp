// Every kind of shape that a file can name: its keys, what they mean and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "topologies/kinds.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string link = "bandwidth: 10GBps\nlatency: 1us\n";
const std::string leaf_spine =
    "shape: leaf_spine\nleaves: 2\nspines: 2\nhosts_per_leaf: 4\nlinks:\n"
    "  host: {bandwidth: 10GBps, latency: 1us}\n";
const std::string machine =
    "shape: machine\ndevices: 4\nnics: 2\ninterconnect: switch\nlinks:\n"
    "  device: {bandwidth: 100GBps, latency: 1us}\n  pcie: {bandwidth: 20GBps, latency: 1us}\n";
const std::string graph =
    "shape: graph\nnodes: [a, b, {name: s, kind: switch}]\nlinks:\n"
    "  - {between: [a, s], bandwidth: 10GBps, latency: 1us}\n"
    "  - {between: [s, b], bandwidth: 10GBps, latency: 1us, class: slow}\n";

Shape load(const std::string& text, const std::vector<std::string>& settings = {}) {
  return parse_shape(text, "FILE", settings);
}

std::string refusal(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    load(text, settings);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "no error";
}

/// The lines below a key, for a shape inside of another.
std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) result += c == '\n' ? "\n  " : std::string(1, c);
  return result.substr(0, result.size() - 2);
}

TEST(ShapeKinds, AFatTreeOfAnOddRadixIsRefusedAtTheRadix) {
  EXPECT_THAT(refusal("shape: fat_tree\nradix: 3\n" + link),
              AllOf(StartsWith("FILE:2:8: 'radix' is 3, "), HasSubstr("even")));
}

TEST(ShapeKinds, KindsOfOneLinkTakeItWithOrWithoutItsKey) {
  for (const char* shape : {"star", "ring", "fully_connected"}) {
    const std::string head = fmt::format("shape: {}\nhosts: 4\n", shape);
    const Shape bare = load(head + link);
    const Shape keyed = load(head + "link: {bandwidth: 10GBps, latency: 1us}\n");
    EXPECT_EQ(bare.name, keyed.name);
    EXPECT_EQ(bare.size(), 4);
    EXPECT_DOUBLE_EQ(bare.latency_seconds(0, 1), 1e-6);
    EXPECT_DOUBLE_EQ(keyed.bandwidth_bytes_per_second(0, 1), 10e9);
    EXPECT_EQ(refusal(head + "latency: 2us\nlink: {bandwidth: 10GBps, latency: 1us}\n"),
              "FILE:3:10: latency: given here and in 'link', expected in one of them");
  }
}

TEST(ShapeKinds, AnOverheadIsPartOfTheLatency) {
  EXPECT_DOUBLE_EQ(load("shape: ring\nhosts: 3\noverhead: 0.5us\n" + link).latency_seconds(0, 1),
                   1.5e-6);
}

TEST(ShapeKinds, ASharedLinkIsItsOwnOpposite) {
  const Shape shape = load("shape: ring\nhosts: 3\nduplex: shared\n" + link);
  EXPECT_EQ(shape.links.size(), 3u);
  EXPECT_EQ(shape.route(0, 1), shape.route(1, 0));
  EXPECT_THAT(refusal("shape: ring\nhosts: 3\nduplex: half\n" + link),
              StartsWith("FILE:3:9: duplex: unknown value 'half', expected full, shared"));
}

TEST(ShapeKinds, DimensionsAreAListOrWrittenWithX) {
  for (const char* shape : {"torus", "mesh"}) {
    for (const char* dimensions : {"[4, 3, 2]", "4x3x2", "'4x3x2'"}) {
      EXPECT_EQ(load(fmt::format("shape: {}\ndimensions: {}\n{}", shape, dimensions, link)).size(),
                24);
    }
    const auto refused = [&](const char* dimensions) {
      return refusal(fmt::format("shape: {}\ndimensions: {}\n{}", shape, dimensions, link));
    };
    for (const char* bad : {"4x", "x4", "4x0", "4x-1", "[4, x]", "[4, [4]]", "[]", "4X4", "{a: 4}",
                            "1048577", "4000000000x2", ""}) {
      EXPECT_THAT(refused(bad), StartsWith("FILE:2:")) << bad;
    }
    EXPECT_THAT(refused("2000x2000"), HasSubstr("1048576"));
  }
  EXPECT_EQ(load("shape: hypercube\ndimensions: 5\n" + link).size(), 32);
  EXPECT_THAT(refusal("shape: hypercube\ndimensions: 21\n" + link), HasSubstr("from 1 to 20"));
}

TEST(ShapeKinds, LevelsMayHaveLinksOfTheirOwn) {
  const std::string links =
      "links:\n  - {bandwidth: 10GBps, latency: 1us}\n  - {bandwidth: 5GBps, latency: 3us}\n";
  const Shape torus = load("shape: torus\ndimensions: 4x4\n" + links);
  EXPECT_DOUBLE_EQ(torus.latency_seconds(0, 1), 1e-6);
  EXPECT_DOUBLE_EQ(torus.latency_seconds(0, 4), 3e-6);
  const Shape tree = load("shape: fat_tree\ndown: [4, 4]\nup: [1, 2]\ncables: [1, 2]\n" + links);
  EXPECT_EQ(tree.size(), 16);
  EXPECT_DOUBLE_EQ(tree.latency_seconds(0, 15), 8e-6);
  EXPECT_DOUBLE_EQ(tree.bandwidth_bytes_per_second(0, 15), 5e9);
  EXPECT_THAT(refusal("shape: torus\ndimensions: 4x4x4\n" + links), StartsWith("FILE:"));
  EXPECT_EQ(refusal("shape: torus\ndimensions: 4x4\n" + link + links),
            "FILE:3:12: bandwidth: given here and in 'links', expected in one of them");
}

TEST(ShapeKinds, AFatTreeIsGivenByItsRadixOrItsLevels) {
  EXPECT_EQ(load("shape: fat_tree\nradix: 4\n" + link).size(), 16);
  EXPECT_EQ(refusal("shape: fat_tree\nradix: 4\ndown: [4]\n" + link),
            "FILE:3:7: down: given beside 'radix', expected one of them");
  EXPECT_EQ(refusal("shape: fat_tree\n" + link), "FILE:1:1: the key 'radix' or 'down' is missing");
  EXPECT_THAT(refusal("shape: fat_tree\ndown: [4]\nup: [1]\noversubscription: 2\n" + link),
              StartsWith("FILE:4:19: oversubscription: needs 'radix'"));
  EXPECT_THAT(refusal("shape: fat_tree\nradix: 4\noversubscription: 3\n" + link),
              StartsWith("FILE:3:19: 'oversubscription' is 3"));
}

TEST(ShapeKinds, OversubscriptionSetsTheSpinesBandwidth) {
  const Shape shape = load(leaf_spine + "  spine: {latency: 2us}\noversubscription: 4\n");
  // 4 hosts of 10 GB/s over 2 cables and 4.
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 7), 5e9);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 7), 6e-6);
  EXPECT_DOUBLE_EQ(load(leaf_spine + "oversubscription: 2\n").bandwidth_bytes_per_second(0, 7),
                   10e9);
  EXPECT_THAT(
      refusal(leaf_spine + "  spine: {bandwidth: 1GBps, latency: 2us}\noversubscription: 4\n"),
      StartsWith("FILE:8:19: oversubscription: given beside links.spine.bandwidth"));
  EXPECT_EQ(refusal(leaf_spine + "oversubscription: 0\n"),
            "FILE:7:19: oversubscription: '0' is not a number greater than zero");
}

TEST(ShapeKinds, NestedKeysAreNamedByTheirPath) {
  EXPECT_EQ(refusal(leaf_spine), "FILE:6:3: links: the key 'spine' is missing");
  EXPECT_EQ(refusal(leaf_spine + "  spine: {bandwidth: 1GBps}\n"),
            "FILE:7:10: links.spine: the key 'latency' is missing");
  EXPECT_EQ(refusal(leaf_spine + "  spine: {bandwidth: 1, latency: 2us}\n"),
            "FILE:7:22: links.spine.bandwidth: '1' has no unit, expected for example 12.5GBps or "
            "100Gbps");
  EXPECT_EQ(refusal(leaf_spine + "  spine: {bandwidth: 1GBps, latncy: 2us}\n"),
            "FILE:7:29: unknown key 'latncy' in links.spine, the nearest valid one is 'latency' "
            "(all: bandwidth, latency, overhead, duplex)");
  EXPECT_EQ(refusal(leaf_spine + "  spin: {bandwidth: 1GBps, latency: 2us}\n"),
            "FILE:7:3: unknown key 'spin' in links, the nearest valid one is 'spine' (all: host, "
            "spine)");
  EXPECT_EQ(refusal(leaf_spine + "  spine: 4\n"),
            "FILE:7:10: links.spine: a single value '4', expected 'key: value' lines");
}

TEST(ShapeKinds, ADragonflyHasItsNumbersOfParts) {
  const std::string links =
      "links:\n  host: {bandwidth: 1GBps, latency: 1us}\n  local: {bandwidth: 2GBps, latency: "
      "2us}\n  global: {bandwidth: 3GBps, latency: 4us}\n";
  EXPECT_EQ(load("shape: dragonfly\ngroups: 3\nrouters: 2\nhosts_per_router: 2\nglobal_links: 1\n" +
                 links)
                .size(),
            12);
  EXPECT_EQ(refusal("shape: dragonfly\ngroups: 3\nrouters: 2\nglobal_links: 1\n" + links),
            "FILE:1:1: the key 'hosts_per_router' is missing");
}

TEST(ShapeKinds, AProductIsAListOfDimensions) {
  const std::string text =
      "shape: product\ndimensions:\n  - {kind: ring, size: 4, bandwidth: 10GBps, latency: 1us}\n"
      "  - {kind: switch, size: 2, bandwidth: 5GBps, latency: 2us}\n"
      "  - {kind: fully_connected, size: 3, bandwidth: 2GBps, latency: 3us}\n";
  const Shape shape = load(text);
  EXPECT_EQ(shape.size(), 24);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 1), 1e-6);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 4), 2e-6);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 8), 3e-6);
  EXPECT_EQ(load(text, {"dimensions.0.size=2"}).size(), 12);
  EXPECT_THAT(refusal(text, {"dimensions.3.size=2"}),
              StartsWith("--set dimensions.3.size=2: '3' is no element of a list of 3"));
  EXPECT_THAT(refusal("shape: product\ndimensions:\n  - {kind: star, size: 4}\n"),
              StartsWith("FILE:3:12: dimensions[0].kind: unknown value 'star', expected ring"));
  EXPECT_THAT(refusal("shape: product\ndimensions: [4]\n"),
              StartsWith("FILE:2:14: dimensions[0]: a single value '4', expected"));
}

TEST(ShapeKinds, AMachineMayStandAloneOrBePluggedIn) {
  EXPECT_EQ(load(machine).size(), 4);
  // Eight ports are four machines of two NICs.
  const Shape shape = load(leaf_spine + "  spine: {bandwidth: 10GBps, latency: 1us}\nhost:\n" +
                           indented(machine) + "  host: {reduction: 5GBps, cores: 1}\n");
  EXPECT_EQ(shape.size(), 16);
  EXPECT_EQ(shape.hosts[4].machine, 1);
  EXPECT_EQ(shape.hosts[0].reduction_bytes_per_second.value(), 5e9);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 15), 10e9);
  EXPECT_THAT(refusal("shape: star\nhosts: 3\n" + link + "host:\n" + indented(machine)),
              StartsWith("FILE:6:3: host: "));
  EXPECT_THAT(refusal("shape: star\nhosts: 3\n" + link +
                      "host: {shape: star, hosts: 2, bandwidth: 1GBps, latency: 1us}\n"),
              AllOf(StartsWith("FILE:5:7: host: "), HasSubstr("'gateways'")));
  EXPECT_THAT(refusal("shape: machine\ndevices: 4\ninterconnect: wires\n"),
              StartsWith("FILE:1:1: the key 'links' is missing"));
  EXPECT_THAT(
      refusal(machine, {"interconnect=nvlink"}),
      StartsWith("--set interconnect=nvlink: interconnect: unknown value 'nvlink', expected "
                 "switch, mesh, ring, pcie"));
}

TEST(ShapeKinds, ShapesAreNestedAtGatewaysToSomeDepth) {
  std::string text = "shape: star\nhosts: 2\n" + link;
  const std::string level = "shape: star\nhosts: 2\ngateways: [switch]\n" + link;
  std::string inner;
  for (int depth = 1; depth < 8; ++depth) {
    inner = inner.empty() ? level : level + "host:\n" + indented(inner);
    EXPECT_EQ(load(text + "host:\n" + indented(inner)).size(), 2 << depth) << depth;
  }
  inner = level + "host:\n" + indented(inner);
  EXPECT_THAT(refusal(text + "host:\n" + indented(inner)), HasSubstr("more than 8 shapes"));
}

TEST(ShapeKinds, GatewaysAreNamesOrPatterns) {
  const std::string outer = "shape: star\nhosts: 4\n" + link + "host:\n";
  const std::string site = leaf_spine + "  spine: {bandwidth: 1GBps, latency: 1us}\n";
  EXPECT_EQ(load(outer + indented(site + "gateways: [spine1, spine0]\n")).size(), 16);
  EXPECT_EQ(load(outer + indented(site + "gateways: ['spine*']\n")).size(), 16);
  EXPECT_THAT(refusal(outer + indented(site + "gateways: [spin0]\n")),
              AllOf(HasSubstr("host.gateways: no node 'spin0', "), HasSubstr("'spine0'")));
}

TEST(ShapeKinds, AGraphIsNodesAndLinks) {
  const Shape shape = load(graph);
  EXPECT_EQ(shape.size(), 2);
  EXPECT_EQ(shape.nodes.size(), 3u);
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 1), 2e-6);
  EXPECT_EQ(shape.links[2].link_class, "slow");
}

TEST(ShapeKinds, AGraphMayGiveRoutesAndAMetric) {
  const std::string square =
      "shape: graph\nnodes: [a, b, c, d]\nlinks:\n"
      "  - {between: [a, b], bandwidth: 1GBps, latency: 9us}\n"
      "  - {between: [b, c], bandwidth: 1GBps, latency: 1us, duplex: shared}\n"
      "  - {between: [c, d], bandwidth: 1GBps, latency: 1us}\n"
      "  - {between: [d, a], bandwidth: 1GBps, latency: 1us}\n";
  // Of two ways of two links each, the one over the earlier links.
  EXPECT_DOUBLE_EQ(load(square).latency_seconds(0, 2), 10e-6);
  EXPECT_DOUBLE_EQ(load(square + "metric: latency\n").latency_seconds(0, 2), 2e-6);
  EXPECT_DOUBLE_EQ(load(square + "routes: [[a, d, c]]\n").latency_seconds(2, 0), 2e-6);
  const Shape one_way =
      load(square + "routes: [{nodes: [a, b, c], both_ways: false}]\nmetric: latency\n");
  EXPECT_DOUBLE_EQ(one_way.latency_seconds(0, 2), 10e-6);
  EXPECT_DOUBLE_EQ(one_way.latency_seconds(2, 0), 2e-6);
  EXPECT_THAT(refusal(square + "routes: [[a, e]]\n"),
              AllOf(StartsWith("FILE:8:14: no node 'e'"), HasSubstr("a, b, c, d")));
  EXPECT_THAT(refusal(square + "routes: [[a, c]]\n"), HasSubstr("no link from 'a' to 'c'"));
  EXPECT_THAT(refusal(square + "metric: speed\n"), HasSubstr("expected hops, latency"));
}

TEST(ShapeKinds, AGraphsNodesAndLinksAreChecked) {
  const std::string head = "shape: graph\nnodes: [aa, bb]\nlinks:\n";
  const auto refused = [&](const std::string& line) {
    return refusal(head + "  - " + line + "\n");
  };
  EXPECT_EQ(refused("{between: [aa, cc], bandwidth: 1GBps, latency: 1us}"),
            "FILE:4:20: links[0]: no node 'cc', the nearest valid one is 'aa' (all: aa, bb)");
  EXPECT_EQ(refused("{between: [aa], bandwidth: 1GBps, latency: 1us}"),
            "FILE:4:15: links[0]: expected 'between: [a, b]', the names of two nodes");
  EXPECT_EQ(refused("{bandwidth: 1GBps, latency: 1us}"),
            "FILE:4:5: links[0]: expected 'between: [a, b]', the names of two nodes");
  EXPECT_THAT(refused("{between: [aa, aa], bandwidth: 1GBps, latency: 1us}"),
              HasSubstr("at one node"));
  EXPECT_THAT(refused("{between: [aa, bb], bandwidth: 1GBps, latency: 1us, duplex: one_way}"),
              HasSubstr("no way from bb to aa"));
  EXPECT_THAT(refusal("shape: graph\nnodes: [a, a]\n"), HasSubstr("two nodes are named 'a'"));
  EXPECT_THAT(refusal("shape: graph\nnodes: []\n"), StartsWith("FILE:"));
  EXPECT_THAT(refusal("shape: graph\nnodes: ['']\n"), HasSubstr("is no name"));
  EXPECT_THAT(refusal("shape: graph\nnodes: [\"a\\nb\"]\n"), HasSubstr("is no name"));
  EXPECT_THAT(refusal("shape: graph\nnodes: [{kind: host}]\n"),
              StartsWith("FILE:2:9: nodes[0]: the key 'name' is missing"));
  EXPECT_THAT(refusal("shape: graph\nnodes: [{name: a, kind: router}]\n"),
              HasSubstr("nodes[0].kind: unknown value 'router', expected host, switch"));
}

TEST(ShapeKinds, HostsHaveTheirAttributes) {
  const std::string star = "shape: star\nhosts: 4\n" + link;
  const Shape shape =
      load(star +
           "host: {cores: 2, reduction: 8GBps, send_overhead: 0.5us, receive_overhead: 1us, "
           "loopback: {bandwidth: 20GBps, latency: 0.2us}}\n");
  EXPECT_EQ(shape.size(), 8);
  EXPECT_EQ(shape.hosts[3].cores, 2);
  EXPECT_EQ(shape.hosts[3].reduction_bytes_per_second.value(), 8e9);
  EXPECT_DOUBLE_EQ(shape.hosts[3].send_overhead_seconds, 0.5e-6);
  EXPECT_DOUBLE_EQ(shape.hosts[3].receive_overhead_seconds, 1e-6);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(shape.route_of_ranks(0, 1)), 20e9);
  EXPECT_EQ(refusal(star + "reduction: 1GBps\nhost: {cores: 1}\n"),
            "FILE:5:12: reduction: given beside 'host', expected as one of its keys");
  EXPECT_THAT(refusal(star + "host: {core: 1}\n"), HasSubstr("unknown key 'core' in host"));
  EXPECT_THAT(refusal(star + "host: {cores: 0}\n"), StartsWith("FILE:5:15: host.cores: '0'"));
  EXPECT_THAT(refusal(star + "host: {cores: 2}\n"), HasSubstr("loopback"));
  EXPECT_THAT(refusal(star + "host: {reduction: fast}\n"), HasSubstr("or 'free'"));
}

TEST(ShapeKinds, RanksArePlacedOnHosts) {
  const std::string star = "shape: star\nhosts: 3\n" + link +
                           "host: {cores: 2, loopback: {bandwidth: 20GBps, latency: 0.2us}}\n";
  EXPECT_THAT(load(star).placement, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(load(star + "placement: block\n").placement, ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(load(star + "placement: cyclic\n").placement, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(load(star + "placement: [2, 0, 0]\n").placement, ElementsAre(2, 0, 0));
  EXPECT_EQ(load(star + "placement: {random: 7}\n").placement,
            load(star, {"placement.random=7"}).placement);
  EXPECT_EQ(load(star + "placement: block\n", {"placement.random=7"}).placement,
            load(star, {"placement={random: 7}"}).placement);
  EXPECT_THAT(load(star, {"placement=cyclic"}).placement, ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(load(star, {"placement=[1, 2]"}).placement, ElementsAre(1, 2));
  EXPECT_THAT(refusal(star + "placement: [2, 3]\n"),
              StartsWith("FILE:6:12: 'placement' puts rank 1 on host 3, expected 0 to 2"));
  EXPECT_THAT(refusal(star + "placement: spread\n"),
              StartsWith("FILE:6:12: placement: unknown value 'spread', expected block, cyclic"));
  EXPECT_THAT(refusal(star + "placement: {random: -1}\n"),
              StartsWith("FILE:6:21: placement.random: '-1'"));
  EXPECT_THAT(refusal(star + "placement: {seed: 1}\n"), HasSubstr("expected random"));
  EXPECT_THAT(refusal(star + "placement:\n"), StartsWith("FILE:6:1: placement: nothing"));
  EXPECT_THAT(refusal("shape: star\nhosts: 2\n" + link +
                      "host: {shape: star, hosts: 2, bandwidth: 1GBps, latency: 1us, gateways: "
                      "[switch], placement: block}\n"),
              HasSubstr("host.placement: expected in the outermost shape only"));
}

TEST(ShapeKinds, SettingsReplaceAndAddNestedKeys) {
  const std::string star = "shape: star\nhosts: 4\n" + link;
  EXPECT_EQ(load(star, {"host.reduction=3GBps"}).hosts[0].reduction_bytes_per_second.value(), 3e9);
  EXPECT_EQ(load("shape: torus\ndimensions: 4x4\n" + link, {"dimensions=8x8"}).size(), 64);
  EXPECT_EQ(load("shape: torus\ndimensions: 4x4\n" + link, {"dimensions=[2, 3]"}).size(), 6);
  EXPECT_EQ(load(star, {"shape=ring", "hosts=5"}).size(), 5);
  EXPECT_THAT(refusal(star, {"link.bandwidth=1GBps"}), HasSubstr("given here and in 'link'"));
}

TEST(ShapeKinds, BadSettingsAreNamedInTheFilesPlace) {
  const std::string star = "shape: star\nhosts: 4\n" + link;
  EXPECT_THAT(refusal(star, {"host.core=2"}),
              StartsWith("--set host.core=2: unknown key 'core' in host"));
  EXPECT_EQ(refusal(star, {"host.cores=two"}),
            "--set host.cores=two: host.cores: 'two' is not a whole number from 1 to 1048576");
  EXPECT_THAT(refusal(star, {"placement=[1"}), StartsWith("--set placement=[1:1:"));
  for (const char* setting : {"", "=", "=4", "hosts", ".=1", "hosts.=1", ".hosts=1", "a..b=1"}) {
    EXPECT_THAT(refusal(star, {setting}), StartsWith("--set ")) << setting;
  }
  std::string deep = "a";
  for (int depth = 0; depth < 100000; ++depth) deep += ".a";
  EXPECT_THAT(refusal(star, {deep + "=1"}), HasSubstr("too many keys in each other"));
}

TEST(ShapeKinds, ANameAndASourceAreForPeople) {
  const std::string star = "shape: star\nhosts: 4\n" + link;
  EXPECT_EQ(load(star + "name: our cluster\nsource: measured\n").name, "our cluster");
  EXPECT_THAT(refusal(star + "name: \"\\e[31m\"\n"), HasSubstr("name: "));
  EXPECT_THAT(refusal(star + "source: [a]\n"), StartsWith("FILE:5:9: source: a list"));
}

TEST(ShapeKinds, TheDescriptionNamesEveryKindAndKey) {
  const std::string text = describe_shape_keys();
  for (const ShapeKind& kind : shape_kinds()) {
    EXPECT_THAT(text, HasSubstr(fmt::format("  {}:", kind.name)));
  }
  for (const char* word : {"bandwidth", "duplex", "loopback", "send_overhead", "placement",
                           "random", "gateways", "source", "file"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

}  // namespace
}  // namespace tutti
