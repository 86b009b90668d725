#include "topologies/analysis.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "topologies/max_flow.hpp"

namespace tutti {
namespace {

constexpr int most_exhaustive_hosts = 1024;
constexpr int sampled_sources = 64;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool has_ends(const Shape& shape) {
  return std::all_of(shape.links.begin(), shape.links.end(),
                     [](const Link& link) { return link.from >= 0; });
}

Node::Kind kind_of(const Shape& shape, int node) {
  return shape.nodes[at(node)].kind;
}

struct Farthest {
  int from = 0;
  int to = 0;
};

/// Of a very large shape, or one with long routes, every few hosts are a target.
int stride_of_targets(const Shape& shape, int hosts, int sources) {
  constexpr double most_routes = 1e6, most_links = 1e8;
  const auto links = static_cast<double>(shape.route(0, hosts / 2).size());
  const double targets = std::min(most_routes, most_links / std::max(links, 1.0)) / sources;
  return std::max(1, static_cast<int>(hosts / std::max(targets, 1.0)));
}

/// Fills in what routes tell; returns the pair with the longest.
Farthest measure_routes(const Shape& shape, ShapeSummary& summary) {
  const int hosts = summary.hosts;
  summary.sampled = hosts > most_exhaustive_hosts;
  const int sources = summary.sampled ? sampled_sources : hosts;
  const int stride = summary.sampled ? stride_of_targets(shape, hosts, sources) : 1;
  Farthest farthest;
  double total = 0.0;
  long long pairs = 0;
  const auto measure = [&](int from, int to, bool counts) {
    if (to == from) return;
    const Route route = shape.route(from, to);
    const int links = static_cast<int>(route.size());
    if (links > summary.diameter_links) farthest = {from, to};
    summary.diameter_links = std::max(summary.diameter_links, links);
    summary.largest_latency_seconds =
        std::max(summary.largest_latency_seconds, shape.latency_seconds(route));
    if (!counts) return;
    total += links;
    ++pairs;
  };
  for (int source = 0; source < sources; ++source) {
    const int from = static_cast<int>(static_cast<long long>(source) * hosts / sources);
    for (int to = 0; to < hosts; to += stride) measure(from, to, true);
    // The last one, and where hosts are numbered round a ring or along digits the farthest.
    if (stride > 1) measure(from, hosts - 1, false);
    if (stride > 1) measure(from, (from + hosts / 2) % hosts, false);
  }
  if (pairs > 0) summary.mean_links = total / static_cast<double>(pairs);
  return farthest;
}

/// Splits machines, so that none is cut in two.
struct Halving {
  int stride;  ///< Machine m is in the first half where (m / stride) mod size < size / 2.
  int size;
};

std::vector<Halving> halvings_of(int machines) {
  std::vector<Halving> halvings = {{1, machines}};
  if (machines > most_exhaustive_hosts) return halvings;
  for (int stride = 1; stride < machines; ++stride) {
    if (machines % stride != 0) continue;
    for (int size = 2; size * stride <= machines; ++size) {
      const bool is_digit = machines / stride % size == 0;
      if (is_digit && (stride != 1 || size != machines)) halvings.push_back({stride, size});
    }
  }
  return halvings;
}

/// What the links of each part's hosts can carry away.
std::vector<double> capacities_of(const Shape& shape, const std::vector<int>& parts, int count) {
  std::vector<double> capacities(at(count));
  for (const Link& link : shape.links) {
    const bool leaves_host = !link.failed && at(link.from) < shape.hosts.size();
    if (leaves_host) capacities[at(parts[at(link.from)])] += link.bandwidth_bytes_per_second;
  }
  return capacities;
}

/// Sets of parts, true for the first half, of all ways to halve a few.
std::vector<std::vector<bool>> all_halves(int parts) {
  std::vector<std::vector<bool>> halves;
  for (unsigned mask = 0; mask < 1u << parts; ++mask) {
    if (std::popcount(mask) != parts / 2) continue;
    std::vector<bool>& half = halves.emplace_back();
    for (int part = 0; part < parts; ++part) half.push_back((mask >> part & 1u) != 0);
  }
  return halves;
}

std::vector<std::vector<bool>> regular_halves(int parts, const std::vector<double>& capacities) {
  std::vector<std::vector<bool>> halves;
  for (const Halving halving : halvings_of(parts)) {
    std::vector<bool>& half = halves.emplace_back();
    for (int part = 0; part < parts; ++part) {
      half.push_back(part / halving.stride % halving.size < halving.size / 2);
    }
  }
  // Those with the narrowest cables against the others, where cables differ.
  std::vector<int> order(at(parts));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
    return capacities[at(left)] < capacities[at(right)];
  });
  if (capacities[at(order.front())] < capacities[at(order.back())]) {
    std::vector<bool>& half = halves.emplace_back(at(parts), false);
    for (int i = 0; i < parts / 2; ++i) half[at(order[at(i)])] = true;
  }
  return halves;
}

