#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "run_tutti.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto fixtures = "tests/fixtures/topologies/";

std::string file_of(const std::string& name) {
  return testing::TempDir() + "tutti_topo_" + std::to_string(getpid()) + "_" + name;
}

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(TopoCommand, ShowPrintsWhatTheClusterIsLike) {
  const CommandResult table = run_tutti("topo show topologies/leaf_spine_100g.yaml");
  EXPECT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(table.output, AllOf(HasSubstr("oversubscription  3 : 1"),
                                  HasSubstr("bisection         400 GB/s"), HasSubstr("leaf0")));
  const CommandResult halved =
      run_tutti("topo show topologies/leaf_spine_100g.yaml --set links.spine.bandwidth=50% --json");
  const auto json = nlohmann::json::parse(halved.output);
  EXPECT_DOUBLE_EQ(json["oversubscription"].get<double>(), 6.0);
  EXPECT_DOUBLE_EQ(json["bisection_bytes_per_second"].get<double>(), 200e9);
  EXPECT_THAT(json["topology"].get<std::string>(), HasSubstr("links.spine.bandwidth=50%"));
}

TEST(TopoCommand, ShowDrawsTheCluster) {
  const std::string svg = file_of("drawing.svg"), dot = file_of("drawing.dot");
  const CommandResult result =
      run_tutti("topo show topologies/ring.yaml --svg " + svg + " --dot " + dot);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(content_of(svg), AllOf(HasSubstr("<svg"), HasSubstr(">host&#45;7<")));
  EXPECT_THAT(content_of(dot), StartsWith("graph "));
}

TEST(TopoCommand, RouteListsTheLinksBetweenTwoHosts) {
  const CommandResult table = run_tutti("topo route topologies/torus_3d.yaml host-0 21");
  EXPECT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(table.output, AllOf(HasSubstr("host-0-host-1 "), HasSubstr("host-5-host-21 "),
                                  HasSubstr("3 links"), HasSubstr("2.4 us")));
  const CommandResult json = run_tutti("topo route topologies/torus_3d.yaml 0 21 --json");
  EXPECT_EQ(nlohmann::json::parse(json.output)["links"].size(), 3U);
  const CommandResult unknown = run_tutti("topo route topologies/torus_3d.yaml 0 64");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("no host '64', expected 0 to 63"));
}

TEST(TopoCommand, CheckNamesFileLineAndColumnAndExitsWith1) {
  const std::string bad = file_of("bad.yaml"), odd = file_of("odd.yaml");
  std::ofstream(bad) << "shape: star\nhosts: 8\nbandwith: 100Gbps\nlatency: 5us\n";
  std::ofstream(odd) << "shape: star\nhosts: 8\nbandwidth: 25TBps\nlatency: 5us\n";
  const CommandResult result = run_tutti("topo check topologies/star.yaml " + bad);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("topologies/star.yaml: good, star(8"), HasSubstr(bad + ":3:1: "),
                    HasSubstr("the nearest valid one is 'bandwidth'")));
  const CommandResult suspicious = run_tutti("topo check " + odd);
  EXPECT_EQ(suspicious.exit_code, 0);
  EXPECT_THAT(suspicious.output, HasSubstr("suspicious: links of class host have 25 TB/s"));
}

TEST(TopoCommand, AnImportedPlatformIsATopologyWithAReport) {
  const std::string platform = std::string(fixtures) + "two_clusters.simgrid.xml";
  const std::string yaml = file_of("imported.yaml");
  const CommandResult result = run_tutti("topo import " + platform + " -o " + yaml);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("is SimGrid platform XML 4.1"), HasSubstr("ignored: ")));
  // The same times as the platform's that SimGrid reads itself, rank by rank.
  for (const char* ranks : {"2", "5", "8"}) {
    const auto row = [&](const std::string& topology) {
      const CommandResult simulated =
          run_tutti("simulate allreduce --sizes 1M --algo ring --json --ranks " +
                    std::string(ranks) + " --topology " + topology);
      EXPECT_EQ(simulated.exit_code, 0) << simulated.errors;
      return nlohmann::json::parse(simulated.output)["time_us"].get<double>();
    };
    EXPECT_NEAR(row(platform), row(yaml), 1e-6 * row(yaml)) << ranks;
  }
}

TEST(TopoCommand, WhatIsNoTopologyIsRefusedWithTheKnownFormats) {
  const CommandResult unknown = run_tutti("topo import README.md");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("simgrid"));
  const CommandResult ours = run_tutti("topo import topologies/star.yaml");
  EXPECT_EQ(ours.exit_code, 2);
  EXPECT_THAT(ours.errors, HasSubstr("is a topology already"));
  EXPECT_EQ(run_tutti("topo import /nowhere/file.xml").exit_code, 3);
}

TEST(TopoCommand, APlatformForSimGridIsCheckedBeforeSimGridReadsIt) {
  const std::string negative = file_of("negative.xml");
  std::ofstream(negative) << "<?xml version='1.0'?>\n<platform version=\"4.1\">\n"
                             "<zone id=\"w\" routing=\"Full\">\n"
                             "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" "
                             "speed=\"1Gf\" bw=\"-1GBps\" lat=\"1us\"/>\n</zone></platform>\n";
  const CommandResult result = run_tutti("simulate allreduce --sizes 1K --topology " + negative);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr(":4:68: "));
}

