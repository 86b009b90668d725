#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {

Fabric star(const StarSpec& spec) {
  require_within("hosts", spec.hosts, 1, maximum_hosts);
  require_link("", spec.link);
  FabricBuilder builder(fmt::format("star({}, {})", spec.hosts, shown_link(spec.link)));
  builder.reserve(spec.hosts + 1, spec.hosts);
  for (int host = 0; host < spec.hosts; ++host) builder.add_terminal(fmt::format("host-{}", host));
  const int middle = builder.add_node("switch");
  const LinkSpec half = half_of(spec.link);
  for (int host = 0; host < spec.hosts; ++host) builder.add_cable(host, middle, half, "host");
  if (spec.link.shared) {
    return std::move(builder).build([](int from, int to) { return Route{from, to}; });
  }
  return std::move(builder).build([](int from, int to) { return Route{2 * from, 2 * to + 1}; });
}

Shape star_shape(int hosts, double bandwidth_bytes_per_second, double latency_seconds,
                 std::optional<double> reduction_bytes_per_second) {
  const LinkSpec link = {bandwidth_bytes_per_second, latency_seconds};
  return build_shape(star({hosts, link}),
                     {.reduction_bytes_per_second = reduction_bytes_per_second});
}

Fabric fully_connected(const FullyConnectedSpec& spec) {
  require_within("hosts", spec.hosts, 1, maximum_hosts);
  require_link("", spec.link);
  FabricBuilder builder(fmt::format("fully_connected({}, {})", spec.hosts, shown_link(spec.link)));
  builder.reserve(spec.hosts, std::int64_t{spec.hosts} * (spec.hosts - 1) / 2);
  for (int host = 0; host < spec.hosts; ++host) builder.add_terminal(fmt::format("host-{}", host));
  for (int high = 1; high < spec.hosts; ++high) {
    for (int low = 0; low < high; ++low) builder.add_cable(low, high, spec.link, "host");
  }
  return std::move(builder).build([shared = spec.link.shared](int from, int to) {
    const int low = std::min(from, to), high = std::max(from, to);
    const int cable = high * (high - 1) / 2 + low;
    return Route{shared ? cable : 2 * cable + (from < to ? 0 : 1)};
  });
}

}  // namespace tutti
