// EmulationPlan: what a shape becomes on one machine, without a link of its own being touched.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// A packet beyond what TCP carries in it: the Ethernet header that buckets count, and the headers
/// of IPv4 and of TCP with time stamps.
inline constexpr int frame_header_bytes = 14;
inline constexpr int packet_header_bytes = 20 + 32;

/// The packets that pass a bucket at once after a pause. With one, each late timer would cost
/// bandwidth.
inline constexpr int burst_packets = 2;

/// More namespaces than anybody means to make on one machine.
inline constexpr int most_emulated_nodes = 1024;

struct EmulationOptions {
  int ranks = 0;      ///< 0: all that the shape has room for.
  int mtu_bytes = 0;  ///< 0: 1500, or more where the links are fast.
};

/// A host or a switch: a network namespace that forwards packets.
struct EmulatedNode {
  std::string name;        ///< The shape's.
  std::string address;     ///< Empty where no rank runs.
  std::vector<int> ranks;  ///< In rising order.
};

/// One end of a cable, and the token bucket for what leaves there.
struct EmulatedEnd {
  int node = -1;
  double bandwidth_bytes_per_second = 0.0;  ///< Of payload; 0: the shape sends nothing this way.
  std::int64_t queue_bytes = 0;             ///< Room for all that TCP may have under way.
};

/// A pair of virtual Ethernet devices, of the same name and address in both namespaces.
struct EmulatedCable {
  std::string device;
  std::array<EmulatedEnd, 2> ends;
};

/// Packets for a rank's host leave a node by a cable: all of them, or those of one source, which
/// come before.
struct EmulatedRoute {
  int node = -1;
  int destination = -1;  ///< A node with an address, as is the source.
  int source = -1;       ///< -1: all.
  int cable = -1;
};

/// Only what lies on a route between two ranks is there. Hosts are numbered by their first rank.
struct EmulationPlan {
  std::string title;  ///< The shape's name.
  int mtu_bytes = 0;
  int window_bytes = 0;  ///< What TCP may have under way on one connection.
  std::vector<EmulatedNode> nodes;
  std::vector<EmulatedCable> cables;
  std::vector<EmulatedRoute> routes;     ///< By node.
  std::vector<int> node_of_rank;         ///< Into nodes.
  double longest_latency_seconds = 0.0;  ///< Of a route in the shape; latency is not emulated.
  std::vector<std::string> omissions;    ///< What else is not as the shape says, a sentence each.

  int ranks() const { return static_cast<int>(node_of_rank.size()); }

  /// Bytes that a bucket passes for each of payload, in full packets.
  double bytes_per_payload_byte() const {
    return static_cast<double>(mtu_bytes + frame_header_bytes) /
           static_cast<double>(mtu_bytes - packet_header_bytes);
  }
  int burst_bytes() const { return burst_packets * (mtu_bytes + frame_header_bytes); }
};

/// Follows the shape's own routes, so that the emulated packets take the links of the predicted
/// ones, each direction of a pair its own. Throws Error(usage) for more ranks than there is room
/// for, more nodes than most_emulated_nodes, an MTU outside of [576, 65535], or a link too slow for
/// a bucket. Cost: ranks^2 routes.
EmulationPlan plan_emulation(const Shape& shape, const EmulationOptions& options);

/// Kernel settings of every namespace: a path below /proc/sys/net and its value.
struct EmulationSetting {
  std::string path;
  std::string value;
};
std::vector<EmulationSetting> emulation_settings(const EmulationPlan& plan);

/// Batches for `ip` and `tc` in the namespace of a node: first the cables of which it is the first
/// end, where `namespace_of` names those of others; when that is done everywhere, the rest.
std::string link_batch(const EmulationPlan& plan, int node,
                       const std::function<std::string(int node)>& namespace_of);
std::string route_batch(const EmulationPlan& plan, int node);
std::string bucket_batch(const EmulationPlan& plan, int node);

/// All of it, for people.
std::string to_text(const EmulationPlan& plan);

}  // namespace tutti