TEST(TopoCommand, APlatformThatOnlySimGridCanModelIsSimulatedAsItIs) {
  const std::string wireless = file_of("wireless.xml");
  std::ofstream(wireless) << "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                             "\"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\">\n"
                             "<zone id=\"w\" routing=\"Wifi\">\n"
                             "<prop id=\"access_point\" value=\"router\"/>\n"
                             "<router id=\"router\"/>\n"
                             "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\n"
                             "<link id=\"air\" sharing_policy=\"WIFI\" bandwidth=\"80Mbps\" "
                             "latency=\"0ms\"/>\n</zone></platform>\n";
  const CommandResult result =
      run_tutti("simulate broadcast --json --sizes 1M --algo binomial --topology " + wireless);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  // 1 MiB goes to the access point and from there, over the same air of 10 MB/s: 209715.2 us.
  EXPECT_THAT(result.output, HasSubstr(":20971"));
  EXPECT_THAT(run_tutti("topo import " + wireless).errors, HasSubstr(":3:23: <zone>"));
}

TEST(TopoCommand, ExportsCanBeReadBack) {
  const std::string xml = file_of("torus.xml");
  const CommandResult result =
      run_tutti("topo export topologies/torus_3d.yaml --to simgrid -o " + xml);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(run_tutti("topo check " + xml).output, HasSubstr("good"));
  EXPECT_THAT(run_tutti("topo export topologies/star.yaml --to astra").output,
              HasSubstr("npus_count"));
  EXPECT_THAT(run_tutti("topo export topologies/star.yaml --to dot").output, StartsWith("graph "));
}

TEST(TopoCommand, APlatformOfManyHostsIsSimulatedAsItIsOnTheFirstOfThem) {
  const std::string file = file_of("many.xml");
  std::ofstream(file) << "<?xml version='1.0'?>\n"
                         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                         "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">"
                         "<cluster id=\"many\" prefix=\"node-\" suffix=\"\" radical=\"0-19999\" "
                         "speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\"/></zone></platform>\n";
  const std::string simulate =
      "simulate allreduce --algo ring --sizes 1M --json --topology " + file;
  const CommandResult result = run_tutti(simulate + " --ranks 8");
  const CommandResult too_many = run_tutti(simulate + " --ranks 4096");
  std::remove(file.c_str());
  EXPECT_THAT(result.errors, HasSubstr("20000 hosts, ranks can be placed on the first 2048"));
  // 14 steps of an eighth of the buffer over two links each.
  const double microseconds = 14 * (100 + (1 << 20) / 8 / 125.0);
  EXPECT_NEAR(nlohmann::json::parse(result.output)["time_us"].get<double>(), microseconds,
              1e-6 * microseconds);  // SimGrid's own precision.
  EXPECT_EQ(too_many.exit_code, 2) << too_many.errors;
}

TEST(TopoCommand, HostsWithoutARouteAreNamedBeforeSimGridEndsTheProcess) {
  const std::string file = file_of("unreachable.xml");
  std::ofstream(file) << "<?xml version='1.0'?>\n"
                         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                         "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">"
                         "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                         "<host id=\"c\" speed=\"1Gf\"/>"
                         "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>"
                         "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>"
                         "<route src=\"a\" dst=\"c\"><link_ctn id=\"l\"/></route>"
                         "</zone></platform>\n";
  const CommandResult result =
      run_tutti("simulate allreduce --algo ring --sizes 1K --topology " + file);
  std::remove(file.c_str());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("no route leads from host 'b' to host 'c'"));
  EXPECT_THAT(result.errors, Not(HasSubstr("Backtrace")));
}

TEST(TopoCommand, APlatformTakesTheSameTimeAsItIsAndAsItIsImported) {
  const std::string file = file_of("cores.xml"), imported = file_of("cores.yaml");
  std::ofstream(file)
      << "<?xml version='1.0'?>\n"
         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\"><zone id=\"world\" routing=\"Full\">"
         "<cluster id=\"c\" prefix=\"node-\" suffix=\"\" radical=\"0-7\" core=\"4\" "
         "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/></zone></platform>\n";
  EXPECT_EQ(run_tutti("topo import " + file + " -o " + imported).exit_code, 0);
  const auto time_on = [](const std::string& topology, const std::string& ranks) {
    const CommandResult result =
        run_tutti("simulate allreduce --algo ring --sizes 1M --engine simgrid --json --topology " +
                  topology + ranks);
    return nlohmann::json::parse(result.output)["time_us"].get<double>();
  };
  for (const char* ranks : {" --ranks 8", ""}) {  // One a host, and one a core.
    EXPECT_NEAR(time_on(file, ranks) / time_on(imported, ranks), 1.0, 1e-6) << ranks;
  }
  std::remove(file.c_str());
  std::remove(imported.c_str());
}

}  // namespace
}  // namespace tutti
