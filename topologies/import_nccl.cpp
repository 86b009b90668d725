#include "topologies/import_nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr double gigabyte = 1e9;

bool recognises(std::string_view text) {
  return xml_begins_with(text, "system");
}

/// The graph of a machine that is not regular, as NCCL sees it.
class Graph {
 public:
  Graph(const NcclTopology& topology, const std::string& origin, ImportNotes& notes)
      : topology_(topology), origin_(origin), notes_(notes) {}

  GraphSpec build() {
    // In the order of their numbers, so that host h is gpu-h.
    for (const int gpu : topology_.gpus) graph_.nodes.push_back({device(gpu).name, true});
    for (const NcclDevice& each : topology_.devices) {
      if (each.kind != NcclDevice::Kind::gpu) graph_.nodes.push_back({each.name, false});
    }
    // First what is fast: of ways with equally many links the earlier is taken.
    add_links_of_gpus();
    for (const NcclDevice& each : topology_.devices) {
      if (each.parent < 0) continue;
      add(each.name, device(each.parent).name,
          {each.bandwidth_bytes_per_second, pcie_latency_seconds}, "pcie");
    }
    add_ports();
    connect_cpus();
    check_import_size(origin_, graph_);
    return std::move(graph_);
  }

 private:
  const NcclDevice& device(int index) const {
    return topology_.devices[static_cast<std::size_t>(index)];
  }

  void add(const std::string& from, const std::string& to, const LinkSpec& spec,
           const std::string& link_class, bool one_way = false) {
    graph_.cables.push_back({from, to, spec, link_class, one_way});
  }

  int cpu_above(int index) const {
    while (device(index).parent >= 0) index = device(index).parent;
    return index;
  }

  void add_links_of_gpus() {
    const std::string link_class = topology_.is_rccl ? "xgmi" : "nvlink";
    constexpr double half = nvlink_latency_seconds / 2.0;
    std::map<std::pair<int, int>, double> direct;
    bool has_switch = false;
    for (const int gpu : topology_.gpus) {
      double to_switch = 0.0;
      double to_cpu = 0.0;
      for (const NcclLink& link : device(gpu).links) {
        switch (link.target) {
          case NcclLink::Target::nvswitch:
            to_switch += link.bandwidth_bytes_per_second;
            break;
          case NcclLink::Target::cpu:
            to_cpu += link.bandwidth_bytes_per_second;
            break;
          case NcclLink::Target::gpu:
            direct[{gpu, link.device}] += link.bandwidth_bytes_per_second;
            break;
        }
      }
      if (to_switch > 0.0) add(device(gpu).name, "nvswitch", {to_switch, half}, link_class);
      if (to_cpu > 0.0) {
        add(device(gpu).name, device(cpu_above(gpu)).name, {to_cpu, half}, link_class);
      }
      has_switch = has_switch || to_switch > 0.0;
    }
    if (has_switch) graph_.nodes.push_back({"nvswitch", false});
    for (const auto& [pair, bandwidth] : direct) add_direct(direct, pair, bandwidth, link_class);
  }

  void add_direct(const std::map<std::pair<int, int>, double>& direct,
                  const std::pair<int, int>& pair, double bandwidth,
                  const std::string& link_class) {
    const auto& [from, to] = pair;
    const auto back = direct.find({to, from});
    const bool is_even = back != direct.end() && back->second == bandwidth;
    if (is_even && from > to) return;
    if (!is_even) {
      notes_.suspicious(
          device(from).line,
          fmt::format("links between {} and {} differ by direction",
                      device(std::min(from, to)).name, device(std::max(from, to)).name));
    }
    add(device(from).name, device(to).name, {bandwidth, nvlink_latency_seconds}, link_class,
        !is_even);
  }

  struct Port {
    int gpu = 0;  ///< The first on the same PCI switch.
    std::string name;
    double bandwidth_bytes_per_second = 0.0;
    int line = 0;
  };

  void add_ports() {
    const std::vector<int> groups = nccl_groups(topology_);
    std::map<int, int> first_gpus;
    for (const int gpu : topology_.gpus) {
      first_gpus.emplace(groups[static_cast<std::size_t>(gpu)], device(gpu).number);
    }
    std::vector<Port> ports;
    for (const int nic : topology_.nics) {
      const auto found = first_gpus.find(groups[static_cast<std::size_t>(nic)]);
      const int gpu = found == first_gpus.end() ? std::numeric_limits<int>::max() : found->second;
      if (device(nic).ports.empty()) {
        ports.push_back({gpu, device(nic).name, 0.0, device(nic).line});
      }
      for (const NcclPort& port : device(nic).ports) {
        graph_.nodes.push_back({port.name, false});
        add(device(nic).name, port.name, {port.bandwidth_bytes_per_second, 0.0}, "nic");
        ports.push_back({gpu, port.name, port.bandwidth_bytes_per_second, port.line});
      }
    }
    choose_gateways(std::move(ports));
  }

