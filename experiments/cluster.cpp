#include "experiments/cluster.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

#include "experiments/output.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

CostModel cost_between(const Shape& shape, int from, int to) {
  const Route route = shape.route_of_ranks(from, to);
  return {shape.latency_seconds(route), 1.0 / shape.bandwidth_bytes_per_second(route), 0.0};
}

// Ranks enough to see what there is, with their neighbours: all of a small cluster.
std::vector<int> sample_of(int ranks) {
  constexpr int most_exhaustive_ranks = 256;
  std::vector<int> sample;
  const int stride = std::max(1, ranks / most_exhaustive_ranks);
  for (int rank = 0; rank < ranks; rank += stride) {
    sample.push_back(rank);
    if (stride > 1) sample.push_back(rank + 1);
  }
  if (sample.back() != ranks - 1) sample.push_back(ranks - 1);
  return sample;
}

// What a host takes for its own part of a message; nothing for the network's.
CostModel own_costs_of(const Host& host) {
  const auto& speed = host.reduction_bytes_per_second;
  return {.gamma_seconds_per_byte = speed ? 1.0 / (*speed * host.speed) : 0.0,
          .send_overhead_seconds = host.send_overhead_seconds / host.speed,
          .receive_overhead_seconds = host.receive_overhead_seconds / host.speed};
}

// The smaller, or the larger, of each of a host's own costs.
void take_best(CostModel& model, const CostModel& own) {
  const auto lower = [](double& value, double other) { value = std::min(value, other); };
  lower(model.gamma_seconds_per_byte, own.gamma_seconds_per_byte);
  lower(model.send_overhead_seconds, own.send_overhead_seconds);
  lower(model.receive_overhead_seconds, own.receive_overhead_seconds);
}

void take_worst(CostModel& model, const CostModel& own) {
  const auto raise = [](double& value, double other) { value = std::max(value, other); };
  raise(model.gamma_seconds_per_byte, own.gamma_seconds_per_byte);
  raise(model.send_overhead_seconds, own.send_overhead_seconds);
  raise(model.receive_overhead_seconds, own.receive_overhead_seconds);
}

const Host& host_of(const Shape& shape, int rank) {
  return shape.hosts[static_cast<std::size_t>(shape.host_of(rank))];
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
    for (const int link : shape.route_of_ranks(rank, target_of(rank))) {
      ++messages[static_cast<std::size_t>(link)];
    }
  }
  double beta = 0.0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    beta = std::max(beta, messages[i] / shape.links[i].bandwidth_bytes_per_second);
  }
  return beta;
}

// The first rank to which messages from rank 0 cost far more than to those before it, by the
// largest factor of latency or bandwidth: sites rather than the racks within them.
int group_of(const Shape& shape, int ranks) {
  const auto ratio = [](double cost, double before) {
    if (before > 0.0) return cost / before;
    return cost > 0.0 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  CostModel worst = cost_between(shape, 0, 1);
  double largest_ratio = 1.001;  // No more than rounding.
  int group = ranks;
  for (int rank = 2; rank < ranks; ++rank) {
    const CostModel cost = cost_between(shape, 0, rank);
    const double jump = std::max(ratio(cost.alpha_seconds, worst.alpha_seconds),
                                 ratio(cost.beta_seconds_per_byte, worst.beta_seconds_per_byte));
    if (jump > largest_ratio) {
      largest_ratio = jump;
      group = rank;
    }
    raise_to(worst, cost);
  }
  return group;
}

// "rank 5 by 200us", four words each.
std::vector<double> starts_of(const std::vector<std::string>& words, int ranks) {
  std::vector<double> starts;
  for (std::size_t first = 0; first < words.size(); first += 4) {
    const std::string shown = fmt::format(
        "--straggle {}",
        fmt::join(words.begin() + static_cast<std::ptrdiff_t>(first), words.end(), " "));
    const auto usage = [&](const std::string& what) {
      return Error(ErrorKind::usage,
                   fmt::format("{}: {}, expected such as 'rank 5 by 200us'", shown, what));
    };
    if (words.size() < first + 4 || words[first] != "rank" || words[first + 2] != "by") {
      throw usage("not understood");
    }
    int rank = -1;
    const std::string& number = words[first + 1];
    const char* const end = number.data() + number.size();
    const auto [rest, status] = std::from_chars(number.data(), end, rank);
    if (status != std::errc{} || rest != end || rank < 0 || rank >= ranks) {
      throw usage(fmt::format("'{}' is no rank from 0 to {}", shorten_words(number), ranks - 1));
    }
    starts.resize(static_cast<std::size_t>(ranks), 0.0);
    try {
      starts[static_cast<std::size_t>(rank)] = parse_duration(words[first + 3]);
    } catch (const ShapeError& error) {
      throw usage(error.what());
    }
  }
  return starts;
}

// The speed of a host divides times that may all be zero.
void warn_of_idle_speeds(const Shape& shape) {
  const auto is_idle = [](const Host& host) {
    return host.speed != 1.0 && !host.reduction_bytes_per_second &&
           host.send_overhead_seconds == 0.0 && host.receive_overhead_seconds == 0.0;
  };
  const auto found = std::find_if(shape.hosts.begin(), shape.hosts.end(), is_idle);
  if (found == shape.hosts.end()) return;
  warn(
      fmt::format("the speed of {} changes nothing, since its reductions are free and it has no "
                  "overheads; see --set reduction=10GBps",
                  found->name));
}

}  // namespace

