// Ends for SimGrid's links, which have none of their own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "topologies/import.hpp"
#include "topologies/import_simgrid.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr int nothing = -1;

/// Points that may turn out to be the same: nodes of the graph, and junctions between links. A set
/// has at most one node.
class Points {
 public:
  explicit Points(int nodes) : nodes_(nodes), parents_(static_cast<std::size_t>(nodes)) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }

  int add_junction() {
    parents_.push_back(static_cast<int>(parents_.size()));
    return parents_.back();
  }

  /// What stands for the point's set: its node if it has one.
  int find(int point) {
    while (parent(point) != point) {
      parent(point) = parent(parent(point));
      point = parent(point);
    }
    return point;
  }

  bool is_node(int root) const { return root < nodes_; }

  /// Whether the points can be one.
  bool unify(int left, int right) {
    left = find(left);
    right = find(right);
    if (left == right) return true;
    if (is_node(left) && is_node(right)) return false;
    if (is_node(right)) std::swap(left, right);
    parent(right) = left;
    return true;
  }

 private:
  int& parent(int point) { return parents_[static_cast<std::size_t>(point)]; }

  int nodes_;
  std::vector<int> parents_;
};

/// The ends that a link has as a cable; crossing it from `first` is its first direction (UP).
struct Ends {
  int first = nothing;
  int second = nothing;
  bool is_down = false;               ///< Whether first to second is DOWN.
  bool is_crossed = false;            ///< From first to second,
  bool is_crossed_backwards = false;  ///< or from second to first.
};

class Layout {
 public:
  Layout(const std::vector<SimLink>& links, std::vector<SimWalk>& walks, GraphSpec& graph,
         ImportNotes& notes)
      : links_(links), walks_(walks), graph_(graph), notes_(notes), is_bus_(links.size(), false) {}

