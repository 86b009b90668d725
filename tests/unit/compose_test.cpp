#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Interconnect = MachineSpec::Interconnect;

constexpr LinkSpec cable = {10e9, 1e-6};
constexpr LinkSpec nvlink = {400e9, 1e-6};
constexpr LinkSpec pcie = {50e9, 5e-7};

std::vector<std::string> names(const Fabric& fabric, int from, int to) {
  std::vector<std::string> result;
  for (const int link : fabric.route(from, to)) {
    result.push_back(fabric.links[static_cast<std::size_t>(link)].name);
  }
  return result;
}

MachineSpec four_devices(int nics) {
  return {.devices = 4, .nics = nics, .pcie_switches = 2, .device = nvlink, .pcie = pcie};
}

std::string refusal(const Fabric& outer, const Fabric& inner) {
  try {
    compose(outer, inner);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "";
}

TEST(Machine, DevicesMeetAtTheSwitchOrDirectlyOrAroundTheRingOrInThePcieTree) {
  MachineSpec spec = four_devices(2);
  EXPECT_THAT(names(machine(spec), 0, 3), ElementsAre("gpu-0-nvswitch", "nvswitch-gpu-3"));
  spec.interconnect = Interconnect::mesh;
  EXPECT_THAT(names(machine(spec), 3, 0), ElementsAre("gpu-3-gpu-0"));
  spec.interconnect = Interconnect::ring;
  EXPECT_THAT(names(machine(spec), 3, 0), ElementsAre("gpu-3-gpu-0"));
  EXPECT_THAT(names(machine(spec), 0, 2), ElementsAre("gpu-0-gpu-1", "gpu-1-gpu-2"));
  spec.interconnect = Interconnect::pcie;
  EXPECT_THAT(names(machine(spec), 0, 1), ElementsAre("gpu-0-pcie-0", "pcie-0-gpu-1"));
  EXPECT_THAT(names(machine(spec), 0, 2),
              ElementsAre("gpu-0-pcie-0", "pcie-0-root", "root-pcie-1", "pcie-1-gpu-2"));
  spec.pcie_switches = 0;
  EXPECT_THAT(names(machine(spec), 0, 2), ElementsAre("gpu-0-root", "root-gpu-2"));
}

TEST(Machine, ASwitchHasTheFiguresFromDeviceToDevice) {
  const Shape shape = build_shape(machine(four_devices(0)));
  EXPECT_EQ(shape.name, "machine(4 devices, 400 GB/s, 1 us)");
  EXPECT_DOUBLE_EQ(shape.latency_seconds(0, 3), 1e-6);
  EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(0, 3), 400e9);
}

TEST(Machine, AllDevicesAreOfTheSameMachine) {
  for (const Host& host : build_shape(machine(four_devices(2))).hosts) EXPECT_EQ(host.machine, 0);
}

TEST(Compose, EveryDeviceLeavesByTheGatewayOfItsOwn) {
  const Fabric fabric = compose(star({4, cable}), machine(four_devices(2)));
  EXPECT_EQ(fabric.name,
            "star(4, 10 GB/s, 1 us) of machine(4 devices, 2 NICs, 400 GB/s, 1 us, PCIe 50 GB/s, "
            "0.5 us)");
  EXPECT_EQ(fabric.terminals, 8);
  EXPECT_THAT(names(fabric, 1, 2),
              ElementsAre("machine-0/gpu-1-nvswitch", "machine-0/nvswitch-gpu-2"));
  EXPECT_THAT(names(fabric, 1, 7), ElementsAre("machine-0/gpu-1-pcie-0", "machine-0/pcie-0-nic-0",
                                               "machine-0/nic-0-switch", "switch-machine-1/nic-1",
                                               "machine-1/nic-1-pcie-1", "machine-1/pcie-1-gpu-3"));
}

