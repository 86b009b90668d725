// The fabrics that have a name: what each is made of, and how messages cross it. All builders throw
// ShapeError for what cannot be built, naming the figure, what is expected, and for more than
// maximum_hosts terminals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/fabric.hpp"

namespace tutti {

/// What a star is made of; bandwidth and latency are those from host to host through the switch.
struct StarSpec {
  int hosts = 0;
  LinkSpec link = {};
};

/// Every host has a cable of half the latency to the one switch. Hosts are "host-0", ...; links
/// "host-0-switch" and "switch-host-0", of class "host".
Fabric star(const StarSpec& spec);

/// A star as a cluster. Bytes reduced per second: empty where reductions are free.
Shape star_shape(int hosts, double bandwidth_bytes_per_second, double latency_seconds,
                 std::optional<double> reduction_bytes_per_second = {});

struct FullyConnectedSpec {
  int hosts = 0;
  LinkSpec link = {};
};

/// A cable between any two hosts.
Fabric fully_connected(const FullyConnectedSpec& spec);

/// A grid of hosts, host i at the coordinates of i, the first changing fastest. Routes go along the
/// first dimension, then the second, ... (dimension order), around a ring the shorter way, of equal
/// ones upwards. A ring is a grid of one dimension that wraps; a hypercube has sizes of 2, where a
/// wrapping dimension has one cable, not two. Classes "dimension-1", "dimension-2", ...
struct GridSpec {
  std::vector<int> dimensions = {};
  bool wraps = true;                 ///< A torus; else a mesh.
  std::vector<LinkSpec> links = {};  ///< One for each dimension, or one for all.
  std::string kind = "torus";        ///< For the name: "ring", "torus", "mesh", "hypercube".
};
Fabric grid(const GridSpec& spec);

/// A parallel-ports generalised fat tree: level l (from 1 at the hosts) has switches with down[l-1]
/// children each, every node of level l - 1 has up[l-1] parents, with cables[l-1] parallel cables
/// to each. Hosts: the product of down. Routes go up to a common ancestor, spread by the
/// destination (D-mod-k), then down. Same parameters as SimGrid's FAT_TREE. Oversubscription of
/// level l: down capacity of its switches over up capacity. Classes "level-1", "level-2", ...
struct FatTreeSpec {
  std::vector<int> down = {};
  std::vector<int> up = {};
  std::vector<int> cables = {};      ///< Empty: 1 each.
  std::vector<LinkSpec> links = {};  ///< One for each level, or one for all.
};
Fabric fat_tree(const FatTreeSpec& spec);

/// The three-level tree of switches with `radix` ports, an even number: radix^3 / 4 hosts, or with
/// oversubscription o (a divisor of radix / 2) that many with 1 / o of the up links of the edge.
FatTreeSpec k_ary_fat_tree(int radix, int oversubscription, const std::vector<LinkSpec>& links);

/// Leaves and spines, every leaf with `uplinks` cables to every spine. Without rails, terminal t is
/// at leaf t / hosts_per_leaf. With rails > 1 the leaves come in pods of `rails`, and terminals in
/// machines of `rails` consecutive ones: terminal j of a machine is at leaf j of the pod, and a
/// leaf has hosts_per_leaf of them. Messages between leaves take the cable of number (destination
/// terminal / rails) mod (spines * uplinks), counted over all spines before the second of each.
/// With no spines, only terminals of one leaf reach each other (rail-only; for compositions that
/// leave by destination). Classes "host" and "spine".
struct LeafSpineSpec {
  int leaves = 0;
  int spines = 0;
  int hosts_per_leaf = 0;
  int uplinks = 1;
  int rails = 1;
  LinkSpec host = {};
  LinkSpec spine = {};
};
Fabric leaf_spine(const LeafSpineSpec& spec);

/// Groups of routers, all routers of a group connected to each other (class "local"), each with
/// `hosts` terminals (class "host"), and `global_links` cables (class "global") to routers of other
/// groups, spread evenly over the groups (of the ports that are left over when all pairs of groups
/// have the same number of cables, one may stay free). Routes are minimal: at most local, global,
/// local; of the cables between two groups they take number (destination terminal) mod their
/// number. Throws ShapeError where a group has too few ports for a cable to each other group.
struct DragonflySpec {
  int groups = 0;
  int routers = 0;
  int hosts = 0;
  int global_links = 0;
  LinkSpec host = {};
  LinkSpec local = {};
  LinkSpec global = {};
};
Fabric dragonfly(const DragonflySpec& spec);

/// Dimensions one in the other, as ASTRA-sim's: the hosts that differ in one coordinate only are
/// connected by that dimension's network. Host i has the coordinates of i, the first changing
/// fastest. Routes are in dimension order. Classes "dimension-1", ...
struct ProductDimension {
  enum class Kind : std::uint8_t { ring, line, fully_connected, switched };
  Kind kind = Kind::ring;
  int size = 0;
  LinkSpec link = {};  ///< Of a switch: from host to host.
};
Fabric product(const std::vector<ProductDimension>& dimensions);

/// The inside of a machine of several devices. Devices are the terminals "gpu-0", ...; they are
/// connected by `interconnect`: a switch (NVSwitch), cables between all pairs (mesh), a ring, or
/// only the PCIe tree. Each of `pcie_switches` has its share of devices and NICs, all under one
/// root; with 0 of them, devices and NICs are at the root itself. Messages between devices stay on
/// the interconnect. The gateways are the NICs, device d's is NIC d * nics / devices, or by the
/// peer one of those that follow, if there are several a device. Without NICs there is no PCIe tree
/// unless it is the interconnect. Classes "device" (of the interconnect) and "pcie".
struct MachineSpec {
  enum class Interconnect : std::uint8_t { switched, mesh, ring, pcie };
  int devices = 0;
  int nics = 0;  ///< 0: no gateways, a machine alone.
  int pcie_switches = 0;
  Interconnect interconnect = Interconnect::switched;
  LinkSpec device = {};  ///< Of a switch: from device to device.
  LinkSpec pcie = {};
  bool leaves_by_destination = false;
};
Fabric machine(const MachineSpec& spec);

/// Any nodes and cables.
struct GraphSpec {
  struct GraphNode {
    std::string name;
    bool is_host = true;
  };
  struct GraphCable {
    std::string from;
    std::string to;
    LinkSpec spec;
    std::string link_class = "link";
    bool one_way = false;
  };
  /// A route that is to be used instead of the shortest: the nodes it goes through, ends included.
  struct GraphRoute {
    std::vector<std::string> nodes;
    bool both_ways = true;
  };
  std::vector<GraphNode> nodes;
  std::vector<GraphCable> cables;
  std::vector<GraphRoute> routes;
  Metric metric = Metric::hops;
  std::vector<std::string> gateways;
};
Fabric graph(const GraphSpec& spec);

}  // namespace tutti