Cluster load_cluster(const ClusterFlags& flags, int ranks) {
  Cluster cluster;
  cluster.options.model = parse_network_model(flags.model);
  cluster.engine = parse_engine(flags.engine);
  cluster.shape = load_topology(flags.topology, flags.changes, PlatformUse::as_it_is);
  warn_of_idle_speeds(cluster.shape);
  cluster.ranks = ranks == 0 ? cluster.shape.size() : ranks;
  if (cluster.ranks < 1 || cluster.ranks > cluster.shape.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("--ranks {}: {} has room for {}; where hosts is a key of it, try "
                            "--set hosts={}",
                            cluster.ranks, flags.topology, counted(cluster.shape.size(), "rank"),
                            std::max(cluster.ranks, 1)));
  }
  cluster.options.start_seconds = starts_of(flags.stragglers, cluster.ranks);
  for (std::size_t first = 0; first < flags.stragglers.size(); first += 4) {
    cluster.shape.name += fmt::format(", rank {} late by {}", flags.stragglers[first + 1],
                                      flags.stragglers[first + 3]);
  }
  return cluster;
}

Shape among(const Shape& shape, const std::vector<int>& members) {
  Shape part = shape;
  if (members.empty()) return part;
  part.placement.clear();
  for (const int member : members) part.placement.push_back(shape.host_of(member));
  return part;
}

CostModel cost_model(const Shape& shape, int ranks) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CostModel best{infinity, infinity, infinity, infinity, infinity};
  const std::vector<int> sample = sample_of(ranks);
  for (const int from : sample) {
    take_best(best, own_costs_of(host_of(shape, from)));
    for (const int to : sample) {
      if (to == from) continue;
      const CostModel cost = cost_between(shape, from, to);
      best.alpha_seconds = std::min(best.alpha_seconds, cost.alpha_seconds);
      best.beta_seconds_per_byte = std::min(best.beta_seconds_per_byte, cost.beta_seconds_per_byte);
    }
  }
  return ranks > 1 ? best : CostModel{};
}

double slowest_bandwidth(const Shape& shape, int ranks) {
  double slowest = std::numeric_limits<double>::infinity();
  const std::vector<int> sample = sample_of(ranks);
  for (const int from : sample) {
    for (const int to : sample) {
      if (to == from) continue;
      slowest = std::min(slowest, shape.bandwidth_bytes_per_second(shape.route_of_ranks(from, to)));
    }
  }
  return slowest;
}

CostProfile cost_profile(const Shape& shape, int ranks) {
  if (ranks == 1) return {};
  CostProfile profile;
  profile.group = group_of(shape, ranks);
  const std::vector<int> sample = sample_of(ranks);
  for (const int from : sample) {
    for (const int to : sample) {
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
    const CostModel own = own_costs_of(host_of(shape, rank));
    take_worst(profile.outer, own);
    take_worst(profile.inner, own);
  }
  return profile;
}

}  // namespace tutti
