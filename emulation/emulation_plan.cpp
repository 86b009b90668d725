#include "emulation/emulation_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "collectives/error.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

// A packet that takes less on the wire is sent too late too often: timers are not that exact.
constexpr double shortest_packet_seconds = 40e-6;
constexpr int usual_mtu_bytes[] = {1500, 9000, 65535};
constexpr int smallest_mtu_bytes = 576;
constexpr int largest_mtu_bytes = 65535;
// The kernel counts a bucket's burst in 32 bits of 64 ns.
constexpr double slowest_bytes_per_second = 1e3;
constexpr double window_seconds = 20e-3;
constexpr int smallest_window_bytes = 128 << 10;
constexpr int largest_window_bytes = 4 << 20;
constexpr std::int64_t largest_queue_bytes = std::int64_t{1} << 30;
// Of one pair of ranks: lanes, and what the kernel counts beyond the payload.
constexpr std::int64_t windows_per_pair = 4;

// Where the packets of each source leave for a destination.
using CableOfSource = std::map<int, int>;

class Planner {
 public:
  Planner(const Shape& shape, const EmulationOptions& options)
      : shape_(shape), ranks_(options.ranks == 0 ? shape.size() : options.ranks) {
    if (ranks_ < 1 || ranks_ > shape.size()) {
      throw Error(ErrorKind::usage, fmt::format("{} ranks, {} has room for 1 to {}", ranks_,
                                                shape.name, shape.size()));
    }
    plan_.title = shape.name;
    add_hosts();
    walk_routes();
    settle_packets(options.mtu_bytes);
    settle_queues();
    settle_routes();
    note_omissions();
  }

  EmulationPlan take() { return std::move(plan_); }

 private:
  void add_hosts();
  int node_of(int shape_node);
  void walk_routes();
  int cable_of(int link_index, int from_node);
  void settle_packets(int mtu_bytes);
  void settle_queues();
  void settle_routes();
  void note_omissions();

  const Link& link(int index) const { return shape_.links[static_cast<std::size_t>(index)]; }

  EmulatedNode& node(int index) { return plan_.nodes[static_cast<std::size_t>(index)]; }

  const Shape& shape_;
  const int ranks_;
  EmulationPlan plan_;
  std::map<int, int> nodes_;                                    // By the shape's.
  std::map<int, int> cables_;                                   // By the lower link of a cable.
  std::map<std::pair<int, int>, CableOfSource> next_;           // By node and destination.
  std::map<std::pair<int, int>, std::int64_t> pairs_crossing_;  // By cable and end.
};

void Planner::add_hosts() {
  for (int rank = 0; rank < ranks_; ++rank) {
    const int index = node_of(shape_.host_of(rank));
    node(index).ranks.push_back(rank);
    node(index).address =
        fmt::format("10.{}.{}.{}", (index + 1) >> 16, (index + 1) >> 8 & 255, (index + 1) & 255);
    plan_.node_of_rank.push_back(index);
  }
}

int Planner::node_of(int shape_node) {
  const auto [found, added] = nodes_.try_emplace(shape_node, static_cast<int>(plan_.nodes.size()));
  if (added) {
    if (plan_.nodes.size() == most_emulated_nodes) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} with {} ranks has more than {} hosts and switches between them, "
                              "too many for one machine; try fewer ranks",
                              shape_.name, ranks_, most_emulated_nodes));
    }
    plan_.nodes.push_back({.name = shape_.nodes[static_cast<std::size_t>(shape_node)].name,
                           .address = {},
                           .ranks = {}});
  }
  return found->second;
}

void Planner::walk_routes() {
  const int hosts = static_cast<int>(plan_.nodes.size());
  std::vector<int> shape_hosts(static_cast<std::size_t>(hosts));
  for (const auto& [shape_node, index] : nodes_) {
    shape_hosts[static_cast<std::size_t>(index)] = shape_node;
  }
  for (int source = 0; source < hosts; ++source) {
    for (int destination = 0; destination < hosts; ++destination) {
      if (source == destination) continue;
      const int from = shape_hosts[static_cast<std::size_t>(source)];
      const Route route = shape_.route(from, shape_hosts[static_cast<std::size_t>(destination)]);
      plan_.longest_latency_seconds =
          std::max(plan_.longest_latency_seconds, shape_.latency_seconds(route));
      const auto pairs =
          static_cast<std::int64_t>(node(source).ranks.size() * node(destination).ranks.size());
      int at = from;
      for (const int index : route) {
        const int here = node_of(at);
        const int cable = cable_of(index, at);
        const int end = plan_.cables[static_cast<std::size_t>(cable)].ends[0].node == here ? 0 : 1;
        pairs_crossing_[{cable, end}] += pairs;
        next_[{here, destination}][source] = cable;
        at = link(index).from == at ? link(index).to : link(index).from;
      }
    }
  }
}

