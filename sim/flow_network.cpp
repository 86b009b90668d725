#include "sim/flow_network.hpp"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr auto is_higher = [](const auto& a, const auto& b) {
  return a.level != b.level ? a.level > b.level : a.index > b.index;
};

// Below the lowest level that a change can have reached, by more than sums are wrong.
constexpr double surely_below = 1 - 1e-6;

}  // namespace

FlowNetwork::FlowNetwork(const Shape& shape, EventQueue& queue, double window)
    : queue_(queue), window_(window), link_states_(shape.links.size()) {
  for (std::size_t link = 0; link < shape.links.size(); ++link) {
    link_states_[link].bandwidth = shape.links[link].bandwidth_bytes_per_second;
  }
}

void FlowNetwork::begin(double now_seconds, std::uint32_t flow, const Path& path, double bytes) {
  if (flow >= flows_.size()) {
    flows_.resize(std::max<std::size_t>(flow + 1, 2 * flows_.size()));
    places_.resize(flows_.size() * longest_path_);
  }
  if (path.links.size() > longest_path_) widen(path.links.size());
  Flow& state = flows_[flow];
  state.path = path;
  state.bytes = bytes;
  state.rate = 0.0;
  state.moves = false;
  const double latency = path.latency_seconds;
  state.weight = latency > 0.0 ? 1.0 / latency : 1.0;
  state.most_rate = path.bandwidth_bytes_per_second;
  if (latency > 0.0) {
    state.most_rate = std::min(state.most_rate, window_ / (2.0 * latency));
  }
  queue_.push(now_seconds + latency, {Event::Kind::flow, flow, ++state.serial});
}

bool FlowNetwork::handle(double now_seconds, const Event& event) {
  Flow& flow = flows_[event.target];
  if (flow.serial != event.serial) return false;
  if (flow.moves) {
    leave(event.target);
    return true;
  }
  flow.since_seconds = now_seconds;
  join(event.target);
  return false;
}

void FlowNetwork::cancel(std::uint32_t flow) {
  if (flow >= flows_.size()) return;
  ++flows_[flow].serial;
  if (flows_[flow].moves) leave(flow);
}

void FlowNetwork::join(std::uint32_t flow) {
  Flow& state = flows_[flow];
  state.moves = true;
  started_.push_back(flow);
  const std::span<const int> path = state.path.links;
  for (std::size_t hop = 0; hop < path.size(); ++hop) {
    const auto link = static_cast<std::size_t>(path[hop]);
    LinkState& crossed = link_states_[link];
    place(flow, hop) = static_cast<std::uint32_t>(crossed.crossings.size());
    crossed.crossings.push_back({flow, static_cast<std::uint32_t>(hop)});
    crossed.most_rates += state.most_rate;
    crossed.weights += state.weight;
    if (!crossed.changed && crossed.can_be_full()) {
      crossed.changed = true;
      changed_links_.push_back(link);
    }
  }
}

void FlowNetwork::leave(std::uint32_t flow) {
  Flow& state = flows_[flow];
  state.moves = false;
  if (state.rate > 0.0) changed_level_ = std::min(changed_level_, state.level);
  const std::span<const int> path = state.path.links;
  for (std::size_t hop = 0; hop < path.size(); ++hop) {
    const auto link = static_cast<std::size_t>(path[hop]);
    LinkState& crossed = link_states_[link];
    // The last crossing takes the place of this one.
    const std::uint32_t hole = place(flow, hop);
    const Crossing moved = crossed.crossings.back();
    crossed.crossings[hole] = moved;
    place(moved.flow, moved.hop) = hole;
    crossed.crossings.pop_back();
    const bool is_empty = crossed.crossings.empty();
    crossed.most_rates = is_empty ? 0.0 : crossed.most_rates - state.most_rate;
    crossed.weights = is_empty ? 0.0 : crossed.weights - state.weight;
    if (!crossed.changed && crossed.was_full) {
      crossed.changed = true;
      changed_links_.push_back(link);
    }
  }
}

void FlowNetwork::widen(std::size_t hops) {
  std::vector<std::uint32_t> wider(flows_.size() * hops);
  for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
    std::copy_n(places_.begin() + static_cast<std::ptrdiff_t>(flow * longest_path_), longest_path_,
                wider.begin() + static_cast<std::ptrdiff_t>(flow * hops));
  }
  places_.swap(wider);
  longest_path_ = hops;
}

void FlowNetwork::settle(double now_seconds) {
  if (started_.empty() && changed_links_.empty()) return;
  collect();
  fill();
  apply(now_seconds);
}

double FlowNetwork::least_level(const Flow& flow) const {
  double level = flow.most_rate / flow.weight;
  for (const int index : flow.path.links) {
    const LinkState& link = link_states_[static_cast<std::size_t>(index)];
    if (link.can_be_full()) level = std::min(level, link.bandwidth / link.weights);
  }
  return level;
}

void FlowNetwork::add_flow(std::uint32_t flow) {
  if (!flows_[flow].fixed) return;
  flows_[flow].fixed = false;
  set_.push_back(flow);
}

void FlowNetwork::add_link(std::size_t link) {
  LinkState& state = link_states_[link];
  if (state.listed || !state.can_be_full()) return;
  state.listed = true;
  state.free_rate = state.bandwidth;
  state.free_weight = 0.0;
  links_.push_back(link);
}

