// Shape: a cluster as data, for the simulation, the replay and the emulation alike.
#pragma once

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

/// One direction of a cable, or a shared medium. Bandwidth is what one flow alone gets; flows that
/// cross a link at the same time share it.
struct Link {
  std::string name;
  double bandwidth_bytes_per_second = 0.0;
  double latency_seconds = 0.0;
};

/// A machine that runs one rank.
struct Host {
  std::string name;
  /// Bytes reduced per second; empty where reductions are free.
  std::optional<double> reduction_bytes_per_second;
};

/// The links a message crosses, in order, as indices into Shape::links.
using Route = std::vector<int>;

/// Hosts, links and the route between any two hosts. Rank r runs on hosts[r].
class Shape {
 public:
  std::string name;  ///< For people: "star(8, 12.5 GB/s, 5 us)".
  std::string file;  ///< Where it was read, empty if built by a program.
  std::vector<Host> hosts;
  std::vector<Link> links;
  /// The route between two different hosts: a pure function, so that large shapes need no table.
  std::function<Route(int from, int to)> route;

  int size() const { return static_cast<int>(hosts.size()); }

  /// Sum of the latencies and smallest bandwidth along the route between two different hosts.
  double latency_seconds(int from, int to) const;
  double bandwidth_bytes_per_second(int from, int to) const;
};

/// What a star is made of; the figures are those from host to host through the switch.
struct Star {
  int hosts = 0;
  double bandwidth_bytes_per_second = 0.0;
  double latency_seconds = 0.0;
  std::optional<double> reduction_bytes_per_second;
};

/// The most hosts a shape may have.
inline constexpr int maximum_hosts = 65536;

/// Every host has one cable to one switch, full duplex (host i sends on link 2i and receives on
/// link 2i + 1), of half the latency. Throws ShapeError for hosts outside 1..maximum_hosts, for a
/// bandwidth or reduction speed that is not positive, a negative latency, and for anything
/// infinite.
Shape build_star(const Star& star);

}  // namespace tutti