int Planner::cable_of(int link_index, int from_node) {
  const Link& crossed = link(link_index);
  check(crossed.from == from_node || (crossed.is_shared(link_index) && crossed.to == from_node),
        "a route of {} crosses link {}, which does not leave node {}", shape_.name, crossed.name,
        from_node);
  if (crossed.bandwidth_bytes_per_second < slowest_bytes_per_second) {
    throw Error(ErrorKind::usage,
                fmt::format("link {} has {}, a token bucket needs at least {}", crossed.name,
                            format_bandwidth(crossed.bandwidth_bytes_per_second),
                            format_bandwidth(slowest_bytes_per_second)));
  }
  const int key = crossed.opposite < 0 ? link_index : std::min(link_index, crossed.opposite);
  const int from = node_of(crossed.from), to = node_of(crossed.to);
  const auto [found, added] = cables_.try_emplace(key, static_cast<int>(plan_.cables.size()));
  if (!added) return found->second;
  EmulatedCable cable{.device = fmt::format("c{}", found->second), .ends = {}};
  cable.ends[0] = {.node = from, .bandwidth_bytes_per_second = crossed.bandwidth_bytes_per_second};
  cable.ends[1].node = to;
  if (crossed.opposite >= 0) {
    cable.ends[1].bandwidth_bytes_per_second = link(crossed.opposite).bandwidth_bytes_per_second;
  }
  plan_.cables.push_back(cable);
  return found->second;
}

void Planner::settle_packets(int mtu_bytes) {
  double fastest = 0.0;
  for (const EmulatedCable& cable : plan_.cables) {
    for (const EmulatedEnd& end : cable.ends) {
      fastest = std::max(fastest, end.bandwidth_bytes_per_second);
    }
  }
  plan_.mtu_bytes = mtu_bytes;
  if (mtu_bytes == 0) {
    const auto chosen =
        std::find_if(std::begin(usual_mtu_bytes), std::end(usual_mtu_bytes) - 1,
                     [&](int usual) { return usual >= shortest_packet_seconds * fastest; });
    plan_.mtu_bytes = *chosen;
  } else if (mtu_bytes < smallest_mtu_bytes || mtu_bytes > largest_mtu_bytes) {
    throw Error(ErrorKind::usage, fmt::format("an MTU of {} bytes, expected {} to {}", mtu_bytes,
                                              smallest_mtu_bytes, largest_mtu_bytes));
  }
  plan_.window_bytes = static_cast<int>(std::clamp(fastest * window_seconds,
                                                   static_cast<double>(smallest_window_bytes),
                                                   static_cast<double>(largest_window_bytes)));
  plan_.window_bytes = std::max(plan_.window_bytes, 4 * plan_.mtu_bytes);
}

void Planner::settle_queues() {
  for (std::size_t index = 0; index < plan_.cables.size(); ++index) {
    for (int end = 0; end < 2; ++end) {
      const auto crossing = pairs_crossing_.find({static_cast<int>(index), end});
      const std::int64_t pairs = crossing == pairs_crossing_.end() ? 1 : crossing->second;
      plan_.cables[index].ends[static_cast<std::size_t>(end)].queue_bytes =
          std::min(largest_queue_bytes, pairs * windows_per_pair * plan_.window_bytes);
    }
  }
}

// The cable that most sources share, or that of the node's own packets, needs no source.
void Planner::settle_routes() {
  for (const auto& [place, cables] : next_) {
    const auto [here, destination] = place;
    std::map<int, int> votes;
    for (const auto& [source, cable] : cables) ++votes[cable];
    int usual = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
    if (const auto own = cables.find(here); own != cables.end()) usual = own->second;
    plan_.routes.push_back({.node = here, .destination = destination, .cable = usual});
    for (const auto& [source, cable] : cables) {
      if (cable == usual) continue;
      plan_.routes.push_back(
          {.node = here, .destination = destination, .source = source, .cable = cable});
    }
  }
}

void Planner::note_omissions() {
  std::set<std::string> shared;
  for (const auto& [key, cable] : cables_) {
    if (link(key).is_shared(key)) shared.insert(link(key).name);
  }
  if (!shared.empty()) {
    plan_.omissions.push_back(
        fmt::format("shared links ({}{}) have their bandwidth in each direction", *shared.begin(),
                    shared.size() == 1 ? "" : fmt::format(" and {} more", shared.size() - 1)));
  }
  if (std::any_of(plan_.nodes.begin(), plan_.nodes.end(),
                  [](const EmulatedNode& node) { return node.ranks.size() > 1; })) {
    plan_.omissions.push_back("ranks on the same host talk at the speed of this machine's memory");
  }
  if (std::any_of(shape_.hosts.begin(), shape_.hosts.end(), [](const Host& host) {
        return host.reduction_bytes_per_second || host.send_overhead_seconds > 0.0 ||
               host.receive_overhead_seconds > 0.0 || host.speed != 1.0;
      })) {
    plan_.omissions.push_back(
        "reductions, overheads and speeds of hosts are those of this machine");
  }
}

}  // namespace

EmulationPlan plan_emulation(const Shape& shape, const EmulationOptions& options) {
  return Planner(shape, options).take();
}

}  // namespace tutti
