// `nvidia-smi topo -m`: a machine's GPUs and NICs, of which it says how near they are to each
// other. The PCIe tree is inferred from that; no bandwidth is in it, so all are assumed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "topologies/import_text.hpp"
#include "topologies/import_yaml.hpp"
#include "topologies/nvidia_matrix.hpp"

namespace tutti {
namespace {

using Kind = NvidiaCell::Kind;

// NCCL's figures (src/graph/topo.h): of one NVLink of Volta and Ampere, and of Hopper; of PCIe 3
// x16; between the sockets of a Skylake. The latencies are of its tuner (src/graph/tuning.cc, ring,
// LL): 0.6 us over NVLink, 1 us over PCIe, of which each cable has half.
constexpr double nvlink_bandwidth = 20e9;
constexpr double hopper_nvlink_bandwidth = 20.6e9;
constexpr double pcie_bandwidth = 12e9;
constexpr double socket_bandwidth = 10e9;
constexpr double nvlink_latency = 0.6e-6;
constexpr double pcie_latency = 0.5e-6;

constexpr int most_ampere_nvlinks = 12;
constexpr int most_nvlinks = 18;  ///< That any GPU has.

/// Sets of devices that are joined one by one.
class Clusters {
 public:
  explicit Clusters(std::size_t size) : parents_(size) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  std::size_t of(std::size_t device) {
    while (parents_[device] != device) device = parents_[device] = parents_[parents_[device]];
    return device;
  }

  /// The lower number stands for both.
  void join(std::size_t left, std::size_t right) {
    const std::size_t low = std::min(of(left), of(right)), high = std::max(of(left), of(right));
    parents_[high] = low;
  }

 private:
  std::vector<std::size_t> parents_;
};

class MachineGraph {
 public:
  MachineGraph(NvidiaMatrix matrix, ImportNotes& notes)
      : matrix_(std::move(matrix)), notes_(notes) {
    for (std::size_t index = 0; index < size(); ++index) {
      graph_.nodes.push_back({device(index).name, device(index).is_gpu});
      if (device(index).is_gpu) gpus_.push_back(index);
    }
    add_nvlinks();
    add_tree();
    choose_gateways();
  }

  const GraphSpec& graph() const { return graph_; }

 private:
  std::size_t size() const { return matrix_.devices.size(); }
  const NvidiaDevice& device(std::size_t index) const { return matrix_.devices[index]; }

  /// A node of that name, or a longer one if a device is called so. Returns the name.
  std::string add_switch(std::string name) {
    const auto is_taken = [&](const NvidiaDevice& each) { return each.name == name; };
    while (std::any_of(matrix_.devices.begin(), matrix_.devices.end(), is_taken)) name += "-switch";
    graph_.nodes.push_back({name, false});
    return name;
  }

  void cable(const std::string& from, const std::string& to, double bandwidth, double latency,
             std::string link_class) {
    graph_.cables.push_back({from, to, {bandwidth, latency}, std::move(link_class)});
  }

  /// All NVLinks of a device.
  int nvlinks_of(std::size_t row) const {
    int links = 0;
    for (std::size_t column = 0; column < size(); ++column)
      links += matrix_.at(row, column).nvlinks;
    return links;
  }

  /// Every GPU says that all its links lead to each of the others: through switches.
  bool has_nvswitch() const {
    if (gpus_.size() < 3) return false;
    const int links = matrix_.at(gpus_[0], gpus_[1]).nvlinks;
    for (const std::size_t row : gpus_) {
      for (const std::size_t column : gpus_) {
        if (row != column && matrix_.at(row, column).nvlinks != links) return false;
      }
    }
    return links * (static_cast<int>(gpus_.size()) - 1) > most_nvlinks;
  }

