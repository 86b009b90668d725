#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "topologies/fabric.hpp"

namespace tutti {
namespace {

/// Results of searches that are kept have this many entries in total, or there is only one.
constexpr std::size_t kept_entries = std::size_t{1} << 24;

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

struct Step {
  int link = 0;
  int to = 0;
};

struct Candidate {
  Cost cost;
  std::size_t number = 0;  ///< Of equal costs, the one found first.
  int node = 0;

  bool operator>(const Candidate& other) const {
    return cost != other.cost ? cost > other.cost : number > other.number;
  }
};

/// The link by which each node is reached from one source; -1 at the source and where there is no
/// way.
struct Tree {
  int source = -1;
  std::vector<int> links;
};

class Router {
 public:
  Router(std::vector<Node> nodes, const std::vector<Link>& links, Metric metric)
      : nodes_(std::move(nodes)) {
    for (const Link& link : links) {
      const double seconds = metric == Metric::latency ? link.latency_seconds : 0.0;
      ends_.push_back({link.from, link.to, std::round(seconds * 1e15)});
    }
    collect_steps(links);
    const std::size_t count = std::max<std::size_t>(nodes_.size(), 1);
    kept_.resize(std::clamp<std::size_t>(kept_entries / count, 1, count));
  }

  Route route(int from, int to) {
    if (from == to) return {};
    const Tree& tree = tree_of(from);
    Route reversed;
    for (int node = to; node != from;) {
      const int index = tree.links[static_cast<std::size_t>(node)];
      if (index < 0) throw_no_way(from, to);
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

  template <typename Visit>
  static void for_each_step(const std::vector<Link>& links, const Visit& visit) {
    for (std::size_t index = 0; index < links.size(); ++index) {
      const Link& link = links[index];
      const int number = static_cast<int>(index);
      if (link.failed || link.from < 0 || link.to < 0 || link.from == link.to) continue;
      visit(link.from, Step{number, link.to});
      if (link.is_shared(number)) visit(link.to, Step{number, link.from});
    }
  }

  void collect_steps(const std::vector<Link>& links) {
    first_step_.assign(nodes_.size() + 1, 0);
    for_each_step(links,
                  [&](int from, Step) { ++first_step_[static_cast<std::size_t>(from) + 1]; });
    std::partial_sum(first_step_.begin(), first_step_.end(), first_step_.begin());
    steps_.resize(first_step_.back());
    std::vector<std::size_t> next(first_step_.begin(), first_step_.end() - 1);
    for_each_step(
        links, [&](int from, Step step) { steps_[next[static_cast<std::size_t>(from)]++] = step; });
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
      for (std::size_t index = first_step_[node]; index < first_step_[node + 1]; ++index) {
        const Step step = steps_[index];
        const auto to = static_cast<std::size_t>(step.to);
        const Cost cost = after(candidate.cost, candidate.node, source, step.link);
        if (done[to] || cost >= best[to]) continue;
        best[to] = cost;
        tree.links[to] = step.link;
        open.push({cost, number++, step.to});
      }
    }
    tree.source = source;
  }

  std::vector<Node> nodes_;
  std::vector<Ends> ends_;               ///< Of each link.
  std::vector<std::size_t> first_step_;  ///< By node, in steps_; one more at the end.
  std::vector<Step> steps_;
  std::vector<Tree> kept_;  ///< That of a source, if it is kept, at the source's number modulo.
};

}  // namespace

RouteFunction shortest_routes(std::vector<Node> nodes, const std::vector<Link>& links,
                              Metric metric) {
  const auto router = std::make_shared<Router>(std::move(nodes), links, metric);
  return [router](int from, int to) { return router->route(from, to); };
}

}  // namespace tutti
