// The elements of an NCCL or RCCL topology.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "topologies/import_nccl.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr double gigabyte = 1e9;
constexpr std::size_t most_gpus = 4096;

struct Speed {
  std::string_view text;
  double gigabytes_of_16_lanes;
};

/// The link_speed strings that NCCL knows, with its estimate of what 16 lanes carry.
constexpr std::array<Speed, 11> known_speeds = {{{"2.5 GT/s", 3.0},
                                                 {"5 GT/s", 6.0},
                                                 {"8 GT/s", 12.0},
                                                 {"16 GT/s", 24.0},
                                                 {"32 GT/s", 48.0},
                                                 {"2.5 GT/s PCIe", 3.0},
                                                 {"5.0 GT/s PCIe", 6.0},
                                                 {"8.0 GT/s PCIe", 12.0},
                                                 {"16.0 GT/s PCIe", 24.0},
                                                 {"32.0 GT/s PCIe", 48.0},
                                                 {"64.0 GT/s PCIe", 96.0}}};
constexpr double default_gigabytes_of_16_lanes = 12.0;

/// What NCCL takes one NVLink of a compute capability for, in GB/s.
double nvlink_gigabytes(int compute_capability) {
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return 20.6;
  if (compute_capability == 86) return 12.0;
  if (compute_capability >= 70) return 20.0;
  return compute_capability >= 60 ? 18.0 : 20.0;
}

/// What RCCL takes one xGMI link of an architecture for, in GB/s.
double xgmi_gigabytes(std::string_view architecture) {
  if (architecture.starts_with("gfx94") || architecture.starts_with("gfx95")) return 48.0;
  return architecture.starts_with("gfx90") ? 36.0 : 24.0;
}

/// What NCCL takes the link between two CPUs for, in GB/s.
double cpu_gigabytes(std::string_view architecture, std::string_view vendor, int family,
                     int model) {
  if (architecture.starts_with("ppc")) return 32.0;
  if (architecture.starts_with("arm") || architecture.starts_with("aarch")) return 6.0;
  if (vendor != "GenuineIntel") return 16.0;
  if (family != 6) return 6.0;
  if (model >= 0xcf) return 40.0;
  if (model >= 0x8f) return 22.0;
  return model >= 0x55 ? 10.0 : 6.0;
}

class Reader {
 public:
  Reader(const XmlText& text, ImportNotes& notes) : text_(text), notes_(notes) {}

  NcclTopology read() {
    for (const pugi::xml_node cpu : text_.root().children()) {
      if (std::string_view(cpu.name()) == "cpu") {
        read_cpu(cpu);
      } else {
        note_other(cpu);
      }
    }
    if (gpus_.empty()) text_.refuse(text_.root(), "has no GPU, expected one at least");
    number_gpus();
    for (const Pending& pending : pending_) add_link(pending);
    check_bridges();
    return std::move(topology_);
  }

 private:
  /// A link whose target may come later in the file.
  struct Pending {
    int gpu = -1;
    pugi::xml_node element;
    double gigabytes_each = 0.0;
  };

  void note_other(pugi::xml_node element) {
    notes_.ignored(text_.line_of(element), fmt::format("<{}>", shown(element.name())));
  }

  /// A whole number, or `otherwise` where the attribute is missing or is not one.
  static int number_of(pugi::xml_node element, const char* attribute, int otherwise) {
    return element.attribute(attribute).as_int(otherwise);
  }

  int add(NcclDevice device) {
    if (topology_.devices.size() == maximum_import_nodes) {
      refuse_import(text_.origin(), {device.line},
                    fmt::format("more than {} devices", maximum_import_nodes));
    }
    device.name = unique(std::move(device.name));
    topology_.devices.push_back(std::move(device));
    return static_cast<int>(topology_.devices.size()) - 1;
  }

  std::string unique(std::string name) {
    const std::string fault = fault_of_import_name(name);
    if (!fault.empty()) refuse_import(text_.origin(), {}, fault);
    int& times = names_[name];
    ++times;
    return times == 1 ? name : unique(fmt::format("{}#{}", name, times));
  }