  void add_nvlinks() {
    const bool switched = has_nvswitch();
    int most = 0;
    for (std::size_t row = 0; row < size(); ++row) {
      const int links = switched ? matrix_.at(gpus_[0], gpus_[1]).nvlinks : nvlinks_of(row);
      most = std::max(most, links);
      if (links <= most_nvlinks) continue;
      notes_.suspicious(device(row).line, fmt::format("{} has {} NVLinks, more than any GPU has",
                                                      device(row).name, links));
    }
    if (most == 0) return;
    const double each = most > most_ampere_nvlinks ? hopper_nvlink_bandwidth : nvlink_bandwidth;
    notes_.assumed(0,
                   fmt::format("{:.3g} GB/s and direction for each NVLink, {:.3g} us from GPU to "
                               "GPU (NCCL's figures for {})",
                               each / 1e9, nvlink_latency * 1e6,
                               most > most_ampere_nvlinks ? "Hopper; Blackwell has 40.1"
                                                          : "Volta and Ampere; Pascal has 18"));
    if (switched) {
      add_nvswitch(most * each);
    } else {
      add_nvlink_mesh(each);
    }
  }

  void add_nvswitch(double bandwidth) {
    notes_.assumed(0, "the NVLinks lead to a switch: a GPU has not enough for all others");
    const std::string node = add_switch("nvswitch");
    for (const std::size_t gpu : gpus_) {
      cable(device(gpu).name, node, bandwidth, nvlink_latency / 2, "nvlink");
    }
  }

  void add_nvlink_mesh(double each) {
    for (std::size_t row = 0; row < size(); ++row) {
      for (std::size_t column = row + 1; column < size(); ++column) {
        const int links = matrix_.at(row, column).nvlinks;
        if (links == 0) continue;
        cable(device(row).name, device(column).name, links * each, nvlink_latency, "nvlink");
      }
    }
  }

  /// Those that are at most `farthest` from each other, or from something that both are near to.
  Clusters clusters(Kind farthest) const {
    Clusters result(size());
    for (std::size_t row = 0; row < size(); ++row) {
      for (std::size_t column = row + 1; column < size(); ++column) {
        const Kind kind = matrix_.at(row, column).kind;
        const bool has_same_affinity = kind == Kind::nvlink && farthest >= Kind::processor &&
                                       device(row).affinity == device(column).affinity;
        if (has_same_affinity || (kind != Kind::nvlink && kind <= farthest)) {
          result.join(row, column);
        }
      }
    }
    note_contradictions(farthest, result);
    return result;
  }

  void note_contradictions(Kind farthest, Clusters& found) const {
    for (std::size_t row = 0; row < size(); ++row) {
      for (std::size_t column = row + 1; column < size(); ++column) {
        const Kind kind = matrix_.at(row, column).kind;
        if (kind == Kind::nvlink || kind <= farthest || found.of(row) != found.of(column)) continue;
        notes_.suspicious(device(row).line,
                          fmt::format("{} and {} are farther from each other than from something "
                                      "that is near to both; the shorter way is used",
                                      device(row).name, device(column).name));
        return;
      }
    }
  }

  /// One level of the tree: a node for each cluster, unless the level below has the same cluster.
  /// `attached` is what each device hangs at so far.
  void add_level(Clusters found, std::string_view name, bool of_single_ones,
                 std::vector<std::string>& attached) {
    std::map<std::size_t, std::vector<std::string>> children;  // By cluster.
    for (std::size_t index = 0; index < size(); ++index) {
      std::vector<std::string>& below = children[found.of(index)];
      if (std::find(below.begin(), below.end(), attached[index]) == below.end()) {
        below.push_back(attached[index]);
      }
    }
    std::map<std::size_t, std::string> names;
    for (const auto& [cluster, below] : children) {
      if (below.size() < 2 && !of_single_ones) continue;
      const std::string node = add_switch(fmt::format("{}-{}", name, names.size()));
      names[cluster] = node;
      for (const std::string& child : below) {
        cable(child, node, pcie_bandwidth, pcie_latency, "pcie");
      }
    }
    for (std::size_t index = 0; index < size(); ++index) {
      const auto node = names.find(found.of(index));
      if (node != names.end()) attached[index] = node->second;
    }
  }

