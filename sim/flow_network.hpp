// FlowNetwork: flows that share the links of a shape, as a fluid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// The model of SimGrid's CM02 without its corrections: a flow waits for the latency of its route,
/// then moves bytes at a rate that is max-min fair with weights 1 / latency (1 for a route without
/// latency): all flows through a link that is full have the same rate times latency, unless another
/// link, or the bandwidth of their route, holds them back more.
///
/// Rates are found anew when flows begin or end, for those flows only that links which cannot give
/// everyone its full rate connect to them, and of these for those only whose level, rate over
/// weight, is not below the levels of what began or ended: as the levels of all rise together, up
/// to there nothing has changed. A flow that meets no other costs its route's length.
class FlowNetwork {
 public:
  /// A flow has at most `window` bytes under way in a round trip. Shape and queue outlive it.
  FlowNetwork(const Shape& shape, EventQueue& queue,
              double window = std::numeric_limits<double>::infinity());

  struct Path {
    std::span<const int> links;  ///< Outlives the flow.
    double latency_seconds = 0.0;
    double bandwidth_bytes_per_second = 0.0;
  };

  /// Begins a flow, whose number is the caller's; numbers are small and used again.
  void begin(double now_seconds, std::uint32_t flow, const Path& path, double bytes);

  /// Acts on an event of kind flow. Returns whether the flow has ended.
  bool handle(double now_seconds, const Event& event);

  /// Gives up a flow, if it has begun and not ended.
  void cancel(std::uint32_t flow);

  /// To be called when all that happens now has happened: finds the new rates.
  void settle(double now_seconds);

 private:
  struct Flow {
    Path path;
    double bytes = 0.0;  ///< Left at since_seconds.
    double since_seconds = 0.0;
    double rate = 0.0;
    double new_rate = 0.0;
    double most_rate = 0.0;
    double weight = 1.0;
    double level = 0.0;        ///< At which its rate was found.
    std::uint32_t serial = 0;  ///< Of the event that is awaited.
    bool moves = false;        ///< Beyond its latency.
    bool fixed = true;         ///< Its new rate is found.
  };

  /// A flow and the position of a link in its path.
  struct Crossing {
    std::uint32_t flow = 0;
    std::uint32_t hop = 0;
  };

  struct LinkState {
    double bandwidth = 0.0;
    double most_rates = 0.0;  ///< Of its flows, together,
    double weights = 0.0;     ///< and so are these.
    std::vector<Crossing> crossings;
    bool was_full = false;  ///< When rates were found last.
    bool changed = false;   ///< Listed in changed_links_.
    bool listed = false;    ///< In links_.
    double free_rate = 0.0;
    double free_weight = 0.0;

    bool can_be_full() const { return most_rates > bandwidth * (1 + 1e-9); }
  };

  /// The level, rate over weight, at which something is reached.
  struct Level {
    double level = 0.0;
    std::uint32_t index = 0;
  };

  void join(std::uint32_t flow);
  void leave(std::uint32_t flow);
  std::uint32_t& place(std::uint32_t flow, std::size_t hop) {
    return places_[flow * longest_path_ + hop];
  }
  void widen(std::size_t hops);
  double least_level(const Flow& flow) const;
  void add_flow(std::uint32_t flow);
  void add_link(std::size_t link);
  void collect();
  void fill();
  void fill_link(LinkState& link, double level);
  void fix_at_most(std::uint32_t flow);
  void fix(std::uint32_t flow, double level, double rate);
  void apply(double now_seconds);

  EventQueue& queue_;
  const double window_;
  std::vector<Flow> flows_;
  std::vector<LinkState> link_states_;
  std::size_t longest_path_ = 8;
  std::vector<std::uint32_t> places_;  ///< Of each flow's hops in LinkState::crossings.
  std::vector<std::size_t> changed_links_;
  std::vector<std::uint32_t> started_;
  double changed_level_ = std::numeric_limits<double>::infinity();  ///< The lowest since then.
  // What settle() works on: flows connected by links that can be full.
  std::vector<std::uint32_t> set_;
  std::vector<std::size_t> links_;
  std::vector<Level> link_levels_;
  std::vector<Level> flow_levels_;
};

/// The network of a model; none for exact, where flows do not meet.
std::unique_ptr<FlowNetwork> make_flows(NetworkModel model, const Shape& shape, EventQueue& queue);

}  // namespace tutti
