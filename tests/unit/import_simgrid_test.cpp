// SimGrid's platforms: what becomes of clusters, zones and routes, and what is refused.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/unit/import_checks.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto ignored = ImportNote::Kind::ignored;
constexpr auto assumed = ImportNote::Kind::assumed;
constexpr auto suspicious = ImportNote::Kind::suspicious;

std::string platform(const std::string& content) {
  return "<platform version=\"4.1\">\n" + content + "\n</platform>\n";
}

std::string cluster(const std::string& attributes) {
  return platform(
      fmt::format("<cluster id=\"c\" prefix=\"n-\" suffix=\"\" speed=\"1Gf\" {}/>", attributes));
}

std::string full_zone(const std::string& content) {
  return platform("<zone id=\"z\" routing=\"Full\">\n" + content + "\n</zone>");
}

Shape shape_of_text(const std::string& text) {
  return shape_of(import_topology(text, "file.xml"));
}

TEST(ImportSimgrid, AClusterWithoutBackboneIsAStarOfTwiceItsLatency) {
  const Import import =
      import_topology(cluster("radical=\"0-2,5\" bw=\"125MBps\" lat=\"50us\" core=\"2\""), "f.xml");
  EXPECT_EQ(import.kind, "SimGrid platform XML 4.1");
  EXPECT_THAT(import.yaml, HasSubstr("shape: star"));
  const Shape shape = shape_of(import);
  EXPECT_EQ(shape.hosts.size(), 4U);
  EXPECT_EQ(shape.size(), 8);
  expect_way(shape, "host-0", "host-3", 125e6, 100e-6);
  EXPECT_THAT(import.notes, has_note(assumed, 0, "loopback of 498 MB/s"));
}

TEST(ImportSimgrid, ABackboneThatLimitsIsALinkThatAllShare) {
  const Shape shape = shape_of_text(
      cluster("radical=\"0-3\" bw=\"125MBps\" lat=\"50us\" bb_bw=\"300MBps\" bb_lat=\"7us\""));
  expect_way(shape, "n-0", "n-1", 125e6, 107e-6);
  EXPECT_EQ(shape.route(0, 1)[1], shape.route(2, 3)[1]);
  EXPECT_EQ(shape.route(0, 1)[1], shape.route(1, 0)[1]) << "the backbone has one direction only";
}

TEST(ImportSimgrid, ABackboneThatDoesNotLimitOnlyAddsItsLatency) {
  const Import import = import_topology(
      cluster("radical=\"0-3\" bw=\"125MBps\" lat=\"50us\" bb_bw=\"500MBps\" bb_lat=\"7us\""), "f");
  EXPECT_THAT(import.yaml, HasSubstr("shape: star"));
  expect_way(shape_of(import), "host-0", "host-1", 125e6, 107e-6);
}

TEST(ImportSimgrid, ALimiterBelowTheLinkMakesItHalfDuplex) {
  const Shape shape =
      shape_of_text(cluster("radical=\"0-3\" bw=\"1GBps\" lat=\"1us\" limiter_link=\"500MBps\""));
  expect_way(shape, "host-0", "host-1", 500e6, 2e-6);
  EXPECT_TRUE(shape.links[0].is_shared(0));
}

TEST(ImportSimgrid, TorusAndFatTreeKeepTheirParameters) {
  const Shape torus = shape_of_text(
      cluster("radical=\"0-23\" bw=\"1GBps\" lat=\"2us\" topology=\"TORUS\" "
              "topo_parameters=\"4,3,2\" loopback_bw=\"3GBps\" loopback_lat=\"1us\""));
  expect_way(torus, "host-0", "host-23", 1e9, 6e-6);
  expect_way(torus, "host-0", "host-2", 1e9, 4e-6);
  EXPECT_NEAR(torus.bandwidth_bytes_per_second(0, 0), 3e9, 1.0);
  const Shape tree =
      shape_of_text(cluster("radical=\"0-15\" bw=\"1GBps\" lat=\"2us\" topology=\"FAT_TREE\" "
                            "topo_parameters=\"2;4,4;1,2;1,2\""));
  expect_way(tree, "host-0", "host-3", 1e9, 4e-6);
  expect_way(tree, "host-0", "host-4", 1e9, 8e-6);
}

