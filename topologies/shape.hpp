// Shape: a cluster as data, for the simulation, the replay and the emulation alike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti {

/// A shape that cannot be read or built. The text says where, what was found and what is expected.
class ShapeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A point where links meet.
struct Node {
  enum class Kind : std::uint8_t {
    host,    ///< Runs ranks: a machine, or one of its devices.
    nic,     ///< Where a machine of several devices meets the network.
    bridge,  ///< Inside a machine: an NVSwitch, a PCIe switch, a CPU's root complex.
    fabric,  ///< Outside: a switch or router.
  };

  std::string name;  ///< Unique within its shape.
  Kind kind = Kind::host;
};

/// One direction of a cable, or a medium that both directions share. Bandwidth is what one flow
/// alone gets; flows that cross a link at the same time share it.
struct Link {
  std::string name;        ///< Unique within its shape: "leaf1-spine0".
  std::string link_class;  ///< What links of its kind are called: "host", "spine", "nvlink".
  int from = -1;           ///< Nodes; of a shared medium its two ends in any order.
  int to = -1;
  double bandwidth_bytes_per_second = 0.0;
  double latency_seconds = 0.0;
  /// Each message occupies the link as if it were longer by as many bytes as pass in this time.
  double overhead_seconds = 0.0;
  int opposite = -1;    ///< The cable's other direction; itself if shared; -1 if one-way.
  bool failed = false;  ///< No route crosses it.

  bool is_shared(int self) const { return opposite == self; }
};

/// What runs ranks: a machine, or a device of one.
struct Host {
  std::string name;
  /// Bytes reduced per second; empty where reductions are free.
  std::optional<double> reduction_bytes_per_second = {};
  int cores = 1;                          ///< Ranks that can compute at once.
  double send_overhead_seconds = 0.0;     ///< Busy for each message that it sends,
  double receive_overhead_seconds = 0.0;  ///< or receives.
  double speed = 1.0;                     ///< Divides the time of reductions and overheads.
  int machine = 0;                        ///< Devices of the same machine have the same one.
};

/// The links a message crosses, in order, as indices into Shape::links.
using Route = std::vector<int>;

/// The links from one host to another, or to itself (through its loopback; empty where it has
/// none). Pure, so that large shapes need no table; may keep a cache that callers cannot notice,
/// but for which only one thread may call it at a time.
using RouteFunction = std::function<Route(int from, int to)>;

/// Nodes, links, the route between any two hosts, and which host runs which rank.
class Shape {
 public:
  std::string name;  ///< For people: "star(8, 12.5 GB/s, 5 us)".
  std::string file;  ///< Where it was read, empty if built by a program.
  std::vector<Host> hosts;
  std::vector<Node> nodes;  ///< Host h is nodes[h]; the others follow.
  std::vector<Link> links;
  std::vector<int> placement;  ///< Rank r runs on hosts[placement[r]]; empty: on hosts[r].
  RouteFunction route;
  /// A platform that SimGrid is to read as it is; nodes and links then describe what it holds.
  std::string platform_file = {};

  /// Ranks that it has room for: the placement's, or one a host.
  int size() const { return static_cast<int>(placement.empty() ? hosts.size() : placement.size()); }

  int host_of(int rank) const {
    return placement.empty() ? rank : placement[static_cast<std::size_t>(rank)];
  }

  /// route() between the hosts of two ranks.
  Route route_of_ranks(int from, int to) const { return route(host_of(from), host_of(to)); }

  /// The largest overhead of the links: a message occupies all of them at once, those that are
  /// faster than the slowest for no longer than it takes there. 0 if there are none.
  double overhead_seconds(const Route& links_crossed) const;

  /// The bytes that the route carries in that time, by which a simulated message is longer; whole,
  /// as SimGrid's messages are.
  std::size_t overhead_bytes(const Route& links_crossed) const;

  /// What a message takes besides its bytes: the sum of the latencies, and the overhead. And the
  /// smallest bandwidth. 0 and infinity for an empty route.
  double latency_seconds(const Route& links_crossed) const;
  double bandwidth_bytes_per_second(const Route& links_crossed) const;

  /// Those along the route between two hosts.
  double latency_seconds(int from, int to) const;
  double bandwidth_bytes_per_second(int from, int to) const;
};

/// The most hosts, and the most ranks, that a shape may have.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
inline constexpr int maximum_hosts = 1 << 12;  // The fuzzer takes large shapes for slow parsers.
#else
inline constexpr int maximum_hosts = 1 << 20;
#endif

}  // namespace tutti
