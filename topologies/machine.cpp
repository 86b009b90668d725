#include <fmt/format.h>

#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

using Interconnect = MachineSpec::Interconnect;

/// More would not be one machine.
constexpr int most_devices = 1024;

constexpr int most_nics_a_device = 16;

bool has_pcie(const MachineSpec& spec) {
  return spec.nics > 0 || (spec.devices > 1 && spec.interconnect == Interconnect::pcie);
}

bool has_interconnect(const MachineSpec& spec) {
  return spec.devices > 1 && spec.interconnect != Interconnect::pcie;
}

void check(const MachineSpec& spec) {
  require_within("devices", spec.devices, 1, most_devices);
  require_within("nics", spec.nics, 0, most_nics_a_device * spec.devices);
  require_within("pcie_switches", spec.pcie_switches, 0, spec.devices);
  if (has_interconnect(spec)) require_link("links.device", spec.device);
  if (has_pcie(spec)) require_link("links.pcie", spec.pcie);
}

std::string name_of(const MachineSpec& spec) {
  std::string name =
      fmt::format("machine({} {}", spec.devices, spec.devices == 1 ? "device" : "devices");
  if (spec.nics > 0) name += fmt::format(", {} {}", spec.nics, spec.nics == 1 ? "NIC" : "NICs");
  if (has_interconnect(spec)) name += fmt::format(", {}", shown_link(spec.device));
  if (has_pcie(spec)) name += fmt::format(", PCIe {}", shown_link(spec.pcie));
  return name + ")";
}

void add_interconnect(FabricBuilder& builder, const MachineSpec& spec) {
  const int devices = spec.devices;
  const auto add = [&](int from, int to) { builder.add_cable(from, to, spec.device, "device"); };
  switch (spec.interconnect) {
    case Interconnect::switched: {
      const int middle = builder.add_node("nvswitch", Node::Kind::bridge);
      const LinkSpec half = half_of(spec.device);
      for (int device = 0; device < devices; ++device) {
        builder.add_cable(device, middle, half, "device");
      }
      return;
    }
    case Interconnect::mesh:
      for (int high = 1; high < devices; ++high) {
        for (int low = 0; low < high; ++low) add(low, high);
      }
      return;
    case Interconnect::ring:
      for (int device = 1; device < devices; ++device) add(device - 1, device);
      if (devices > 2) add(devices - 1, 0);
      return;
    case Interconnect::pcie:
      return;
  }
}

/// Returns the NICs.
std::vector<int> add_pcie(FabricBuilder& builder, const MachineSpec& spec) {
  const int root = builder.add_node("root", Node::Kind::bridge);
  std::vector<int> switches = {root};
  if (spec.pcie_switches > 0) switches.clear();
  for (int number = 0; number < spec.pcie_switches; ++number) {
    switches.push_back(builder.add_node(fmt::format("pcie-{}", number), Node::Kind::bridge));
    builder.add_cable(switches.back(), root, spec.pcie, "pcie");
  }
  const auto switch_of = [&](int number, int count) {
    return switches[static_cast<std::size_t>(number) * switches.size() /
                    static_cast<std::size_t>(count)];
  };
  for (int device = 0; device < spec.devices; ++device) {
    builder.add_cable(device, switch_of(device, spec.devices), spec.pcie, "pcie");
  }
  std::vector<int> nics;
  for (int number = 0; number < spec.nics; ++number) {
    nics.push_back(builder.add_node(fmt::format("nic-{}", number), Node::Kind::nic));
    builder.add_cable(nics.back(), switch_of(number, spec.nics), spec.pcie, "pcie");
  }
  return nics;
}

}  // namespace

Fabric machine(const MachineSpec& spec) {
  check(spec);
  FabricBuilder builder(name_of(spec));
  for (int device = 0; device < spec.devices; ++device) {
    builder.add_terminal(fmt::format("gpu-{}", device));
  }
  if (has_interconnect(spec)) add_interconnect(builder, spec);
  std::vector<int> nics;
  if (has_pcie(spec)) nics = add_pcie(builder, spec);
  Fabric fabric = std::move(builder).build({});
  std::vector<Link> links = fabric.links;
  for (Link& link : links) link.failed = has_interconnect(spec) && link.link_class == "pcie";
  fabric.route = shortest_routes(fabric.nodes, links);
  fabric.machines.assign(static_cast<std::size_t>(spec.devices), 0);
  fabric.gateways = std::move(nics);
  fabric.leaves_by_destination = spec.leaves_by_destination;
  return fabric;
}

}  // namespace tutti