  void run() {
    constexpr int most_attempts = 4;
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      spread_buses();
      if (try_cables()) break;
      // In the end all links are buses, which fit everywhere.
      if (attempt + 2 >= most_attempts) is_bus_.assign(links_.size(), true);
    }
    place_junctions();
    for (SimWalk& walk : walks_) place(walk);
    add_links();
  }

 private:
  bool is_split(int link) const {
    return links_[static_cast<std::size_t>(link)].sharing == SimSharing::split_duplex;
  }

  /// A walk over several links has either only buses or only cables.
  void spread_buses() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const SimWalk& walk : walks_) {
        const auto bus = [&](const SimStep& step) {
          return bool{is_bus_[static_cast<std::size_t>(step.link)]};
        };
        if (std::none_of(walk.steps.begin(), walk.steps.end(), bus)) continue;
        for (const SimStep& step : walk.steps) {
          if (!bus(step)) changed = true;
          is_bus_[static_cast<std::size_t>(step.link)] = true;
        }
      }
      if (++spreads_ < most_spreads) continue;
      is_bus_.assign(links_.size(), true);
      return;
    }
  }

  /// Whether all links that are not buses fit in as cables; those that do not become buses.
  bool try_cables() {
    points_ = Points(static_cast<int>(graph_.nodes.size()));
    ends_.assign(links_.size(), Ends{});
    bool fits = true;
    taken_.clear();
    for (const bool only_check : {false, true}) {
      for (const SimWalk& walk : walks_) {
        if (walk.steps.empty() || is_bus_[static_cast<std::size_t>(walk.steps[0].link)]) continue;
        if (fit(walk, only_check)) continue;
        fits = false;
        for (const SimStep& step : walk.steps) is_bus_[static_cast<std::size_t>(step.link)] = true;
      }
    }
    return fits;
  }

  bool fit(const SimWalk& walk, bool only_check) {
    int at = walk.from;
    for (std::size_t index = 0; index < walk.steps.size(); ++index) {
      const bool is_last = index + 1 == walk.steps.size();
      at = cross(walk.steps[index], at, is_last ? walk.to : nothing, only_check, walk.symmetrical);
      if (at == nothing) return false;
    }
    return true;
  }

  /// The point behind the link, which is `target` if there is one; nothing if that cannot be.
  int cross(const SimStep& step, int at, int target, bool only_check, bool walk_is_symmetrical) {
    Ends& ends = ends_[static_cast<std::size_t>(step.link)];
    if (ends.first == nothing) {
      ends = {at, target == nothing ? points_.add_junction() : target, step.down};
    }
    const int from = points_.find(at);
    const int first = points_.find(ends.first);
    const int second = points_.find(ends.second);
    if (first == second) return nothing;
    const int near = nearer(ends, step, from, target);
    const bool is_forwards = near == first;
    if (is_split(step.link) && is_forwards != (step.down == ends.is_down)) return nothing;
    const int far = is_forwards ? second : first;
    if (only_check) {
      const bool arrives = target == nothing || points_.find(target) == far;
      const bool is_free =
          take(step.link, near, far) && (!walk_is_symmetrical || take(step.link, far, near));
      return near == from && arrives && is_free ? far : nothing;
    }
    if (!points_.unify(near, from)) return nothing;
    if (target != nothing && !points_.unify(far, target)) return nothing;
    return points_.find(far);
  }

  /// Whether no other link goes from one point to the other: routes are given by their nodes.
  bool take(int link, int from, int to) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
    return taken_.emplace(key, link).first->second == link;
  }

  /// The end at which the link is entered.
  int nearer(const Ends& ends, const SimStep& step, int from, int target) {
    const int first = points_.find(ends.first);
    const int second = points_.find(ends.second);
    if (from == first || from == second) return from;
    if (is_split(step.link)) return step.down == ends.is_down ? first : second;
    if (target != nothing && points_.find(target) == second) return first;
    if (target != nothing && points_.find(target) == first) return second;
    return points_.is_node(first) ? second : first;
  }

  void place_junctions() {
    nodes_of_points_.clear();
    for (const SimWalk& walk : walks_) {
      for (const SimStep& step : walk.steps) {
        const Ends& ends = ends_[static_cast<std::size_t>(step.link)];
        if (is_bus_[static_cast<std::size_t>(step.link)] || ends.first == nothing) continue;
        node_of(ends.first);
        node_of(ends.second);
      }
    }
  }

  int add_node(const std::string& name) {
    graph_.nodes.push_back({name, false});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }

  int node_of(int point) {
    const int root = points_.find(point);
    if (points_.is_node(root)) return root;
    const auto [found, added] = nodes_of_points_.try_emplace(root, nothing);
    if (added) found->second = add_node(fmt::format("junction-{}", nodes_of_points_.size()));
    return found->second;
  }

  const std::string& name(int node) const {
    return graph_.nodes[static_cast<std::size_t>(node)].name;
  }

  /// The two nodes of one direction of a link that is a bus.
  std::array<int, 2> bus_of(const SimStep& step) {
    const std::uint64_t key = (static_cast<std::uint64_t>(step.link) << 1) | (step.down ? 1U : 0U);
    const auto [found, added] = buses_.try_emplace(key);
    if (!added) return found->second;
    const SimLink& link = links_[static_cast<std::size_t>(step.link)];
    const std::string base = fmt::format("{}{}", link.name,
                                         !is_split(step.link) ? ""
                                         : step.down          ? ":down"
                                                              : ":up");
    found->second = {add_node(base + ":in"), add_node(base + ":out")};
    graph_.cables.push_back(
        {name(found->second[0]), name(found->second[1]), link.spec, link.link_class, true});
    return found->second;
  }

  void join(int from, int to) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
    if (from != to && joints_.insert(key).second) {
      graph_.cables.push_back(simgrid_joint(name(from), name(to)));
    }
  }

  /// The nodes along a walk, or along its way back.
  std::vector<int> nodes_along(const SimWalk& walk, bool backwards) {
    std::vector<SimStep> steps = walk.steps;
    if (backwards) std::reverse(steps.begin(), steps.end());
    int at = backwards ? walk.to : walk.from;
    const int end = backwards ? walk.from : walk.to;
    std::vector<int> nodes = {at};
    for (SimStep& step : steps) {
      if (is_split(step.link) && backwards) step.down = !step.down;
      if (is_bus_[static_cast<std::size_t>(step.link)]) {
        const std::array<int, 2> bus = bus_of(step);
        join(at, bus[0]);
        nodes.push_back(bus[0]);
        at = bus[1];
      } else {
        Ends& ends = ends_[static_cast<std::size_t>(step.link)];
        const int first = node_of(ends.first);
        (at == first ? ends.is_crossed : ends.is_crossed_backwards) = true;
        at = at == first ? node_of(ends.second) : first;
      }
      nodes.push_back(at);
    }
    if (at != end) {
      join(at, end);
      nodes.push_back(end);
    }
    return nodes;
  }

  void place(SimWalk& walk) {
    walk.forwards = nodes_along(walk, false);
    if (walk.symmetrical) walk.backwards = nodes_along(walk, true);
  }

  void add_links() {
    for (std::size_t index = 0; index < links_.size(); ++index) {
      const SimLink& link = links_[index];
      const Ends& ends = ends_[index];
      if (is_bus_[index] || ends.first == nothing) continue;
      if (link.sharing == SimSharing::fat_pipe) {
        notes_.suspicious(0, fmt::format("the link {} is a FATPIPE in SimGrid, messages do share "
                                         "it here",
                                         quote(link.name)));
      }
      const bool one_way = ends.is_crossed != ends.is_crossed_backwards;
      LinkSpec spec = link.spec;
      spec.shared = !one_way && link.sharing == SimSharing::shared;
      const std::string& from = name(node_of(ends.first));
      const std::string& to = name(node_of(ends.second));
      const bool turned = one_way && ends.is_crossed_backwards;
      graph_.cables.push_back(
          {turned ? to : from, turned ? from : to, spec, link.link_class, one_way});
    }
    if (joints_.empty()) return;
    notes_.assumed(0,
                   "joints of no latency and unlimited bandwidth where SimGrid's links have no "
                   "ends that fit a cable");
  }

  static constexpr int most_spreads = 16;

  const std::vector<SimLink>& links_;
  std::vector<SimWalk>& walks_;
  GraphSpec& graph_;
  ImportNotes& notes_;
  std::vector<bool> is_bus_;
  std::vector<Ends> ends_;
  Points points_{0};
  std::unordered_map<int, int> nodes_of_points_;
  std::unordered_map<std::uint64_t, std::array<int, 2>> buses_;
  std::unordered_set<std::uint64_t> joints_;
  std::unordered_map<std::uint64_t, int> taken_;  ///< By two points, the link between them.
  int spreads_ = 0;
};

}  // namespace

GraphSpec::GraphCable simgrid_joint(const std::string& from, const std::string& to) {
  constexpr double unlimited = 100e12;
  return {from, to, {unlimited, 0.0}, std::string(imported_joint_class), true};
}

void lay_out_walks(const std::vector<SimLink>& links, std::vector<SimWalk>& walks, GraphSpec& graph,
                   ImportNotes& notes) {
  Layout(links, walks, graph, notes).run();
}

}  // namespace tutti