TEST(ImportSimgrid, ADragonflyIsAGraphWithCablesOfSeveralLinks) {
  const Import import =
      import_topology(cluster("radical=\"0-23\" bw=\"1GBps\" lat=\"2us\" topology=\"DRAGONFLY\" "
                              "topo_parameters=\"2,4;2,3;3,2;2\""),
                      "f");
  const Shape shape = shape_of(import);
  // To a chassis neighbour, and to another group: in each group one link to where the cable is.
  expect_way(shape, "n-0", "n-2", 1e9, 6e-6);
  expect_way(shape, "n-2", "n-12", 1e9, 6e-6);
  EXPECT_THAT(import.yaml, AllOf(HasSubstr("bandwidth: 2GBps, latency: 2us, class: chassis"),
                                 HasSubstr("bandwidth: 3GBps, latency: 2us, class: group"),
                                 HasSubstr("bandwidth: 4GBps, latency: 2us, class: global")));
}

TEST(ImportSimgrid, LinksOfRoutesThatFitAreCables) {
  const Import import = import_file(own_topology("simgrid_star.xml"));
  const Shape shape = shape_of(import);
  expect_way(shape, "anna", "bert", 125e6, 30e-6);
  expect_way(shape, "carl", "bert", 100e6, 60e-6);
  EXPECT_EQ(shape.nodes.size(), 4U);
  EXPECT_NEAR(shape.latency_seconds(0, 0), 1e-6, 1e-15);
  EXPECT_EQ(notes_of(import, assumed), 1);  // Ranks go round the hosts, whose cores they fill.
  EXPECT_EQ(shape.host_of(1), 1);
}

TEST(ImportSimgrid, ALinkBetweenManyIsReachedOverJoints) {
  const Import import = import_file(own_topology("simgrid_backbone.xml"));
  const Shape shape = shape_of(import);
  expect_way(shape, "n0", "n1", 125e6, 610e-6);
  expect_way(shape, "n2", "n1", 125e6, 630e-6);
  EXPECT_THAT(import.notes, has_note(assumed, 0, "joints of no latency"));
}

TEST(ImportSimgrid, RoutesThatAreNotTheShortestAreGiven) {
  const Import import = import_file(own_topology("simgrid_detour.xml"));
  const Shape shape = shape_of(import);
  EXPECT_THAT(import.yaml, HasSubstr("routes:"));
  expect_way(shape, "a", "b", 1e9, 1e-6);
  expect_way(shape, "b", "a", 2e9, 2e-6);
  expect_way(shape, "a", "c", 3e9, 12e-6);
  expect_way(shape, "b", "c", 2e9, 11e-6);
  EXPECT_THAT(import.notes, has_note(assumed, 0, "2 of 6 routes are given"));
}

TEST(ImportSimgrid, ZonesAreConnectedAtTheirGateways) {
  const Import import = import_file(own_topology("simgrid_zones.xml"));
  const Shape shape = shape_of(import);
  expect_way(shape, "blade-0.site", "blade-7.site", 1e9, 10e-6);
  // blade, site-1, site-2, north to south over the east, farm-up, backbone, host.
  expect_way(shape, "blade-0.site", "farm-2", 125e6, 5e-6 + 300e-6 + 3e-3 + 300e-6 + 10e-6 + 50e-6);
  expect_way(shape, "farm-0", "desktop", 2e6, 50e-6 + 10e-6 + 300e-6 + 4e-3 + 20e-3);
}

TEST(ImportSimgrid, ClusterZonesHaveTheLinksThatTheyName) {
  const Import import = import_file(own_topology("simgrid_cluster_zone.xml"));
  EXPECT_EQ(import.kind, "SimGrid platform XML 4");
  const Shape shape = shape_of(import);
  expect_way(shape, "h1", "h2", 125e6, 680e-6);
  expect_way(shape, "h2", "h1", 100e6, 670e-6);
  expect_way(shape, "c1.right", "c3.right", 1e9, 20e-6);
  expect_way(shape, "h1", "c1.right", 125e6, 1110e-6);
}

