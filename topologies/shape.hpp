// Shape: a cluster as data, for the simulation, the replay and the emulation alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// One direction of a cable, or a shared medium. Bandwidth is what one flow alone gets.
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
  /// routes[from][to]; empty for from == to.
  std::vector<std::vector<Route>> routes;

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

/// Every host has one cable to one switch, full duplex, of half the latency.
Shape build_star(const Star& star);

}  // namespace tutti
