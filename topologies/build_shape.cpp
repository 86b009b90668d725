#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <unordered_map>
#include <utility>

#include "topologies/fabric.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

void check_host(const HostSpec& host) {
  require_within("cores", host.cores, 1, maximum_hosts);
  if (host.reduction_bytes_per_second) {
    const double speed = *host.reduction_bytes_per_second;
    if (!std::isfinite(speed) || speed <= 0.0) {
      throw ShapeError(
          fmt::format("the reduction speed is {} bytes/s, expected a positive number", speed));
    }
  }
  for (const double overhead : {host.send_overhead_seconds, host.receive_overhead_seconds}) {
    if (std::isfinite(overhead) && overhead >= 0.0) continue;
    throw ShapeError(
        fmt::format("the overhead of a host is {} s, expected zero or more", overhead));
  }
  if (host.loopback) require_link("loopback", *host.loopback);
}

/// Uniform from 0 to bound - 1, the same with every standard library.
std::uint64_t below(std::mt19937_64& random, std::uint64_t bound) {
  const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / bound * bound;
  std::uint64_t number = random();
  while (number >= limit) number = random();
  return number % bound;
}

/// Hosts in the order in which `cyclic` goes round them: the first of each machine, the second, ...
std::vector<int> round_the_machines(const Fabric& fabric) {
  std::vector<int> order(static_cast<std::size_t>(fabric.terminals));
  std::iota(order.begin(), order.end(), 0);
  if (fabric.machines.empty()) return order;
  std::unordered_map<int, int> devices;  // Of each machine so far.
  std::vector<int> number;
  for (const int machine : fabric.machines) number.push_back(devices[machine]++);
  std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
    return number[static_cast<std::size_t>(left)] < number[static_cast<std::size_t>(right)];
  });
  return order;
}

void check_ranks(int hosts, int cores) {
  const auto slots = std::int64_t{hosts} * cores;
  if (slots <= maximum_hosts) return;
  throw ShapeError(fmt::format("{} hosts of {} cores are {} ranks, expected at most {}", hosts,
                               cores, slots, maximum_hosts));
}

std::vector<int> in_blocks(int hosts, int cores) {
  std::vector<int> placement;
  for (int slot = 0; slot < hosts * cores; ++slot) placement.push_back(slot / cores);
  return placement;
}

/// Empty where rank r is on host r.
std::vector<int> in_rounds(const std::vector<int>& order, int cores) {
  if (cores == 1 && std::is_sorted(order.begin(), order.end())) return {};
  std::vector<int> placement;
  for (int core = 0; core < cores; ++core) {
    placement.insert(placement.end(), order.begin(), order.end());
  }
  return placement;
}

std::vector<int> listed(const std::vector<int>& list, int hosts) {
  if (list.empty()) throw ShapeError("'placement' lists no hosts, expected one for each rank");
  if (list.size() > maximum_hosts) {
    throw ShapeError(
        fmt::format("'placement' lists {} ranks, expected at most {}", list.size(), maximum_hosts));
  }
  for (std::size_t rank = 0; rank < list.size(); ++rank) {
    if (list[rank] >= 0 && list[rank] < hosts) continue;
    throw ShapeError(fmt::format("'placement' puts rank {} on host {}, expected 0 to {}", rank,
                                 list[rank], hosts - 1));
  }
  return list;
}

std::vector<int> placed(const Placement& placement, const Fabric& fabric, int cores) {
  if (placement.kind == Placement::Kind::list) return listed(placement.hosts, fabric.terminals);
  check_ranks(fabric.terminals, cores);
  if (placement.kind == Placement::Kind::cyclic) {
    return in_rounds(round_the_machines(fabric), cores);
  }
  if (placement.kind == Placement::Kind::block && cores == 1) return {};
  std::vector<int> slots = in_blocks(fabric.terminals, cores);
  if (placement.kind == Placement::Kind::block) return slots;
  std::mt19937_64 random(placement.seed);
  for (std::size_t left = slots.size(); left > 1; --left) {
    std::swap(slots[left - 1], slots[below(random, left)]);
  }
  return slots;
}

void check_shared_hosts(const Shape& shape) {
  std::vector<int> rank_of(shape.hosts.size(), -1);
  for (std::size_t rank = 0; rank < shape.placement.size(); ++rank) {
    const auto host = static_cast<std::size_t>(shape.placement[rank]);
    if (rank_of[host] >= 0) {
      throw ShapeError(
          fmt::format("'placement' puts ranks {} and {} both on {}, which has no loopback link "
                      "between them, expected "
                      "'loopback' in 'host' or one rank a host",
                      rank_of[host], rank, shape.hosts[host].name));
    }
    rank_of[host] = static_cast<int>(rank);
  }
}