TEST(ImportSimgrid, BypassRoutesAndMissingDirectionsAreUnderstood) {
  const Shape shape = shape_of_text(full_zone(
      "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n"
      "<link id=\"slow\" bandwidth=\"1kBps\" latency=\"1ms\" sharing_policy=\"SPLITDUPLEX\"/>\n"
      "<link id=\"fast\" bandwidth=\"1KiBps\" latency=\"1ns\"/>\n"
      "<route src=\"a\" dst=\"b\"><link_ctn id=\"slow_UP\"/></route>\n"
      "<bypassRoute src=\"b\" dst=\"a\"><link_ctn id=\"fast\"/></bypassRoute>"));
  expect_way(shape, "a", "b", 1e3, 1e-3);
  expect_way(shape, "b", "a", 1024.0, 1e-9);
}

TEST(ImportSimgrid, SuspiciousValuesAreTakenAndSaid) {
  const Import import = import_topology(
      platform("<config><prop id=\"network/bandwidth-factor\" value=\"0.5\"/></config>\n"
               "<zone id=\"z\" routing=\"Full\">\n"
               "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\" speed_file=\"x\"/>\n"
               "<link id=\"l\" bandwidth=\"125000000\" latency=\"0.001\"/>\n"
               "<link id=\"l\" bandwidth=\"25TBps\" latency=\"0\"/>\n"
               "<trace id=\"t\" periodicity=\"1\"/>\n"
               "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone>"),
      "file.xml");
  EXPECT_THAT(import.notes, has_note(suspicious, 2, "changes the model"));
  EXPECT_THAT(import.notes, has_note(suspicious, 4, "speed_file"));
  EXPECT_THAT(import.notes, has_note(suspicious, 5, "'125000000' without unit"));
  EXPECT_THAT(import.notes, has_note(suspicious, 5, "'0.001' without unit"));
  EXPECT_THAT(import.notes, has_note(suspicious, 6, "'25TBps', more than any link has"));
  EXPECT_THAT(import.notes, has_note(suspicious, 6, "the link id 'l' is given twice"));
  EXPECT_THAT(import.notes, has_note(suspicious, 7, "<trace>"));
  EXPECT_THAT(import.notes, has_note(ignored, 4, "speeds in flops"));
  EXPECT_THAT(import.yaml, HasSubstr("#   suspicious, line 2: <config> sets"));
  expect_way(shape_of(import), "a", "b", 125e6, 1e-3);
}

TEST(ImportSimgrid, RefusalsSayLineFindingAndExpectation) {
  const std::string hosts = "<host id=\"a\" speed=\"1f\"/>\n<host id=\"b\" speed=\"1f\"/>\n";
  const auto of = [&](const std::string& content) {
    return refusal_of(full_zone(hosts + content));
  };
  EXPECT_THAT(
      of("<route src=\"a\" dst=\"c\"/>"),
      AllOf(StartsWith("file.xml:5:21: <route>: 'dst' is 'c'"), HasSubstr("there is no host")));
  EXPECT_THAT(of("<route src=\"a\" dst=\"b\"><link_ctn id=\"x\"/></route>"),
              StartsWith("file.xml:5:38: <link_ctn>: there is no link 'x' before this line"));
  EXPECT_THAT(of("<link id=\"l\" bandwidth=\"1Gbit\" latency=\"1us\"/>"),
              AllOf(StartsWith("file.xml:5:25: <link>: bandwidth:"), HasSubstr("unknown unit")));
  EXPECT_THAT(of("<link id=\"l\" bandwidth=\"0Bps\" latency=\"1us\"/>"), HasSubstr("is zero"));
  EXPECT_THAT(of("<link id=\"l\" latency=\"1us\"/>"), HasSubstr("'bandwidth' is missing"));
  EXPECT_THAT(of("<host id=\"a\" speed=\"1f\"/>"), HasSubstr("the id 'a' is already"));
  EXPECT_THAT(of("<rout src=\"a\" dst=\"b\"/>"), HasSubstr("nearest valid one is 'route'"));
  EXPECT_THAT(of("<include file=\"other.xml\"/>"), HasSubstr("other files are not read"));
  EXPECT_THAT(of("<zone id=\"w\" routing=\"Wifi\"/>"),
              HasSubstr("wireless zones cannot be imported"));
  EXPECT_THAT(of(""), HasSubstr("no links lead from 'a' to 'b'"));
  EXPECT_THAT(refusal_of("<platform version=\"3\"/>"), HasSubstr("expected 4.0 or 4.1"));
  EXPECT_THAT(refusal_of(platform("")), HasSubstr("has no zone"));
  EXPECT_THAT(refusal_of(full_zone("")), HasSubstr("has no host"));
}

