#include "experiments/cluster.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "experiments/files.hpp"
#include "experiments/output.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

CostModel cost_between(const Shape& shape, int from, int to) {
  return {shape.latency_seconds(from, to), 1.0 / shape.bandwidth_bytes_per_second(from, to), 0.0};
}

bool is_at_most(const CostModel& a, const CostModel& b) {
  return a.alpha_seconds <= b.alpha_seconds && a.beta_seconds_per_byte <= b.beta_seconds_per_byte;
}

void raise_to(CostModel& model, const CostModel& other) {
  model.alpha_seconds = std::max(model.alpha_seconds, other.alpha_seconds);
  model.beta_seconds_per_byte = std::max(model.beta_seconds_per_byte, other.beta_seconds_per_byte);
}

// Seconds per byte of the slowest message when all ranks send at once.
double loaded_beta(const Shape& shape, int ranks, const std::function<int(int rank)>& target_of) {
  std::vector<int> messages(shape.links.size(), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    if (target_of(rank) == rank) continue;
    for (const int link : shape.route(rank, target_of(rank))) {
      ++messages[static_cast<std::size_t>(link)];
    }
  }
  double beta = 0.0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    beta = std::max(beta, messages[i] / shape.links[i].bandwidth_bytes_per_second);
  }
  return beta;
}

// A file that cannot be read is no usage error.
Shape load(const ClusterFlags& flags) {
  try {
    return load_shape(flags.topology, flags.settings);
  } catch (const ShapeError& error) {
    if (is_readable(flags.topology)) throw;
    throw Error(ErrorKind::system, error.what());
  }
}

}  // namespace

Cluster load_cluster(const ClusterFlags& flags, int ranks) {
  Cluster cluster;
  cluster.options.model = parse_network_model(flags.model);
  cluster.shape = load(flags);
  cluster.ranks = ranks == 0 ? cluster.shape.size() : ranks;
  if (cluster.ranks < 1 || cluster.ranks > cluster.shape.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("--ranks {}: {} has {}, one for each rank; try --set hosts={}",
                            cluster.ranks, flags.topology, counted(cluster.shape.size(), "host"),
                            std::max(cluster.ranks, 1)));
  }
  return cluster;
}

Shape among(const Shape& shape, const std::vector<int>& members) {
  if (members.empty()) return shape;
  const auto host_of = [members](int rank) { return members[static_cast<std::size_t>(rank)]; };
  Shape part = shape;
  part.hosts.clear();
  for (const int member : members) {
    part.hosts.push_back(shape.hosts[static_cast<std::size_t>(member)]);
  }
  part.route = [whole = shape.route, host_of](int from, int to) {
    return whole(host_of(from), host_of(to));
  };
  return part;
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

CostProfile cost_profile(const Shape& shape, int ranks) {
  if (ranks == 1) return {};
  const CostModel first = cost_between(shape, 0, 1);
  CostProfile profile;
  for (profile.group = 2; profile.group < ranks; ++profile.group) {
    if (!is_at_most(cost_between(shape, 0, profile.group), first)) break;
  }
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (to == from) continue;
      const bool is_inner = from / profile.group == to / profile.group;
      raise_to(is_inner ? profile.inner : profile.outer, cost_between(shape, from, to));
    }
  }
  const int group = profile.group;
  const auto next = [=](int rank) {
    const int begin = rank / group * group;
    return begin + (rank - begin + 1) % std::min(group, ranks - begin);
  };
  raise_to(profile.inner, {0.0, loaded_beta(shape, ranks, next), 0.0});
  if (group < ranks) {
    profile.lone_beta_seconds_per_byte =
        std::max(profile.inner.beta_seconds_per_byte, profile.outer.beta_seconds_per_byte);
    const auto like = [=](int rank) { return (rank + group) % ranks; };
    raise_to(profile.outer, {0.0, loaded_beta(shape, ranks, like), 0.0});
  }
  if (is_at_most(profile.outer, profile.inner)) {
    profile = {.outer = profile.inner};
  } else {
    raise_to(profile.outer, profile.inner);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const auto& speed = shape.hosts[static_cast<std::size_t>(rank)].reduction_bytes_per_second;
    const double gamma = speed ? 1.0 / *speed : 0.0;
    profile.outer.gamma_seconds_per_byte = std::max(profile.outer.gamma_seconds_per_byte, gamma);
  }
  profile.inner.gamma_seconds_per_byte = profile.outer.gamma_seconds_per_byte;
  return profile;
}

}  // namespace tutti