  void read_cpu(pugi::xml_node element) {
    NcclDevice cpu;
    cpu.kind = NcclDevice::Kind::cpu;
    cpu.line = text_.line_of(element);
    cpu.name = fmt::format("cpu-{}", number_of(element, "numaid", 0));
    cpu.bandwidth_bytes_per_second = gigabyte * cpu_gigabytes(element.attribute("arch").value(),
                                                              element.attribute("vendor").value(),
                                                              number_of(element, "familyid", 0),
                                                              number_of(element, "modelid", 0));
    const std::string machine = text_.optional(element, "host_hash");
    if (!machine.empty() && !machine_.empty() && machine != machine_) {
      notes_.suspicious(cpu.line, "CPUs of several machines: they are connected like those of one");
    }
    machine_ = machine;
    const int index = add(std::move(cpu));
    for (const pugi::xml_node child : element.children()) read_child(child, index);
  }

  void read_child(pugi::xml_node element, int parent) {
    const std::string_view name = element.name();
    if (name == "pci") {
      read_pci(element, parent);
    } else if (name == "nic") {
      read_nic(element, element, parent);
    } else {
      note_other(element);
    }
  }

  NcclDevice::Kind kind_of(pugi::xml_node element) const {
    if (element.child("gpu")) return NcclDevice::Kind::gpu;
    if (element.child("nic")) return NcclDevice::Kind::nic;
    const std::string pci_class = text_.optional(element, "class");
    if (pci_class.starts_with("0x03") || pci_class.starts_with("0x12")) {
      return NcclDevice::Kind::gpu;
    }
    return pci_class.starts_with("0x02") ? NcclDevice::Kind::nic : NcclDevice::Kind::bridge;
  }

  void read_pci(pugi::xml_node element, int parent) {
    const std::string bus = text_.required(element, "busid");
    const int line = text_.line_of(element);
    if (!buses_.try_emplace(bus, -1).second) {
      notes_.suspicious(line, fmt::format("busid {} is given twice", quote(bus)));
    }
    switch (kind_of(element)) {
      case NcclDevice::Kind::gpu:
        read_gpus(element, parent, bus);
        return;
      case NcclDevice::Kind::nic: {
        const pugi::xml_node nic = element.child("nic");
        read_nic(element, nic ? nic : element, parent);
        return;
      }
      default:
        break;
    }
    NcclDevice bridge;
    bridge.line = line;
    bridge.name = "pci-" + bus;
    bridge.bus = bus;
    bridge.parent = parent;
    bridge.bandwidth_bytes_per_second = pci_bandwidth(element);
    const int index = add(std::move(bridge));
    for (const pugi::xml_node child : element.children()) read_child(child, index);
  }

  /// The link between a PCI device and its parent.
  double pci_bandwidth(pugi::xml_node element) {
    const int line = text_.line_of(element);
    int lanes = number_of(element, "link_width", 0);
    if (lanes <= 0 || lanes > 32) {
      notes_.assumed(
          line, fmt::format("{}: 16 lanes, as NCCL does", shown_attribute(element, "link_width")));
      lanes = 16;
    }
    return gigabyte * gigabytes_of_16_lanes(element, line) * lanes / 16.0;
  }

  double gigabytes_of_16_lanes(pugi::xml_node element, int line) {
    const std::string speed = text_.optional(element, "link_speed");
    for (const Speed& known : known_speeds) {
      if (speed == known.text) return known.gigabytes_of_16_lanes;
    }
    // As a person would read it: the number decides.
    double transfers = 0.0;
    const auto [rest, status] =
        std::from_chars(speed.data(), speed.data() + speed.size(), transfers);
    const bool has_unit =
        std::string_view(rest, static_cast<std::size_t>(speed.data() + speed.size() - rest))
            .starts_with(" GT/s");
    for (const Speed& known : known_speeds) {
      double number = 0.0;
      std::from_chars(known.text.data(), known.text.data() + known.text.size(), number);
      if (status != std::errc{} || !has_unit || number != transfers) continue;
      notes_.suspicious(line, fmt::format("{}: taken as it reads, but NCCL does not know this text "
                                          "and takes 8 GT/s; expected '{} GT/s' or '{:.1f} GT/s "
                                          "PCIe'",
                                          shown_attribute(element, "link_speed"), number, number));
      return known.gigabytes_of_16_lanes;
    }
    const std::string text =
        fmt::format("{}: 8 GT/s is taken, as NCCL does", shown_attribute(element, "link_speed"));
    if (speed.empty()) {
      notes_.assumed(line, text);
    } else {
      notes_.suspicious(line, text);
    }
    return default_gigabytes_of_16_lanes;
  }