TEST(Compose, AMessageToAnotherRailLeavesByTheDeviceThere) {
  MachineSpec spec = four_devices(2);
  spec.leaves_by_destination = true;
  const Fabric fabric = compose(leaf_spine({2, 0, 2, 1, 2, cable, {}}), machine(spec));
  EXPECT_THAT(
      names(fabric, 1, 7),
      ElementsAre("machine-0/gpu-1-nvswitch", "machine-0/nvswitch-gpu-3", "machine-0/gpu-3-pcie-1",
                  "machine-0/pcie-1-nic-1", "machine-0/nic-1-leaf1", "leaf1-machine-1/nic-1",
                  "machine-1/nic-1-pcie-1", "machine-1/pcie-1-gpu-3"));
  // The same rail.
  EXPECT_THAT(names(fabric, 1, 4), ElementsAre("machine-0/gpu-1-pcie-0", "machine-0/pcie-0-nic-0",
                                               "machine-0/nic-0-leaf0", "leaf0-machine-1/nic-0",
                                               "machine-1/nic-0-pcie-0", "machine-1/pcie-0-gpu-0"));
}

TEST(Compose, AMessageGoesStraightToAGatewayThatIsNearer) {
  MachineSpec spec = four_devices(4);
  spec.leaves_by_destination = true;
  const Fabric fabric = compose(star({8, cable}), machine(spec));
  EXPECT_THAT(names(fabric, 0, 5), ElementsAre("machine-0/gpu-0-pcie-0", "machine-0/pcie-0-nic-1",
                                               "machine-0/nic-1-switch", "switch-machine-1/nic-1",
                                               "machine-1/nic-1-pcie-0", "machine-1/pcie-0-gpu-1"));
}

TEST(Compose, MachinesAreNumberedAndDevicesKnowTheirs) {
  const Shape shape = build_shape(compose(star({3, cable}), machine(four_devices(1))));
  ASSERT_EQ(shape.size(), 12);
  for (int host = 0; host < 12; ++host) {
    EXPECT_EQ(shape.hosts[static_cast<std::size_t>(host)].machine, host / 4);
  }
  EXPECT_EQ(shape.hosts[7].name, "machine-1/gpu-3");
}

TEST(Compose, ACompositionIsTheInsideOfAnother) {
  GraphSpec site;
  site.nodes = {{"a"}, {"b"}, {"core", false}};
  site.cables = {{"a", "core", cable}, {"b", "core", cable}};
  site.gateways = {"core"};
  const Fabric sites = compose(graph(site), machine(four_devices(1)));
  EXPECT_EQ(sites.gateways.size(), 1u);
  const Fabric wan = compose(star({2, {1e9, 1e-2}}), sites);
  EXPECT_EQ(wan.terminals, 16);
  EXPECT_THAT(
      names(wan, 6, 8),
      ElementsAre("machine-0/b/gpu-2-pcie-1", "machine-0/b/pcie-1-root", "machine-0/b/root-pcie-0",
                  "machine-0/b/pcie-0-nic-0", "machine-0/b/nic-0-core", "machine-0/core-switch",
                  "switch-machine-1/core", "machine-1/core-a/nic-0", "machine-1/a/nic-0-pcie-0",
                  "machine-1/a/pcie-0-gpu-0"));
}

GraphSpec two_cities(const char* first, const char* second, const char* exchange) {
  GraphSpec spec;
  spec.nodes = {{first}, {second}, {exchange, false}};
  spec.cables = {{first, exchange, cable}, {exchange, second, cable}};
  return spec;
}

TEST(Compose, MachinesHaveTheNamesThatTerminalsWereGiven) {
  GraphSpec inside;
  inside.nodes = {{"a"}, {"core", false}};
  inside.cables = {{"a", "core", cable}};
  inside.gateways = {"core"};
  const Fabric fabric = compose(graph(two_cities("west", "east", "exchange")), graph(inside));
  EXPECT_THAT(names(fabric, 0, 1), ElementsAre("west/a-core", "west/core-exchange",
                                               "exchange-east/core", "east/core-a"));
  EXPECT_EQ(fabric.nodes[1].name, "east/a");
  // Several gateways a machine, of which each has another name.
  EXPECT_EQ(compose(graph(two_cities("west", "east", "x")), machine(four_devices(2))).nodes[0].name,
            "machine-0/gpu-0");
}