double bisection_of(const Shape& shape, int machines) {
  constexpr int most_tried = 10;  // All of whose halves are tried.
  const FlowNetwork network(shape, [&](int link) {
    return std::llround(shape.links[at(link)].bandwidth_bytes_per_second);
  });
  // A machine alone: its devices are what can be halved.
  const bool by_host = machines == 1;
  const int count = by_host ? static_cast<int>(shape.hosts.size()) : machines;
  std::vector<int> parts;
  for (int host = 0; host < static_cast<int>(shape.hosts.size()); ++host) {
    parts.push_back(by_host ? host : shape.hosts[at(host)].machine);
  }
  const auto halves = count <= most_tried
                          ? all_halves(count)
                          : regular_halves(count, capacities_of(shape, parts, count));
  long long smallest = std::numeric_limits<long long>::max();
  for (const std::vector<bool>& half : halves) {
    std::vector<int> first, second;
    for (int host = 0; host < static_cast<int>(shape.hosts.size()); ++host) {
      (half[at(parts[at(host)])] ? first : second).push_back(host);
    }
    // A digit of odd size divides the hosts badly.
    if (second.size() - first.size() > shape.hosts.size() / at(count)) continue;
    smallest = std::min(smallest, network.maximum_flow(first, second));
  }
  return static_cast<double>(smallest);
}

/// What all cables between hosts or NICs and switches can carry away from the machines.
double injection_of(const Shape& shape) {
  double sum = 0.0;
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    if (link.failed) continue;
    const auto leaves = [&](int from, int to) {
      const Node::Kind kind = kind_of(shape, from);
      return (kind == Node::Kind::host || kind == Node::Kind::nic) &&
             kind_of(shape, to) == Node::Kind::fabric;
    };
    const bool is_shared = link.is_shared(static_cast<int>(index));
    if (leaves(link.from, link.to) || (is_shared && leaves(link.to, link.from))) {
      sum += link.bandwidth_bytes_per_second;
    }
  }
  return sum;
}

int diversity_of(const Shape& shape, Farthest pair) {
  constexpr long long unlimited = 1'000'000;
  // What lies between a host of the pair and its machine's NICs, or its own cable to a switch.
  const auto is_end = [pair](int node) { return node == pair.from || node == pair.to; };
  const auto is_inside = [&](int node) {
    const Node::Kind kind = kind_of(shape, node);
    return is_end(node) || kind == Node::Kind::nic || kind == Node::Kind::bridge;
  };
  const auto is_host = [&](int node) { return kind_of(shape, node) == Node::Kind::host; };
  const FlowNetwork network(shape, [&](int index) {
    const Link& link = shape.links[at(index)];
    const bool is_own_cable =
        (is_end(link.from) && !is_host(link.to)) || (is_end(link.to) && !is_host(link.from));
    const bool is_direct = is_end(link.from) && is_end(link.to);
    const bool is_within = is_inside(link.from) && is_inside(link.to) && !is_direct;
    return is_own_cable || is_within ? unlimited : 1LL;
  });
  const long long routes = network.maximum_flow({pair.from}, {pair.to});
  // Both on one switch.
  return static_cast<int>(routes >= unlimited ? 1 : routes);
}

/// Those that a link leads to, unless the shape's links have no ends.
int switches_of(const Shape& shape) {
  std::vector<bool> is_reached(shape.nodes.size(), !has_ends(shape));
  for (const Link& link : shape.links) {
    if (!link.failed && link.to >= 0) is_reached[at(link.from)] = is_reached[at(link.to)] = true;
  }
  int switches = 0;
  for (std::size_t node = 0; node < shape.nodes.size(); ++node) {
    if (is_reached[node] && shape.nodes[node].kind == Node::Kind::fabric) ++switches;
  }
  return switches;
}

}  // namespace

std::vector<LinkClassSummary> classes_of(const Shape& shape) {
  std::vector<LinkClassSummary> classes;
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    if (link.failed) continue;
    // The other direction of a cable that was counted.
    if (link.opposite >= 0 && at(link.opposite) < index) continue;
    auto found = std::find_if(classes.begin(), classes.end(), [&](const LinkClassSummary& known) {
      return known.link_class == link.link_class;
    });
    if (found == classes.end()) {
      found = classes.insert(
          found, {link.link_class, link.name, 0, link.bandwidth_bytes_per_second,
                  link.bandwidth_bytes_per_second, link.latency_seconds, link.latency_seconds});
    }
    ++found->cables;
    const auto widen = [](double& smallest, double& largest, double value) {
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    };
    widen(found->smallest_bandwidth_bytes_per_second, found->largest_bandwidth_bytes_per_second,
          link.bandwidth_bytes_per_second);
    widen(found->smallest_latency_seconds, found->largest_latency_seconds, link.latency_seconds);
  }
  return classes;
}

ShapeSummary summarise(const Shape& shape) {
  ShapeSummary summary;
  summary.hosts = static_cast<int>(shape.hosts.size());
  for (const Host& host : shape.hosts) summary.machines = std::max(summary.machines, host.machine);
  ++summary.machines;
  summary.switches = switches_of(shape);
  summary.classes = classes_of(shape);
  if (summary.hosts < 2) return summary;
  const Farthest farthest = measure_routes(shape, summary);
  if (!has_ends(shape)) return summary;
  summary.bisection_bytes_per_second = bisection_of(shape, summary.machines);
  const double injection = injection_of(shape);
  if (injection > 0.0 && summary.machines > 1) {
    summary.oversubscription = injection / 2 / summary.bisection_bytes_per_second;
  }
  summary.path_diversity = diversity_of(shape, farthest);
  return summary;
}

}  // namespace tutti