  void read_gpus(pugi::xml_node element, int parent, const std::string& bus) {
    const double bandwidth = pci_bandwidth(element);
    bool has_gpu = false;
    for (const pugi::xml_node child : element.children()) {
      if (std::string_view(child.name()) != "gpu") {
        note_other(child);
        continue;
      }
      has_gpu = true;
      add_gpu(child, parent, bus, bandwidth);
    }
    if (has_gpu) return;
    notes_.assumed(text_.line_of(element),
                   "a GPU by its class only: NVLinks, which NCCL finds on the machine, are not in "
                   "the file");
    add_gpu(element, parent, bus, bandwidth);
  }

  void add_gpu(pugi::xml_node element, int parent, const std::string& bus, double bandwidth) {
    NcclDevice gpu;
    gpu.kind = NcclDevice::Kind::gpu;
    gpu.line = text_.line_of(element);
    gpu.name = "gpu " + bus;
    gpu.bus = bus;
    gpu.parent = parent;
    gpu.bandwidth_bytes_per_second = bandwidth;
    gpu.number = number_of(element, "dev", -1);
    const int index = add(std::move(gpu));
    gpus_.push_back(index);
    if (gpus_.size() > most_gpus) {
      text_.refuse(element, fmt::format("more than {} GPUs", most_gpus));
    }
    buses_[bus] = index;
    const double nvlink = nvlink_gigabytes(number_of(element, "sm", 0));
    const double xgmi = xgmi_gigabytes(element.attribute("gcn").value());
    for (const pugi::xml_node child : element.children()) {
      const std::string_view name = child.name();
      if (name == "nvlink") {
        pending_.push_back({index, child, nvlink});
      } else if (name == "xgmi") {
        topology_.is_rccl = true;
        pending_.push_back({index, child, xgmi});
      } else if (std::string_view(element.name()) == "gpu") {
        note_other(child);
      }
    }
  }

  /// Ports are the <net> elements of `nic`; `pci` may be the same element.
  void read_nic(pugi::xml_node pci, pugi::xml_node nic, int parent) {
    NcclDevice device;
    device.kind = NcclDevice::Kind::nic;
    device.line = text_.line_of(pci);
    device.bus = text_.optional(pci, "busid");
    device.parent = parent;
    device.bandwidth_bytes_per_second = default_gigabytes_of_16_lanes * gigabyte;
    if (std::string_view(pci.name()) == "pci") {
      device.bandwidth_bytes_per_second = pci_bandwidth(pci);
    } else {
      notes_.assumed(device.line, "a NIC that is not on the PCI tree has 12 GB/s, as in NCCL");
    }
    for (const pugi::xml_node net : nic.children("net")) add_port(net, device);
    device.name =
        "nic-" + (device.bus.empty() ? std::to_string(topology_.nics.size()) : device.bus);
    topology_.nics.push_back(add(std::move(device)));
  }

  void add_port(pugi::xml_node net, NcclDevice& nic) {
    NcclPort port;
    port.line = text_.line_of(net);
    port.name = unique(text_.optional(net, "name", "net"));
    double megabits = net.attribute("speed").as_double(0.0);
    if (!(megabits > 0.0) || !std::isfinite(megabits)) {
      notes_.assumed(port.line,
                     fmt::format("{}: 10 Gb/s, as NCCL does", shown_attribute(net, "speed")));
      megabits = 10000.0;
    }
    port.bandwidth_bytes_per_second = megabits / 8.0 * 1e6;
    if (port.bandwidth_bytes_per_second > largest_port_bandwidth) {
      notes_.suspicious(
          port.line, fmt::format("{} has {} GB/s ({} in Mb/s), more than any NIC", quote(port.name),
                                 megabits / 8000.0, shown_attribute(net, "speed")));
    }
    if (port.bandwidth_bytes_per_second > nic.bandwidth_bytes_per_second * 1.25) {
      notes_.suspicious(port.line, fmt::format("{} is faster than its PCI slot", quote(port.name)));
    }
    nic.ports.push_back(std::move(port));
  }