TEST(ImportSimgrid, UnknownAttributesAreRefusedWithTheNearestOnes) {
  const std::string text = full_zone("<link id=\"l\" bandwidth=\"1GBps\" latncy=\"1us\"/>");
  EXPECT_THAT(refusal_of(text), AllOf(StartsWith("file.xml:3:40: <link>: unknown attribute "
                                                 "'latncy'"),
                                      HasSubstr("the nearest valid one is 'latency'")));
  EXPECT_THAT(refusal_of(full_zone("<lnk id=\"l\"/>")),
              AllOf(StartsWith("file.xml:3:2: <lnk>: is not known here"),
                    HasSubstr("the nearest valid one is 'link'")));
}

TEST(ImportSimgrid, ColumnsCountCharactersAndNotTheByteOrderMark) {
  EXPECT_THAT(refusal_of("\xef\xbb\xbf<platform version=\"9\"/>"),
              StartsWith("file.xml:1:20: <platform>: 'version' is '9'"));
  const std::string accents = full_zone("<!-- \xc3\xa9\xc3\xa9 --><route src=\"a\" dst=\"b\"/>");
  EXPECT_THAT(refusal_of(accents), StartsWith("file.xml:3:24: <route>: 'src' is 'a'"));
}

TEST(ImportSimgrid, GatewaysMustBeInTheirZones) {
  const std::string zones =
      "<zone id=\"one\" routing=\"Full\"><host id=\"a\" speed=\"1f\"/></zone>\n"
      "<zone id=\"two\" routing=\"Full\"><host id=\"b\" speed=\"1f\"/></zone>\n";
  EXPECT_THAT(
      refusal_of(full_zone(zones + "<zoneRoute src=\"one\" dst=\"two\" gw_src=\"b\" "
                                   "gw_dst=\"b\"/>")),
      StartsWith("file.xml:5:40: <zoneRoute>: 'gw_src' is 'b', which is not in the zone 'one'"));
  EXPECT_THAT(refusal_of(full_zone(zones + "<zoneRoute src=\"one\" dst=\"two\" gw_src=\"a\"/>")),
              HasSubstr("'gw_dst' is missing"));
}

TEST(ImportSimgrid, ClustersThatDoNotFitTheirParametersAreRefused) {
  const auto of = [](const std::string& topology, const std::string& parameters) {
    return refusal_of(
        cluster(fmt::format("radical=\"0-15\" bw=\"1GBps\" lat=\"1us\" topology=\"{}\" "
                            "topo_parameters=\"{}\"",
                            topology, parameters)));
  };
  EXPECT_THAT(of("TORUS", "3,5"), HasSubstr("has 16 hosts but its topo_parameters have 15"));
  EXPECT_THAT(of("TORUS", "4,x"), HasSubstr("'x' is not a whole number"));
  EXPECT_THAT(of("FAT_TREE", "2;4,4;1,2"), HasSubstr("levels;down;up;cables"));
  EXPECT_THAT(of("FAT_TREE", "2;4,4;1000000,1000000;1000000,1000000"), HasSubstr("links"));
  EXPECT_THAT(of("DRAGONFLY", "8,1;1,1;2,1;1"), HasSubstr("at least as many routers"));
  EXPECT_THAT(of("RING", "16"), HasSubstr("expected FLAT, TORUS"));
  EXPECT_THAT(refusal_of(cluster("radical=\"0-99999999\" bw=\"1GBps\" lat=\"1us\"")),
              HasSubstr("more than 1048576 hosts"));
  EXPECT_THAT(refusal_of(cluster("radical=\"3-1\" bw=\"1GBps\" lat=\"1us\"")),
              HasSubstr("expected ranges such as 0-15,20"));
}

TEST(ImportSimgrid, NamesSurviveWhateverTheyAreMadeOf) {
  const std::vector<std::string> names = {"true",   "0x10",   "a: b",          "#c",
                                          "- d",    "[e, f]", "back\\slash",   "it's",
                                          "\u2212", "\u00e9", "&quot;q&quot;", "1e3"};
  std::string content = "<router id=\"~\"/><link id=\"l\" bandwidth=\"1GBps\"/>";
  for (const std::string& name : names) {
    content += fmt::format(
        "<host id=\"{0}\" speed=\"1f\"/><route src=\"{0}\" dst=\"~\">"
        "<link_ctn id=\"l\"/></route>",
        name);
  }
  const Shape shape = shape_of_text(full_zone(content));
  ASSERT_EQ(shape.hosts.size(), names.size());
  for (std::size_t host = 0; host < names.size(); ++host) {
    EXPECT_EQ(shape.hosts[host].name, names[host][0] == '&' ? "\"q\"" : names[host]);
  }
}

