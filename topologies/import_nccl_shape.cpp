// NCCL topologies that are regular enough for a `machine`.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "topologies/import_nccl.hpp"

namespace tutti {
namespace {

constexpr int most_machine_devices = 1024;

struct Interconnect {
  std::string_view name;
  double bandwidth_bytes_per_second = 0.0;
};

const NcclDevice& device_of(const NcclTopology& topology, int index) {
  return topology.devices[static_cast<std::size_t>(index)];
}

std::vector<int> children_of(const NcclTopology& topology) {
  std::vector<int> children(topology.devices.size(), 0);
  for (const NcclDevice& device : topology.devices) {
    if (device.parent >= 0) ++children[static_cast<std::size_t>(device.parent)];
  }
  return children;
}

/// The one bandwidth of all links on the PCI tree; 0 if they differ.
double common_pci_bandwidth(const NcclTopology& topology) {
  double common = 0.0;
  for (const NcclDevice& device : topology.devices) {
    if (device.kind == NcclDevice::Kind::cpu) continue;
    if (common == 0.0) common = device.bandwidth_bytes_per_second;
    if (device.bandwidth_bytes_per_second != common) return 0.0;
  }
  return common;
}

/// Whether GPUs and NICs, in order, are spread evenly over the groups.
bool is_spread_evenly(const std::vector<int>& members, const std::vector<int>& groups,
                      const std::vector<int>& tops) {
  for (std::size_t number = 0; number < members.size(); ++number) {
    const int group = groups[static_cast<std::size_t>(members[number])];
    if (tops[number * tops.size() / members.size()] != group) return false;
  }
  return true;
}

/// Whether each device hangs on its group's switch by a chain that it has for itself.
bool has_chains_only(const NcclTopology& topology, const std::vector<int>& groups) {
  const std::vector<int> children = children_of(topology);
  for (const int member : topology.gpus) {
    for (int at = device_of(topology, member).parent;
         at != groups[static_cast<std::size_t>(member)]; at = device_of(topology, at).parent) {
      if (children[static_cast<std::size_t>(at)] != 1) return false;
    }
  }
  for (const int member : topology.nics) {
    for (int at = device_of(topology, member).parent;
         at != groups[static_cast<std::size_t>(member)]; at = device_of(topology, at).parent) {
      if (children[static_cast<std::size_t>(at)] != 1) return false;
    }
  }
  return true;
}

/// What a GPU's links carry to each target: NVSwitches together are -1.
std::vector<std::pair<int, double>> targets_of(const NcclDevice& gpu) {
  std::vector<std::pair<int, double>> targets;
  for (const NcclLink& link : gpu.links) {
    const int target = link.target == NcclLink::Target::nvswitch ? -1 : link.device;
    const auto found = std::find_if(targets.begin(), targets.end(),
                                    [target](const auto& entry) { return entry.first == target; });
    if (found == targets.end()) {
      targets.emplace_back(target, link.bandwidth_bytes_per_second);
    } else {
      found->second += link.bandwidth_bytes_per_second;
    }
  }
  return targets;
}

std::optional<Interconnect> interconnect_of(const NcclTopology& topology) {
  const std::size_t gpus = topology.gpus.size();
  double common = 0.0;
  bool switched = true;
  bool meshed = true;
  bool ringed = gpus > 2;
  bool none = true;
  for (std::size_t number = 0; number < gpus; ++number) {
    const NcclDevice& gpu = device_of(topology, topology.gpus[number]);
    for (const NcclLink& link : gpu.links) {
      if (link.target == NcclLink::Target::cpu) return std::nullopt;
    }
    const auto targets = targets_of(gpu);
    none = none && targets.empty();
    switched = switched && targets.size() == 1 && targets[0].first == -1;
    meshed = meshed && targets.size() == gpus - 1;
    ringed = ringed && targets.size() == 2;
    for (const auto& [target, bandwidth] : targets) {
      if (common == 0.0) common = bandwidth;
      if (bandwidth != common) return std::nullopt;
      if (target < 0) {
        meshed = false;
        ringed = false;
        continue;
      }
      const auto to = static_cast<std::size_t>(device_of(topology, target).number);
      ringed = ringed && ((number + 1) % gpus == to || (to + 1) % gpus == number);
    }
  }
  if (none) return Interconnect{"pcie", 0.0};
  if (switched) return Interconnect{"switch", common};
  if (meshed) return Interconnect{"mesh", common};
  if (ringed) return Interconnect{"ring", common};
  return std::nullopt;
}

/// Whether all NICs have one port at most, and all ports one speed.
bool has_simple_nics(const NcclTopology& topology) {
  double common = 0.0;
  for (const int nic : topology.nics) {
    const std::vector<NcclPort>& ports = device_of(topology, nic).ports;
    if (ports.size() > 1) return false;
    for (const NcclPort& port : ports) {
      if (common == 0.0) common = port.bandwidth_bytes_per_second;
      if (port.bandwidth_bytes_per_second != common) return false;
    }
  }
  return topology.nics.size() <= topology.gpus.size();
}

}  // namespace

std::vector<int> nccl_groups(const NcclTopology& topology) {
  const std::vector<int> children = children_of(topology);
  std::vector<int> groups(topology.devices.size(), -1);
  for (std::size_t index = 0; index < topology.devices.size(); ++index) {
    const NcclDevice& device = topology.devices[index];
    if (device.parent < 0) {
      groups[index] = static_cast<int>(index);
      continue;
    }
    const auto parent = static_cast<std::size_t>(device.parent);
    const int above = groups[parent];
    const bool is_bridge = device.kind == NcclDevice::Kind::bridge;
    const bool above_is_cpu = device_of(topology, above).kind == NcclDevice::Kind::cpu;
    // Goes down a chain of switches, to the last one.
    const bool continues = above == device.parent && children[parent] == 1;
    groups[index] = is_bridge && (above_is_cpu || continues) ? static_cast<int>(index) : above;
  }
  return groups;
}

std::optional<std::string> nccl_machine_yaml(const NcclTopology& topology, ImportNotes& notes) {
  const double pci = common_pci_bandwidth(topology);
  const std::optional<Interconnect> interconnect = interconnect_of(topology);
  if (pci == 0.0 || !interconnect || !has_simple_nics(topology)) return std::nullopt;
  const std::vector<int> groups = nccl_groups(topology);
  std::set<int> used;
  for (const int gpu : topology.gpus) used.insert(groups[static_cast<std::size_t>(gpu)]);
  std::vector<int> tops;
  for (const int gpu : topology.gpus) {
    const int group = groups[static_cast<std::size_t>(gpu)];
    if (tops.empty() || tops.back() != group) tops.push_back(group);
  }
  const auto is_cpu = [&](int top) {
    return device_of(topology, top).kind == NcclDevice::Kind::cpu;
  };
  const auto cpus = std::count_if(topology.devices.begin(), topology.devices.end(),
                                  [](const NcclDevice& device) { return device.parent < 0; });
  const bool at_root = tops.size() == 1 && is_cpu(tops[0]);
  const bool fits =
      tops.size() == used.size() && (at_root || std::none_of(tops.begin(), tops.end(), is_cpu)) &&
      is_spread_evenly(topology.gpus, groups, tops) &&
      is_spread_evenly(topology.nics, groups, tops) && has_chains_only(topology, groups) &&
      (cpus == 1 || (interconnect->name != "pcie" && !at_root)) &&
      topology.gpus.size() <= static_cast<std::size_t>(most_machine_devices);
  if (!fits) return std::nullopt;
  if (cpus > 1)
    notes.assumed(0, "one root for all PCI switches: the links between CPUs are left out");
  std::string yaml = fmt::format(
      "shape: machine\ndevices: {}\nnics: {}\npcie_switches: {}\ninterconnect: {}\nlinks:\n",
      topology.gpus.size(), topology.nics.size(), at_root ? 0 : tops.size(), interconnect->name);
  if (interconnect->bandwidth_bytes_per_second > 0.0) {
    yaml +=
        fmt::format("  device: {}\n",
                    yaml_link({interconnect->bandwidth_bytes_per_second, nvlink_latency_seconds}));
  }
  yaml += fmt::format("  pcie: {}\n", yaml_link({pci, pcie_latency_seconds}));
  return yaml;
}

}  // namespace tutti