  NcclDevice& device(int index) { return topology_.devices[static_cast<std::size_t>(index)]; }

  /// By the file's numbers where they differ, else in its order.
  void number_gpus() {
    std::unordered_set<int> numbers;
    bool distinct = true;
    for (const int gpu : gpus_) {
      distinct = distinct && device(gpu).number >= 0 && numbers.insert(device(gpu).number).second;
    }
    if (distinct) {
      std::sort(gpus_.begin(), gpus_.end(),
                [this](int left, int right) { return device(left).number < device(right).number; });
    } else if (!numbers.empty() && gpus_.size() > 1) {
      notes_.suspicious(0,
                        "some GPUs have no 'dev' or the same: they are counted in the order of "
                        "the file");
    }
    for (std::size_t number = 0; number < gpus_.size(); ++number) {
      device(gpus_[number]).number = static_cast<int>(number);
      device(gpus_[number]).name = unique(fmt::format("gpu-{}", number));
    }
    topology_.gpus = gpus_;
  }

  void add_link(const Pending& pending) {
    const pugi::xml_node element = pending.element;
    NcclLink link;
    link.line = text_.line_of(element);
    const int count = number_of(element, "count", 1);
    const std::string target = text_.required(element, "target");
    const std::string target_class = text_.optional(element, "tclass");
    const std::string& name = device(pending.gpu).name;
    if (count <= 0 || count > 1000) {
      notes_.suspicious(link.line, fmt::format("{}: the <{}> is left out",
                                               shown_attribute(element, "count"), element.name()));
      return;
    }
    if (target == device(pending.gpu).bus) {
      notes_.suspicious(link.line, fmt::format("the <{}> of {} leads to itself, it is left out",
                                               element.name(), name));
      return;
    }
    link.bandwidth_bytes_per_second = gigabyte * pending.gigabytes_each * count;
    const auto found = buses_.find(target);
    if (target_class == "0x068000") {
      link.target = NcclLink::Target::nvswitch;
    } else if (target_class == "0x068001") {
      link.target = NcclLink::Target::cpu;
    } else if (found != buses_.end() && found->second >= 0) {
      link.device = found->second;
    } else {
      notes_.suspicious(link.line, fmt::format("the <{}> of {} leads to {}, which is no GPU of the "
                                               "file: it is left out",
                                               element.name(), name, quote(target)));
      return;
    }
    device(pending.gpu).links.push_back(link);
  }

  void check_bridges() {
    std::vector<int> fastest(topology_.devices.size(), -1);
    for (std::size_t index = 0; index < topology_.devices.size(); ++index) {
      const NcclDevice& below = topology_.devices[index];
      if (below.parent < 0) continue;
      int& best = fastest[static_cast<std::size_t>(below.parent)];
      const bool is_faster =
          best < 0 || below.bandwidth_bytes_per_second > device(best).bandwidth_bytes_per_second;
      if (is_faster) best = static_cast<int>(index);
    }
    for (std::size_t index = 0; index < topology_.devices.size(); ++index) {
      const NcclDevice& above = topology_.devices[index];
      if (above.kind != NcclDevice::Kind::bridge || fastest[index] < 0) continue;
      const NcclDevice& below = device(fastest[index]);
      if (above.bandwidth_bytes_per_second >= below.bandwidth_bytes_per_second) continue;
      notes_.suspicious(above.line,
                        fmt::format("the bridge {} has {} GB/s, less than the {} GB/s of {} below",
                                    quote(above.bus), above.bandwidth_bytes_per_second / gigabyte,
                                    below.bandwidth_bytes_per_second / gigabyte, quote(below.bus)));
    }
  }

  const XmlText& text_;
  ImportNotes& notes_;
  NcclTopology topology_;
  std::vector<int> gpus_;
  std::vector<Pending> pending_;
  std::unordered_map<std::string, int> buses_;  ///< The GPU, or -1.
  std::unordered_map<std::string, int> names_;
  std::string machine_;
};

}  // namespace

NcclTopology read_nccl(const XmlText& text, ImportNotes& notes) {
  return Reader(text, notes).read();
}

}  // namespace tutti
