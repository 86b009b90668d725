// What a shape is like, in figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// The links of one class, both directions of a cable counted as one.
struct LinkClassSummary {
  std::string link_class;
  std::string first;  ///< The name of one, for people who want to change it.
  int cables = 0;
  double smallest_bandwidth_bytes_per_second = 0.0;
  double largest_bandwidth_bytes_per_second = 0.0;
  double smallest_latency_seconds = 0.0;
  double largest_latency_seconds = 0.0;
};

/// In the order of the links.
std::vector<LinkClassSummary> classes_of(const Shape& shape);

struct ShapeSummary {
  int hosts = 0;
  int machines = 0;
  int switches = 0;                       ///< Fabric nodes that links lead to.
  std::vector<LinkClassSummary> classes;  ///< classes_of().
  int diameter_links = 0;                 ///< Links on the longest route between two hosts.
  double mean_links = 0.0;                ///< Over ordered pairs of different hosts.
  double largest_latency_seconds = 0.0;
  /// What one half of the hosts can send to the other at once: the smallest maximum flow over the
  /// halvings tried: all of up to 10 machines, else by number, by each digit of the numbers, and by
  /// the width of the hosts' cables, which is a bound from above in general and exact for the
  /// regular shapes.
  double bisection_bytes_per_second = 0.0;
  /// What half of the machines could send if only their cables to switches limited them, over the
  /// bisection: 1 is full bisection bandwidth. Empty where hosts are not on switches.
  std::optional<double> oversubscription;
  /// Routes without a common link between the two hosts that are farthest apart, not counting their
  /// machines' own cables.
  int path_diversity = 0;
  bool sampled = false;  ///< Whether figures of routes come from a sample of the pairs.
};

/// Failed links count as absent. From 1,024 hosts on, the pairs are an even sample, and fewer
/// halvings are tried. A shape whose links have no ends has no bisection, oversubscription and
/// diversity (0). Cost: some maximum flows, at most a million routes or a hundred
/// million links of them.
ShapeSummary summarise(const Shape& shape);

}  // namespace tutti
