// What an NCCL or RCCL topology says, before it becomes a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/import_xml.hpp"
#include "topologies/import_yaml.hpp"

namespace tutti {

/// NVLinks or xGMI links from a GPU to one target.
struct NcclLink {
  enum class Target : std::uint8_t { gpu, nvswitch, cpu };
  Target target = Target::gpu;
  int device = -1;  ///< The GPU, of those in the topology.
  double bandwidth_bytes_per_second = 0.0;
  int line = 0;
};

/// A port of a NIC.
struct NcclPort {
  std::string name;
  double bandwidth_bytes_per_second = 0.0;
  int line = 0;
};

/// An element: a CPU, or what is on the PCI tree below it.
struct NcclDevice {
  enum class Kind : std::uint8_t { cpu, bridge, gpu, nic };
  Kind kind = Kind::bridge;
  std::string name;                         ///< Unique; "gpu-3" for the GPUs.
  std::string bus;                          ///< "0000:16:00.0"; empty of a CPU.
  int parent = -1;                          ///< Comes earlier; -1 of a CPU.
  double bandwidth_bytes_per_second = 0.0;  ///< Of its link to the parent; between CPUs of a CPU.
  int number = -1;                          ///< Of a GPU, as the file counts.
  std::vector<NcclLink> links = {};         ///< Of a GPU.
  std::vector<NcclPort> ports = {};         ///< Of a NIC; may be empty.
  int line = 0;
};

struct NcclTopology {
  bool is_rccl = false;             ///< Has xGMI links.
  std::vector<NcclDevice> devices;  ///< In the order of the file.
  std::vector<int> gpus;            ///< By number.
  std::vector<int> nics;
};

/// Of each device the PCI switch below which no other device shares what it hangs on: where a
/// machine's GPUs and NICs meet. A CPU where there is no switch.
std::vector<int> nccl_groups(const NcclTopology& topology);

/// No port of a NIC is faster, whatever a file says.
inline constexpr double largest_port_bandwidth = 200e9;

/// Seconds that the importer assumes: the file has none.
inline constexpr double nvlink_latency_seconds = 0.6e-6;
inline constexpr double pcie_latency_seconds = 0.5e-6;

/// Reads the whole text, notes what is suspicious. Throws ShapeError "ORIGIN:LINE:COLUMN: what".
NcclTopology read_nccl(const XmlText& text, ImportNotes& notes);

/// The topology as a `machine`; nothing where it is too irregular for that.
std::optional<std::string> nccl_machine_yaml(const NcclTopology& topology, ImportNotes& notes);

}  // namespace tutti
