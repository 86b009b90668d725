#include "experiments/cluster.hpp"

#include <algorithm>
#include <limits>

#include "experiments/output.hpp"
#include "topologies/load.hpp"

namespace tutti {

Cluster load_cluster(const ClusterFlags& flags, int ranks) {
  Cluster cluster;
  cluster.options.model = parse_network_model(flags.model);
  cluster.shape = load_shape(flags.topology, flags.settings);
  cluster.ranks = ranks == 0 ? cluster.shape.size() : ranks;
  if (cluster.ranks < 1 || cluster.ranks > cluster.shape.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("--ranks {}: {} has {}, one for each rank; try --set hosts={}",
                            cluster.ranks, flags.topology, counted(cluster.shape.size(), "host"),
                            std::max(cluster.ranks, 1)));
  }
  return cluster;
}

CostModel cost_model(const Shape& shape, int ranks) {
  CostModel best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                 std::numeric_limits<double>::infinity()};
  for (int from = 0; from < ranks; ++from) {
    const auto& speed = shape.hosts[static_cast<std::size_t>(from)].reduction_bytes_per_second;
    best.gamma_seconds_per_byte = std::min(best.gamma_seconds_per_byte, speed ? 1.0 / *speed : 0.0);
    for (int to = 0; to < ranks; ++to) {
      if (to == from) continue;
      best.alpha_seconds = std::min(best.alpha_seconds, shape.latency_seconds(from, to));
      best.beta_seconds_per_byte =
          std::min(best.beta_seconds_per_byte, 1.0 / shape.bandwidth_bytes_per_second(from, to));
    }
  }
  return ranks > 1 ? best : CostModel{};
}

}  // namespace tutti
