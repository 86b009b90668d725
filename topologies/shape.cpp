#include "topologies/shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {

double Shape::overhead_seconds(const Route& links_crossed) const {
  double largest = 0.0;
  for (const int link : links_crossed) {
    largest = std::max(largest, links[static_cast<std::size_t>(link)].overhead_seconds);
  }
  return largest;
}

std::size_t Shape::overhead_bytes(const Route& links_crossed) const {
  constexpr double most_bytes = 0x1p60;
  const double seconds = overhead_seconds(links_crossed);
  if (seconds == 0.0) return 0;
  const double bytes = seconds * bandwidth_bytes_per_second(links_crossed);
  return static_cast<std::size_t>(std::llround(std::min(bytes, most_bytes)));
}

double Shape::latency_seconds(const Route& links_crossed) const {
  double seconds = overhead_seconds(links_crossed);
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
