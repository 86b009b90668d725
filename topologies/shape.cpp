#include "topologies/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti {
namespace {

const Link& link_at(const Shape& shape, int index) {
  return shape.links[static_cast<std::size_t>(index)];
}

void require_positive(double value, const char* what, const char* unit) {
  if (std::isfinite(value) && value > 0.0) return;
  throw ShapeError(fmt::format("{} is {} {}, expected a positive number", what, value, unit));
}

void check_star(const Star& star) {
  if (star.hosts < 1 || star.hosts > maximum_hosts) {
    throw ShapeError(
        fmt::format("a star of {} hosts, expected 1 to {}", star.hosts, maximum_hosts));
  }
  require_positive(star.bandwidth_bytes_per_second, "the bandwidth", "bytes/s");
  if (!std::isfinite(star.latency_seconds) || star.latency_seconds < 0.0) {
    throw ShapeError(
        fmt::format("the latency is {} s, expected zero or more", star.latency_seconds));
  }
  if (star.reduction_bytes_per_second) {
    require_positive(*star.reduction_bytes_per_second, "the reduction speed", "bytes/s");
  }
}

std::string star_name(const Star& star) {
  const std::string reduction =
      star.reduction_bytes_per_second
          ? fmt::format(", reducing {:.6g} GB/s", *star.reduction_bytes_per_second / 1e9)
          : "";
  return fmt::format("star({}, {:.6g} GB/s, {:.6g} us{})", star.hosts,
                     star.bandwidth_bytes_per_second / 1e9, star.latency_seconds * 1e6, reduction);
}

}  // namespace

double Shape::latency_seconds(int from, int to) const {
  double seconds = 0.0;
  for (const int link : route(from, to)) seconds += link_at(*this, link).latency_seconds;
  return seconds;
}

double Shape::bandwidth_bytes_per_second(int from, int to) const {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const int link : route(from, to)) {
    bandwidth = std::min(bandwidth, link_at(*this, link).bandwidth_bytes_per_second);
  }
  return bandwidth;
}

Shape build_star(const Star& star) {
  check_star(star);
  Shape shape;
  shape.name = star_name(star);
  for (int index = 0; index < star.hosts; ++index) {
    shape.hosts.push_back({fmt::format("host-{}", index), star.reduction_bytes_per_second});
    for (const char* direction : {"up", "down"}) {
      shape.links.push_back({fmt::format("host-{}-{}", index, direction),
                             star.bandwidth_bytes_per_second, star.latency_seconds / 2});
    }
  }
  shape.route = [](int from, int to) { return Route{2 * from, 2 * to + 1}; };
  return shape;
}

}  // namespace tutti