TEST(ImportSimgrid, TypographicDashesInNamesAreSuspicious) {
  const Import import = import_topology(
      platform("<cluster id=\"c\" prefix=\"n\u2212\" suffix=\"\" radical=\"0-1\" speed=\"1f\" "
               "bw=\"1GBps\" lat=\"1us\"/>"),
      "file.xml");
  EXPECT_THAT(import.notes, has_note(suspicious, 2, "a typographic dash?"));
}

TEST(ImportSimgrid, TextsThatAreTooLargeAreRefusedUnread) {
  const std::string large(maximum_import_bytes + 1, '<');
  EXPECT_THAT(refusal_of(large), HasSubstr("has 67108865 bytes, expected at most 67108864"));
  EXPECT_THAT(refusal_of(large.substr(0, std::size_t{1} << 21), "simgrid"),
              HasSubstr("more than 524288 elements"));
}

TEST(ImportSimgrid, EntitiesAndDepthAreRefused) {
  EXPECT_THAT(
      refusal_of("<!DOCTYPE platform [<!ENTITY a \"b\"><!ENTITY c \"&a;&a;\">]>\n" + platform("")),
      HasSubstr("declares entities"));
  std::string deep = "<platform version=\"4.1\">";
  for (int level = 0; level < 100000; ++level) deep += "<zone id=\"z\" routing=\"Full\">";
  for (int level = 0; level < 100000; ++level) deep += "</zone>";
  EXPECT_THAT(refusal_of(deep + "</platform>"), HasSubstr("more than 64 elements deep"));
  EXPECT_THAT(refusal_of("<platform version=\"4.1\"><zone"), HasSubstr("not XML"));
}

TEST(ImportSimgridRealFiles, RegularClustersKeepTheirKinds) {
  TUTTI_NEED_FILE(real_topology("simgrid__cluster_torus.xml"));
  const Shape torus = shape_of(import_file(real_topology("simgrid__cluster_torus.xml")));
  expect_way(torus, "host-0", "host-11", 125e6, 150e-6);
  const Shape tree = shape_of(import_file(real_topology("simgrid__cluster_fat_tree.xml")));
  expect_way(tree, "host-0", "host-15", 125e6, 200e-6);
  const Shape star = shape_of(import_file(real_topology("simgrid__cluster_crossbar.xml")));
  EXPECT_EQ(star.hosts.size(), 65536U);
  expect_way(star, "host-0", "host-65535", 125e6, 100e-6);
}

TEST(ImportSimgridRealFiles, BackbonesAndCabinetsBecomeGraphs) {
  TUTTI_NEED_FILE(real_topology("simgrid__griffon.xml"));
  const Shape griffon = shape_of(import_file(real_topology("simgrid__griffon.xml")));
  EXPECT_EQ(griffon.hosts.size(), 92U);
  expect_way(griffon, "griffon-1.nancy.grid5000.fr", "griffon-92.nancy.grid5000.fr", 125e6, 72e-6);
  const Shape backbone = shape_of(import_file(real_topology("simgrid__cluster_backbone.xml")));
  expect_way(backbone, "node-0.simgrid.org", "node-99.simgrid.org", 125e6, 600e-6);
}

TEST(ImportSimgridRealFiles, BrokenOnesAreRefusedWithFileLineAndReason) {
  const auto bogus = real_topology("simgrid__tesh_bogus_missing_src_gateway.xml");
  TUTTI_NEED_FILE(bogus);
  EXPECT_THAT(refusal_of(text_of(bogus)),
              AllOf(StartsWith("file.xml:14:33: <zoneRoute>: 'gw_src' is 'nod-cluster_router"),
                    HasSubstr("did you mean 'node-cluster_router.cluster.us'?")));
  EXPECT_THAT(
      refusal_of(text_of(real_topology("smpi-courseware__2_clusters_unicode_minus.xml"))),
      AllOf(StartsWith("file.xml:5:75: <cluster>: radical:"), HasSubstr("typographic minus")));
}

}  // namespace
}  // namespace tutti
