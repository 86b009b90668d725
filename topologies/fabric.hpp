// Fabric: nodes, links and routes between terminals; what shapes are composed of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// What a cable is like.
struct LinkSpec {
  double bandwidth_bytes_per_second = 0.0;  ///< Per direction; of both together if shared.
  double latency_seconds = 0.0;
  double overhead_seconds = 0.0;  ///< See Link.
  bool shared = false;            ///< Both directions share the bandwidth (half duplex, a bus).
};

/// What a host is like; for devices, each of them.
struct HostSpec {
  int cores = 1;
  std::optional<double> reduction_bytes_per_second = {};
  double send_overhead_seconds = 0.0;
  double receive_overhead_seconds = 0.0;
  std::optional<LinkSpec> loopback = {};  ///< Between ranks of one host.
};

/// A network between terminals, which are its first nodes. As a cluster, each terminal is a host.
/// As the outer network of a composition, terminals are where machines are plugged in.
struct Fabric {
  std::string name;  ///< For people: "torus(4x4x4, 50 GB/s, 1 us)".
  int terminals = 0;
  std::vector<Node> nodes;
  std::vector<Link> links;
  RouteFunction route;             ///< Between two different terminals.
  std::vector<int> machines = {};  ///< By terminal, its machine; empty: each is one of its own.
  /// Nodes at which an outer network can be attached, one for each of its ports.
  std::vector<int> gateways = {};
  /// Whether a message leaves by the gateway of the device that it goes to (as NCCL's PXN does)
  /// rather than by that of its sender.
  bool leaves_by_destination = false;
};

/// The most links, and the most nodes, that a fabric may have.
inline constexpr int maximum_links = 8 * maximum_hosts;

/// Adds nodes and cables to a fabric. Names are made unique by "#2", "#3", ... for parallel cables.
class FabricBuilder {
 public:
  explicit FabricBuilder(std::string name);

  /// How much is to come, which saves time and memory. Throws ShapeError for more than
  /// maximum_links links (two a cable) or nodes, as the additions do.
  void reserve(std::int64_t nodes, std::int64_t cables);

  /// Terminals first. Returns the index.
  int add_terminal(std::string name, Node::Kind kind = Node::Kind::host);
  int add_node(std::string name, Node::Kind kind = Node::Kind::fabric);

  /// A cable between two nodes. Returns the index of the link from `from` to `to`; that of the
  /// opposite direction is links()[index].opposite. Throws ShapeError for a bandwidth that is not
  /// positive, a negative latency or overhead, and anything infinite, naming the link.
  int add_cable(int from, int to, const LinkSpec& spec, std::string_view link_class);

  /// A cable of one direction only.
  int add_one_way(int from, int to, const LinkSpec& spec, std::string_view link_class);

  const std::vector<Link>& links() const { return fabric_.links; }

  /// The link in the other direction.
  int opposite(int link) const { return fabric_.links[static_cast<std::size_t>(link)].opposite; }

  /// `route` is for two different terminals.
  Fabric build(RouteFunction route) &&;

 private:
  Fabric fabric_;
};

/// Appends "#2", "#3", ... to names that an earlier link has.
void make_names_unique(std::vector<Link>& links);

enum class Metric : std::uint8_t {
  hops,     ///< The number of links.
  latency,  ///< The sum of their latencies.
};

/// Of several equal routes between two nodes, which one.
using RouteNumber = std::function<std::uint64_t(int from, int to)>;

/// Shortest routes between any two nodes. Hosts forward as little as possible: of the routes
/// through the fewest other hosts, the one of the smallest metric, then of the fewest links, then
/// through the earlier links. With a `number`, that chooses among equal ones instead: its lowest
/// digit, in the base of as many neighbours as there are, by which one the route enters `to`, the
/// next digit by which it comes there, and so on; the rest at each, modulo their number, chooses
/// among parallel cables. Failed links are not crossed. The function costs one search for each
/// source, whose result is kept for the next calls with it as far as some 64 MiB in total allow. It
/// throws ShapeError naming both nodes where there is no way.
RouteFunction shortest_routes(std::vector<Node> nodes, const std::vector<Link>& links,
                              Metric metric = Metric::hops, RouteNumber number = {});

/// Each terminal of `outer` is plugged into a gateway of a machine like `inner`: with g gateways,
/// terminals g i ... g i + g - 1 are those of machine i. Terminals of the result are the inner
/// terminals, one machine after the other: "machine-3/gpu-5", or, where g is 1 and the terminal has
/// a name of its own (not "host-3"), "west/gpu-5", unless that would be ambiguous. A message
/// between machines leaves by the gateway of its sender, t * g / (inner terminals), or that with
/// the number of its destination's (inner.leaves_by_destination), and comes in by its
/// destination's. Inside it takes shortest routes; to another gateway than the sender's, by way of
/// the device there with the number of the destination unless that crosses more links. The result's
/// gateways are those outer nodes that were outer's gateways. Throws ShapeError unless g divides
/// outer.terminals and the inner fabric has gateways, no more than terminals, and where different
/// rails do not reach each other but machines do not leave by destination.
Fabric compose(const Fabric& outer, const Fabric& inner);

/// Which host runs which rank; a host has as many slots as cores.
struct Placement {
  enum class Kind : std::uint8_t {
    block,   ///< Fills one host, then the next.
    cyclic,  ///< One rank a machine, on its first device; then on the second ones of each; when
             ///< all devices have a rank, a second one of each in the same order.
    list,    ///< `hosts`, one a rank; a host may come more than once.
    random,  ///< block's slots in random order of `seed`, the same on every machine.
  };

  Kind kind = Kind::block;
  std::vector<int> hosts = {};
  std::uint64_t seed = 0;
};

/// The fabric as a cluster: a host for each terminal. Throws ShapeError for more than maximum_hosts
/// hosts or ranks, a list that names no host, ranks that share a host without a loopback, and hosts
/// that cannot reach each other.
Shape build_shape(Fabric fabric, const HostSpec& host = {}, const Placement& placement = {});

}  // namespace tutti