/// Nodes reached from node 0, along the links or against them.
std::vector<bool> reached(const Shape& shape, bool along) {
  const auto start = [along](const Link& link) { return along ? link.from : link.to; };
  std::vector<std::size_t> offsets(shape.nodes.size() + 1, 0);
  const auto for_each_step = [&](const auto& visit) {
    for (std::size_t index = 0; index < shape.links.size(); ++index) {
      const Link& link = shape.links[index];
      const int begin = start(link);
      const int end = begin == link.from ? link.to : link.from;
      visit(begin, end);
      if (link.is_shared(static_cast<int>(index))) visit(end, begin);
    }
  };
  for_each_step([&](int begin, int) { ++offsets[static_cast<std::size_t>(begin) + 1]; });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<int> neighbours(offsets.back());
  std::vector<std::size_t> next(offsets.begin(), offsets.end() - 1);
  for_each_step(
      [&](int begin, int end) { neighbours[next[static_cast<std::size_t>(begin)]++] = end; });
  std::vector<bool> seen(shape.nodes.size(), false);
  std::vector<std::size_t> open = {0};
  seen[0] = true;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (std::size_t index = offsets[node]; index < offsets[node + 1]; ++index) {
      const auto neighbour = static_cast<std::size_t>(neighbours[index]);
      if (seen[neighbour]) continue;
      seen[neighbour] = true;
      open.push_back(neighbour);
    }
  }
  return seen;
}

void check_connected(const Shape& shape) {
  for (const bool along : {true, false}) {
    const std::vector<bool> seen = reached(shape, along);
    for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
      if (seen[host]) continue;
      throw ShapeError(fmt::format("there is no way from {} to {}",
                                   shape.hosts[along ? 0 : host].name,
                                   shape.hosts[along ? host : 0].name));
    }
  }
}

void add_loopbacks(Shape& shape, const LinkSpec& loopback) {
  const int first = static_cast<int>(shape.links.size());
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    Link link;
    link.name = shape.hosts[host].name + "-loopback";
    link.link_class = "loopback";
    link.from = link.to = static_cast<int>(host);
    link.bandwidth_bytes_per_second = loopback.bandwidth_bytes_per_second;
    link.latency_seconds = loopback.latency_seconds;
    link.overhead_seconds = loopback.overhead_seconds;
    link.opposite = static_cast<int>(shape.links.size());
    shape.links.push_back(std::move(link));
  }
  make_names_unique(shape.links);
  shape.route = [first, between = std::move(shape.route)](int from, int to) {
    return from == to ? Route{first + from} : between(from, to);
  };
}

std::string name_with_reduction(std::string name, const HostSpec& host) {
  if (!host.reduction_bytes_per_second) return name;
  const std::string text =
      fmt::format("reducing {:.6g} GB/s", *host.reduction_bytes_per_second / 1e9);
  if (!name.ends_with(')')) return fmt::format("{}, {}", name, text);
  name.pop_back();
  return fmt::format("{}, {})", name, text);
}

}  // namespace

Shape build_shape(Fabric fabric, const HostSpec& host, const Placement& placement) {
  require_within("hosts", fabric.terminals, 1, maximum_hosts);
  check_host(host);
  Shape shape;
  shape.name = name_with_reduction(std::move(fabric.name), host);
  shape.nodes = std::move(fabric.nodes);
  shape.links = std::move(fabric.links);
  shape.hosts.reserve(static_cast<std::size_t>(fabric.terminals));
  for (int index = 0; index < fabric.terminals; ++index) {
    const auto at = static_cast<std::size_t>(index);
    shape.hosts.push_back({.name = shape.nodes[at].name,
                           .reduction_bytes_per_second = host.reduction_bytes_per_second,
                           .cores = host.cores,
                           .send_overhead_seconds = host.send_overhead_seconds,
                           .receive_overhead_seconds = host.receive_overhead_seconds,
                           .machine = fabric.machines.empty() ? index : fabric.machines[at]});
  }
  shape.placement = placed(placement, fabric, host.cores);
  check_connected(shape);
  shape.route = [between = std::move(fabric.route)](int from, int to) {
    return from == to ? Route{} : between(from, to);
  };
  if (host.loopback) {
    add_loopbacks(shape, *host.loopback);
  } else {
    check_shared_hosts(shape);
  }
  return shape;
}

}  // namespace tutti
