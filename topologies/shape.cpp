#include "topologies/shape.hpp"

#include <algorithm>
#include <limits>

namespace tutti {

double Shape::latency_seconds(const Route& links_crossed) const {
  double seconds = 0.0;
  for (const int link : links_crossed) {
    seconds += links[static_cast<std::size_t>(link)].latency_seconds;
  }
  return seconds;
}

double Shape::bandwidth_bytes_per_second(const Route& links_crossed) const {
  double smallest = std::numeric_limits<double>::infinity();
  for (const int link : links_crossed) {
    smallest = std::min(smallest, links[static_cast<std::size_t>(link)].bandwidth_bytes_per_second);
  }
  return smallest;
}

double Shape::latency_seconds(int from, int to) const {
  return latency_seconds(route(from, to));
}

double Shape::bandwidth_bytes_per_second(int from, int to) const {
  return bandwidth_bytes_per_second(route(from, to));
}

}  // namespace tutti