  /// The fastest ports, in the order of the GPUs that they are next to.
  void choose_gateways(std::vector<Port> ports) {
    double fastest = 0.0;
    for (const Port& port : ports) {
      if (port.bandwidth_bytes_per_second > largest_port_bandwidth) continue;
      fastest = std::max(fastest, port.bandwidth_bytes_per_second);
    }
    std::stable_sort(ports.begin(), ports.end(),
                     [](const Port& left, const Port& right) { return left.gpu < right.gpu; });
    for (const Port& port : ports) {
      if (port.bandwidth_bytes_per_second < fastest) {
        notes_.ignored(port.line, fmt::format("{} is slower than other NICs and no gateway",
                                              quote(port.name)));
        continue;
      }
      graph_.gateways.push_back(port.name);
    }
    if (graph_.gateways.size() > topology_.gpus.size()) {
      notes_.assumed(
          0, fmt::format("{} gateways for {} GPUs: in a cluster each GPU uses its own by turns",
                         graph_.gateways.size(), topology_.gpus.size()));
    }
  }

  void connect_cpus() {
    std::vector<const NcclDevice*> cpus;
    for (const NcclDevice& each : topology_.devices) {
      if (each.kind == NcclDevice::Kind::cpu) cpus.push_back(&each);
    }
    constexpr std::size_t most_cpus = 256;
    if (cpus.size() > most_cpus) {
      refuse_import(origin_, {cpus[most_cpus]->line}, fmt::format("more than {} CPUs", most_cpus));
    }
    for (std::size_t first = 0; first < cpus.size(); ++first) {
      for (std::size_t second = first + 1; second < cpus.size(); ++second) {
        add(cpus[first]->name, cpus[second]->name,
            {cpus[first]->bandwidth_bytes_per_second, pcie_latency_seconds}, "cpu");
      }
    }
    if (cpus.size() > 1) {
      notes_.assumed(0, fmt::format("{} GB/s between CPUs, from their model, as in NCCL",
                                    cpus[0]->bandwidth_bytes_per_second / gigabyte));
    }
  }

  const NcclTopology& topology_;
  const std::string& origin_;
  ImportNotes& notes_;
  GraphSpec graph_;
};

/// Where several GPUs have only one port between them.
void note_shared_nics(const NcclTopology& topology, ImportNotes& notes) {
  const std::vector<int> groups = nccl_groups(topology);
  std::map<int, int> gpus;
  for (const int gpu : topology.gpus) ++gpus[groups[static_cast<std::size_t>(gpu)]];
  std::map<int, int> ports;
  std::map<int, int> lines;
  for (const int nic : topology.nics) {
    const NcclDevice& device = topology.devices[static_cast<std::size_t>(nic)];
    const int group = groups[static_cast<std::size_t>(nic)];
    ports[group] += std::max(1, static_cast<int>(device.ports.size()));
    lines.emplace(group, device.line);
  }
  for (const auto& [group, count] : ports) {
    if (gpus[group] <= count) continue;
    notes.suspicious(lines[group],
                     fmt::format("{} GPUs share {} behind {}", gpus[group],
                                 count == 1 ? "one NIC" : fmt::format("{} NICs", count),
                                 topology.devices[static_cast<std::size_t>(group)].name));
  }
}

void note_port_speed(const NcclTopology& topology, ImportNotes& notes) {
  for (const int nic : topology.nics) {
    for (const NcclPort& port : topology.devices[static_cast<std::size_t>(nic)].ports) {
      notes.ignored(port.line, fmt::format("the NICs' {} GB/s: the cluster's links are to have it",
                                           port.bandwidth_bytes_per_second / gigabyte));
      return;
    }
  }
}

Import import(std::string_view text, const std::string& origin) {
  const XmlText xml(text, origin);
  ImportNotes notes;
  const NcclTopology topology = read_nccl(xml, notes);
  note_shared_nics(topology, notes);
  notes.assumed(0,
                "latencies, which the file does not have: NVLink 0.6 us, PCIe 0.5 us a link, as "
                "in NCCL's tuning");
  notes.assumed(0, "bandwidths: what NCCL expects of links, somewhat less than their data sheets");
  std::string body =
      "source: an NCCL or RCCL topology, and NCCL's tables for bandwidths and latencies\n";
  if (const auto yaml = nccl_machine_yaml(topology, notes)) {
    note_port_speed(topology, notes);
    body += *yaml;
  } else {
    body += yaml_graph(Graph(topology, origin, notes).build());
  }
  const std::string kind = topology.is_rccl ? "RCCL topology XML" : "NCCL topology XML";
  return make_import(kind, origin, notes, body);
}

}  // namespace

Importer nccl_importer() {
  return {"nccl", "NCCL or RCCL topology XML (NCCL_TOPO_DUMP_FILE)", recognises, import};
}

}  // namespace tutti