  void add_tree() {
    std::vector<std::string> attached;
    for (const NvidiaDevice& each : matrix_.devices) attached.push_back(each.name);
    add_level(clusters(Kind::bridge), "pcie", false, attached);
    add_level(clusters(Kind::bridges), "pcie-upper", false, attached);
    add_level(clusters(Kind::processor), "cpu", true, attached);
    std::sort(attached.begin(), attached.end());
    attached.erase(std::unique(attached.begin(), attached.end()), attached.end());
    for (std::size_t left = 0; left < attached.size(); ++left) {
      for (std::size_t right = left + 1; right < attached.size(); ++right) {
        cable(attached[left], attached[right], socket_bandwidth, pcie_latency, "socket");
      }
    }
    notes_.assumed(0,
                   fmt::format("{:.3g} GB/s for each PCIe cable, {:.3g} GB/s between sockets "
                               "(NCCL's figures for PCIe 3 x16 and Skylake), {:.3g} us each",
                               pcie_bandwidth / 1e9, socket_bandwidth / 1e9, pcie_latency * 1e6));
    notes_.assumed(0, "the host bridges of one NUMA node are one, and all NUMA nodes connected");
  }

  /// How far a GPU is from a NIC, and how many GPUs use that NIC already.
  struct Nearness {
    Kind kind = Kind::self;
    int users = 0;
    std::size_t nic = 0;

    auto operator<=>(const Nearness&) const = default;
  };

  /// Each GPU leaves by the nearest NIC, of equally near ones the one that fewest others use.
  void choose_gateways() {
    std::map<std::size_t, std::vector<std::size_t>> users;  // By NIC.
    std::vector<std::size_t> order;                         // Of NICs, by their first user.
    for (const std::size_t gpu : gpus_) {
      std::vector<Nearness> candidates;
      for (std::size_t nic = 0; nic < size(); ++nic) {
        if (device(nic).is_gpu) continue;
        candidates.push_back({matrix_.at(gpu, nic).kind, static_cast<int>(users[nic].size()), nic});
      }
      if (candidates.empty()) return;
      const std::size_t chosen = std::min_element(candidates.begin(), candidates.end())->nic;
      if (users[chosen].empty()) order.push_back(chosen);
      users[chosen].push_back(gpu);
    }
    bool is_even = true;
    for (std::size_t index = 0; index < order.size(); ++index) {
      graph_.gateways.push_back(device(order[index]).name);
      const std::vector<std::size_t>& of_nic = users[order[index]];
      if (of_nic.size() > 1) note_shared(order[index], of_nic);
      for (const std::size_t gpu : of_nic) {
        const auto number =
            static_cast<std::size_t>(std::find(gpus_.begin(), gpus_.end(), gpu) - gpus_.begin());
        is_even = is_even && number * order.size() / gpus_.size() == index;
      }
    }
    notes_.assumed(0, is_even ? "each GPU leaves the machine by the NIC that is nearest to it"
                              : "GPUs leave the machine by the NICs in order, since they do not "
                                "have equally many near ones");
    for (std::size_t nic = 0; nic < size(); ++nic) {
      if (device(nic).is_gpu || !users[nic].empty()) continue;
      notes_.ignored(device(nic).line, fmt::format("{} as a way out of the machine: other NICs are "
                                                   "nearer to every GPU, or as near",
                                                   device(nic).name));
    }
  }

  void note_shared(std::size_t nic, const std::vector<std::size_t>& gpus) {
    std::vector<std::string> names;
    for (const std::size_t gpu : gpus) names.push_back(device(gpu).name);
    notes_.suspicious(device(nic).line,
                      fmt::format("{} share {}", fmt::join(names, ", "), device(nic).name));
  }

  NvidiaMatrix matrix_;
  ImportNotes& notes_;
  std::vector<std::size_t> gpus_;
  GraphSpec graph_;
};

Import import_nvidia_smi(std::string_view text, const std::string& origin) {
  ImportNotes notes;
  const MachineGraph machine(read_nvidia_matrix(text, origin, notes), notes);
  check_import_size(origin, machine.graph());
  return make_import("nvidia-smi topo -m", origin, notes,
                     "source: nvidia-smi topo -m; bandwidths and latencies of NCCL's tables\n" +
                         yaml_graph(machine.graph()));
}

}  // namespace

Importer nvidia_smi_importer() {
  return {"nvidia-smi", "text that `nvidia-smi topo -m` prints", has_nvidia_matrix,
          import_nvidia_smi};
}

}  // namespace tutti
