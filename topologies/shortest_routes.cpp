#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "topologies/fabric.hpp"

namespace tutti {
namespace {

/// Results of searches that are kept have this size in total, or there is only one.
constexpr std::size_t kept_bytes = std::size_t{1} << 26;

/// What a way to a node costs, the most important first. Femtoseconds are whole, so that sums below
/// some seconds do not depend on the order.
struct Cost {
  int hosts = std::numeric_limits<int>::max();  ///< That forward it.
  double femtoseconds = 0.0;
  int links = 0;

  auto operator<=>(const Cost&) const = default;
};

struct Ends {
  int from = 0;
  int to = 0;
  double femtoseconds = 0.0;  ///< 0 unless the metric is latency.
};

/// From one node to another, or to one from another.
struct Step {
  int link = 0;
  int node = 0;  ///< The other one.
};

/// The steps of each node, in the order of their links.
class Steps {
 public:
  Steps() = default;

  Steps(std::size_t nodes, const std::vector<Link>& links, bool forth) {
    first_.assign(nodes + 1, 0);
    for_each(links, forth, [&](int node, Step) { ++first_[static_cast<std::size_t>(node) + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    steps_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for_each(links, forth,
             [&](int node, Step step) { steps_[next[static_cast<std::size_t>(node)]++] = step; });
  }

  std::span<const Step> of(int node) const {
    const auto at = static_cast<std::size_t>(node);
    return std::span(steps_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

 private:
  template <typename Visit>
  static void for_each(const std::vector<Link>& links, bool forth, const Visit& visit) {
    for (std::size_t index = 0; index < links.size(); ++index) {
      const Link& link = links[index];
      const int number = static_cast<int>(index);
      if (link.failed || link.from < 0 || link.to < 0 || link.from == link.to) continue;
      const int begin = forth ? link.from : link.to, end = forth ? link.to : link.from;
      visit(begin, Step{number, end});
      if (link.is_shared(number)) visit(end, Step{number, begin});
    }
  }

  std::vector<std::size_t> first_;  ///< By node, in steps_; one more at the end.
  std::vector<Step> steps_;
};

struct Candidate {
  Cost cost;
  std::size_t number = 0;  ///< Of equal costs, the one found first.
  int node = 0;

  bool operator>(const Candidate& other) const {
    return cost != other.cost ? cost > other.cost : number > other.number;
  }
};

/// How each node is reached from one source.
struct Tree {
  int source = -1;
  std::vector<int> links;   ///< The last link; -1 at the source and where there is no way.
  std::vector<Cost> costs;  ///< Empty unless routes are spread.
};

class Router {
 public:
  Router(std::vector<Node> nodes, const std::vector<Link>& links, Metric metric, RouteNumber number)
      : nodes_(std::move(nodes)),
        number_(std::move(number)),
        forth_(nodes_.size(), links, true),
        back_(number_ ? Steps(nodes_.size(), links, false) : Steps()) {
    for (const Link& link : links) {
      const double seconds = metric == Metric::latency ? link.latency_seconds : 0.0;
      ends_.push_back({link.from, link.to, std::round(seconds * 1e15)});
    }
    if (number_) visited_.resize(nodes_.size(), 0);
    const std::size_t count = std::max<std::size_t>(nodes_.size(), 1);
    const std::size_t bytes = sizeof(int) + (number_ ? sizeof(Cost) : 0);
    kept_.resize(std::clamp<std::size_t>(kept_bytes / bytes / count, 1, count));
  }

  Route route(int from, int to) {
    if (from == to) return {};
    const Tree& tree = tree_of(from);
    if (tree.links[static_cast<std::size_t>(to)] < 0) throw_no_way(from, to);
    Route reversed;
    std::uint64_t number = number_ ? number_(from, to) : 0;
    for (int node = to; node != from;) {
      const int index =
          number_ ? link_to(node, tree, number) : tree.links[static_cast<std::size_t>(node)];
      reversed.push_back(index);
      const Ends& ends = ends_[static_cast<std::size_t>(index)];
      node = ends.to == node ? ends.from : ends.to;
    }
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }

 private:
  [[noreturn]] void throw_no_way(int from, int to) const {
    throw ShapeError(fmt::format("there is no way from {} to {}",
                                 nodes_[static_cast<std::size_t>(from)].name,
                                 nodes_[static_cast<std::size_t>(to)].name));
  }

  /// The last link of one of the shortest ways to a node. The number's lowest digit tells by which
  /// neighbour and is taken off; the next tells which of its parallel cables and stays, so that a
  /// way takes cables of the same number wherever there are parallel ones.
  int link_to(int node, const Tree& tree, std::uint64_t& number) {
    std::vector<Step> shortest;
    std::vector<int> neighbours;
    ++visit_;
    for (const Step& step : back_.of(node)) {
      const Cost& before = tree.costs[static_cast<std::size_t>(step.node)];
      if (before == Cost{} || after(before, step.node, tree.source, step.link) !=
                                  tree.costs[static_cast<std::size_t>(node)]) {
        continue;
      }
      shortest.push_back(step);
      std::uint64_t& visited = visited_[static_cast<std::size_t>(step.node)];
      if (visited != visit_) neighbours.push_back(step.node);
      visited = visit_;
    }
    const int neighbour = neighbours[number % neighbours.size()];
    number /= neighbours.size();
    std::erase_if(shortest, [neighbour](const Step& step) { return step.node != neighbour; });
    return shortest[number % shortest.size()].link;
  }

  const Tree& tree_of(int source) {
    Tree& tree = kept_[static_cast<std::size_t>(source) % kept_.size()];
    if (tree.source == source) return tree;
    search(source, tree);
    return tree;
  }

  Cost after(Cost cost, int node, int source, int link) const {
    const bool forwards =
        node != source && nodes_[static_cast<std::size_t>(node)].kind == Node::Kind::host;
    cost.hosts += forwards ? 1 : 0;
    cost.femtoseconds += ends_[static_cast<std::size_t>(link)].femtoseconds;
    ++cost.links;
    return cost;
  }

  void search(int source, Tree& tree) const {
    tree.source = -1;
    tree.links.assign(nodes_.size(), -1);
    std::vector<Cost> best(nodes_.size());
    std::vector<bool> done(nodes_.size(), false);
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> open;
    best[static_cast<std::size_t>(source)] = {0, 0.0, 0};
    open.push({{0, 0.0, 0}, 0, source});
    for (std::size_t number = 1; !open.empty();) {
      const Candidate candidate = open.top();
      open.pop();
      const auto node = static_cast<std::size_t>(candidate.node);
      if (done[node]) continue;
      done[node] = true;
      for (const Step& step : forth_.of(candidate.node)) {
        const auto to = static_cast<std::size_t>(step.node);
        const Cost cost = after(candidate.cost, candidate.node, source, step.link);
        if (done[to] || cost >= best[to]) continue;
        best[to] = cost;
        tree.links[to] = step.link;
        open.push({cost, number++, step.node});
      }
    }
    if (number_) tree.costs = std::move(best);
    tree.source = source;
  }

  std::vector<Node> nodes_;
  RouteNumber number_;
  std::vector<Ends> ends_;  ///< Of each link.
  Steps forth_;
  Steps back_;                          ///< Empty unless routes are spread.
  std::vector<std::uint64_t> visited_;  ///< By node, the last visit in which it was a neighbour.
  std::uint64_t visit_ = 0;
  std::vector<Tree> kept_;  ///< That of a source, if it is kept, at the source's number modulo.
};

}  // namespace

RouteFunction shortest_routes(std::vector<Node> nodes, const std::vector<Link>& links,
                              Metric metric, RouteNumber number) {
  const auto router = std::make_shared<Router>(std::move(nodes), links, metric, std::move(number));
  return [router](int from, int to) { return router->route(from, to); };
}

}  // namespace tutti