void FlowNetwork::collect() {
  for (const std::uint32_t flow : started_) {
    if (!flows_[flow].moves) continue;
    flows_[flow].level = std::numeric_limits<double>::infinity();
    changed_level_ = std::min(changed_level_, least_level(flows_[flow]));
    add_flow(flow);
  }
  const double kept_level =
      std::exchange(changed_level_, std::numeric_limits<double>::infinity()) * surely_below;
  started_.clear();
  for (const std::size_t link : changed_links_) {
    LinkState& state = link_states_[link];
    state.changed = false;
    for (const Crossing& crossing : state.crossings) {
      if (flows_[crossing.flow].level >= kept_level) add_flow(crossing.flow);
    }
    state.was_full = state.can_be_full();
  }
  changed_links_.clear();
  std::size_t next_link = 0;
  for (std::size_t i = 0; i < set_.size(); ++i) {
    for (const int link : flows_[set_[i]].path.links) add_link(static_cast<std::size_t>(link));
    for (; next_link < links_.size(); ++next_link) {
      LinkState& link = link_states_[links_[next_link]];
      for (const Crossing& crossing : link.crossings) {
        const Flow& flow = flows_[crossing.flow];
        if (flow.level >= kept_level) {
          add_flow(crossing.flow);
          link.free_weight += flow.weight;
        } else {
          link.free_rate -= flow.rate;
        }
      }
    }
  }
}

void FlowNetwork::fill() {
  if (links_.empty()) {
    for (const std::uint32_t flow : set_) fix_at_most(flow);
    return;
  }
  for (const std::uint32_t flow : set_) {
    flow_levels_.push_back({flows_[flow].most_rate / flows_[flow].weight, flow});
  }
  std::sort(flow_levels_.begin(), flow_levels_.end(),
            [](const Level& a, const Level& b) { return is_higher(b, a); });
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const LinkState& link = link_states_[links_[i]];
    link_levels_.push_back({link.free_rate / link.free_weight, i});
  }
  std::make_heap(link_levels_.begin(), link_levels_.end(), is_higher);
  // The level rises until a flow has its full rate or a link is full; what is decided at one level
  // only raises the levels at which other links are full.
  auto next_flow = flow_levels_.begin();
  while (true) {
    while (next_flow != flow_levels_.end() && flows_[next_flow->index].fixed) ++next_flow;
    if (next_flow == flow_levels_.end()) break;
    if (link_levels_.empty() || next_flow->level <= link_levels_.front().level) {
      fix_at_most(next_flow->index);
      continue;
    }
    std::pop_heap(link_levels_.begin(), link_levels_.end(), is_higher);
    Level lowest = link_levels_.back();
    LinkState& link = link_states_[links_[lowest.index]];
    const double level = std::max(link.free_rate, 0.0) / link.free_weight;
    if (link.free_weight > 0.0 && level > lowest.level * (1 + 1e-12)) {
      lowest.level = level;
      link_levels_.back() = lowest;
      std::push_heap(link_levels_.begin(), link_levels_.end(), is_higher);
      continue;
    }
    link_levels_.pop_back();
    fill_link(link, lowest.level);
  }
  flow_levels_.clear();
  link_levels_.clear();
}

void FlowNetwork::fill_link(LinkState& link, double level) {
  for (const Crossing& crossing : link.crossings) {
    const Flow& flow = flows_[crossing.flow];
    if (!flow.fixed) fix(crossing.flow, level, std::min(flow.most_rate, level * flow.weight));
  }
}

void FlowNetwork::fix_at_most(std::uint32_t flow) {
  const Flow& state = flows_[flow];
  fix(flow, state.most_rate / state.weight, state.most_rate);
}

void FlowNetwork::fix(std::uint32_t flow, double level, double rate) {
  Flow& state = flows_[flow];
  state.fixed = true;
  state.level = level;
  state.new_rate = rate;
  if (links_.empty()) return;
  for (const int index : state.path.links) {
    LinkState& link = link_states_[static_cast<std::size_t>(index)];
    if (!link.listed) continue;
    link.free_rate -= rate;
    link.free_weight -= state.weight;
  }
}

void FlowNetwork::apply(double now_seconds) {
  for (const std::uint32_t index : set_) {
    Flow& flow = flows_[index];
    if (flow.new_rate == flow.rate) continue;
    flow.bytes = std::max(flow.bytes - flow.rate * (now_seconds - flow.since_seconds), 0.0);
    flow.since_seconds = now_seconds;
    flow.rate = flow.new_rate;
    queue_.push(now_seconds + flow.bytes / flow.rate, {Event::Kind::flow, index, ++flow.serial});
  }
  set_.clear();
  for (const std::size_t link : links_) {
    link_states_[link].listed = false;
    link_states_[link].was_full = true;
  }
  links_.clear();
}

std::unique_ptr<FlowNetwork> make_flows(NetworkModel model, const Shape& shape, EventQueue& queue) {
  if (model == NetworkModel::exact) return nullptr;
  if (model == NetworkModel::window) {
    return std::make_unique<FlowNetwork>(shape, queue, window_bytes);
  }
  return std::make_unique<FlowNetwork>(shape, queue);
}

}  // namespace tutti