TEST(Compose, NamesOfMachinesStayUnique) {
  const auto names_of_nodes = [](const GraphSpec& outer) {
    std::vector<std::string> result;
    for (const Node& node : compose(graph(outer), machine(four_devices(1))).nodes) {
      result.push_back(node.name);
    }
    EXPECT_EQ(std::set<std::string>(result.begin(), result.end()).size(), result.size());
    return std::vector<std::string>{result[0], result[4]};
  };
  EXPECT_THAT(names_of_nodes(two_cities("host-7", "east", "x")),
              ElementsAre("machine-0/gpu-0", "east/gpu-0"));
  EXPECT_THAT(names_of_nodes(two_cities("machine-1", "host-1", "x")),
              ElementsAre("machine-0/gpu-0", "machine-1/gpu-0"));
  EXPECT_THAT(names_of_nodes(two_cities("west", "east", "west/gpu-0")),
              ElementsAre("machine-0/gpu-0", "east/gpu-0"));
  EXPECT_THAT(names_of_nodes(two_cities("a/b", "a", "x")),
              ElementsAre("machine-0/gpu-0", "machine-1/gpu-0"));
}

TEST(Compose, HostsInsideOfASiteAreMachinesOfTheirOwn) {
  GraphSpec site;
  site.nodes = {{"a"}, {"b"}, {"core", false}};
  site.cables = {{"a", "core", cable}, {"b", "core", cable}};
  site.gateways = {"core"};
  EXPECT_THAT(compose(star({2, cable}), graph(site)).machines, ElementsAre(0, 1, 2, 3));
  const Fabric pairs = compose(star({2, cable}), compose(graph(site), machine(four_devices(1))));
  EXPECT_THAT(pairs.machines, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
}

TEST(Compose, AnOuterGridForwardsAtTheNics) {
  const Fabric fabric =
      compose(grid({.dimensions = {4}, .links = {cable}}), machine(four_devices(1)));
  EXPECT_THAT(names(fabric, 0, 8),
              ElementsAre("machine-0/gpu-0-pcie-0", "machine-0/pcie-0-nic-0",
                          "machine-0/nic-0-machine-1/nic-0", "machine-1/nic-0-machine-2/nic-0",
                          "machine-2/nic-0-pcie-0", "machine-2/pcie-0-gpu-0"));
}

TEST(Compose, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(refusal(star({3, cable}), machine(four_devices(2))),
              AllOf(HasSubstr("3 ports"), HasSubstr("multiple of 2")));
  EXPECT_THAT(refusal(star({4, cable}), machine(four_devices(0))), HasSubstr("has no gateways"));
  EXPECT_THAT(refusal(leaf_spine({2, 0, 2, 1, 2, cable, {}}), machine(four_devices(2))),
              AllOf(HasSubstr("rails"), HasSubstr("leaves_by: destination")));
}

TEST(Compose, ADeviceWithSeveralGatewaysUsesThemByTurns) {
  GraphSpec site;
  site.nodes = {{"a"}, {"s", false}, {"t", false}};
  site.cables = {{"a", "s", cable}, {"a", "t", cable}};
  site.gateways = {"s", "t"};
  const Shape shape = build_shape(compose(star({6, cable}), graph(site)));
  ASSERT_EQ(shape.size(), 3);
  const auto first_node = [&](int from, int to) {
    const Link& link = shape.links[static_cast<std::size_t>(shape.route(from, to).front())];
    return shape.nodes[static_cast<std::size_t>(link.to)].name;
  };
  EXPECT_NE(first_node(0, 1), first_node(0, 2));
  for (const auto& [from, to] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    EXPECT_EQ(shape.route(from, to).size(), 4u);  // Two links to the switch, two from it.
    EXPECT_EQ(first_node(from, to).back(), first_node(to, from).back());
  }
}

TEST(Graph, GivenRoutesTakeTheShortestOnesPlace) {
  GraphSpec spec;
  spec.nodes = {{"s", false}, {"a"}, {"b"}, {"c"}};
  spec.cables = {{"a", "b", cable}, {"a", "s", cable}, {"s", "b", cable}, {"s", "c", cable}};
  spec.routes = {{{"a", "s", "b"}}};
  const Fabric fabric = graph(spec);
  EXPECT_EQ(fabric.nodes[0].name, "a");
  EXPECT_THAT(names(fabric, 0, 1), ElementsAre("a-s", "s-b"));
  EXPECT_THAT(names(fabric, 1, 0), ElementsAre("b-s", "s-a"));
  EXPECT_THAT(names(fabric, 0, 2), ElementsAre("a-s", "s-c"));
  spec.routes.front().both_ways = false;
  EXPECT_THAT(names(graph(spec), 1, 0), ElementsAre("b-a"));
}

TEST(Graph, WhatCannotBeIsRefusedByName) {
  GraphSpec good;
  good.nodes = {{"a"}, {"b"}, {"s", false}};
  good.cables = {{"a", "s", cable}, {"s", "b", cable, "link", true}};
  const auto refused = [&good](const auto& change) -> std::string {
    GraphSpec spec = good;
    change(spec);
    try {
      graph(spec);
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "";
  };
  using Spec = GraphSpec&;
  EXPECT_EQ(refused([](Spec) {}), "");
  EXPECT_THAT(refused([](Spec spec) {
                spec.nodes.push_back({"a", false});
              }),
              HasSubstr("two nodes are named 'a'"));
  EXPECT_THAT(refused([](Spec spec) { spec.nodes.push_back({""}); }), HasSubstr("empty name"));
  EXPECT_THAT(refused([](Spec spec) { spec.nodes = {{"s", false}}; }), HasSubstr("no host"));
  EXPECT_THAT(refused([](Spec spec) { spec.cables[0].to = "x"; }),
              HasSubstr("between 'a' and 'x': there is no node 'x'"));
  EXPECT_THAT(refused([](Spec spec) { spec.cables[0].to = "a"; }), HasSubstr("both ends"));
  EXPECT_THAT(refused([](Spec spec) { spec.cables[0].spec = {}; }),
              HasSubstr("a-s: the bandwidth"));
  EXPECT_THAT(refused([](Spec spec) { spec.gateways = {"x"}; }), HasSubstr("no node 'x'"));
  EXPECT_THAT(refused([](Spec spec) { spec.gateways = {"s", "s"}; }), HasSubstr("'s' twice"));
  EXPECT_THAT(refused([](Spec spec) {
                spec.routes = {{{"a", "b"}}};
              }),
              HasSubstr("there is no link from 'a' to 'b'"));
  EXPECT_THAT(refused([](Spec spec) {
                spec.routes = {{{"a", "s", "b"}}};
              }),
              HasSubstr("there is no link from 'b' to 's'"));
  EXPECT_THAT(refused([](Spec spec) { spec.routes = {{{"a", "s"}}}; }), HasSubstr("end at 's'"));
  EXPECT_THAT(refused([](Spec spec) { spec.routes = {{{"a"}}}; }), HasSubstr("less than two"));
  EXPECT_THAT(refused([](Spec spec) {
                spec.routes = {{{"a", "s", "a"}}};
              }),
              HasSubstr("ends where it begins"));
  EXPECT_THAT(refused([](Spec spec) {
                spec.routes = {{{"a", "s", "b"}, false}, {{"a", "s", "b"}, false}};
              }),
              HasSubstr("two routes are given from 'a' to 'b'"));
}

}  // namespace
}  // namespace tutti
