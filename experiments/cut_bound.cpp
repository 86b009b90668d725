#include "experiments/cut_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace tutti {
namespace {

constexpr std::size_t most_visits = 4'000'000;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// Bytes that must leave and enter a set of ranks.
struct Crossing {
  double out = 0.0;
  double in = 0.0;
};

Crossing crossing_of(const Cut& cut, const Job& job, int ranks) {
  const double bytes = static_cast<double>(job.bytes());
  const double inner = static_cast<double>(cut.inside.size());
  const double outer = ranks - inner;
  const double part = static_cast<double>(job.count / at(ranks) * bytes_of(job.dtype));
  const bool has_root = std::binary_search(cut.inside.begin(), cut.inside.end(), job.root);
  switch (job.algorithm->collective) {
    case Collective::allreduce:
      return {bytes, bytes};
    case Collective::broadcast:
      return has_root ? Crossing{bytes, 0.0} : Crossing{0.0, bytes};
    case Collective::reduce:
      return has_root ? Crossing{0.0, bytes} : Crossing{bytes, 0.0};
    case Collective::allgather:
      return {inner * part, outer * part};
    case Collective::reduce_scatter:
      return {outer * part, inner * part};
    case Collective::gather:
      return has_root ? Crossing{0.0, outer * part} : Crossing{inner * part, 0.0};
    case Collective::scatter:
      return has_root ? Crossing{outer * part, 0.0} : Crossing{0.0, inner * part};
    case Collective::alltoall:
      return {inner * outer * part, inner * outer * part};
    case Collective::barrier:
      break;
  }
  return {};
}

class CutFinder {
 public:
  CutFinder(const Shape& shape, int ranks)
      : shape_(shape), links_of_(shape.nodes.size()), ranks_of_(shape.nodes.size()) {
    for (std::size_t link = 0; link < shape.links.size(); ++link) {
      const Link& one = shape.links[link];
      links_of_[at(one.from)].push_back(link);
      if (one.to != one.from) links_of_[at(one.to)].push_back(link);
    }
    for (int rank = 0; rank < ranks; ++rank) ranks_of_[at(shape.host_of(rank))].push_back(rank);
  }

  // The switch, and what is reached from it without another switch.
  Cut below(int node) {
    std::vector<int> members = {node};
    std::vector<bool> is_member(shape_.nodes.size());
    is_member[at(node)] = true;
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const std::size_t link : links_of_[at(members[i])]) {
        ++visits_;
        for (const int other : {shape_.links[link].from, shape_.links[link].to}) {
          const bool is_switch = shape_.nodes[at(other)].kind == Node::Kind::fabric;
          if (is_member[at(other)] || is_switch) continue;
          is_member[at(other)] = true;
          members.push_back(other);
        }
      }
    }
    Cut cut;
    for (const int member : members) {
      const auto& ranks = ranks_of_[at(member)];
      cut.inside.insert(cut.inside.end(), ranks.begin(), ranks.end());
      for (const std::size_t index : links_of_[at(member)]) {
        const Link& link = shape_.links[index];
        if (link.failed) continue;
        if (is_member[at(link.from)] && is_member[at(link.to)]) continue;
        const bool is_shared = link.is_shared(static_cast<int>(index));
        const bool leaves = is_member[at(link.from)];
        if (leaves || is_shared) cut.out_bytes_per_second += link.bandwidth_bytes_per_second;
        if (!leaves || is_shared) cut.in_bytes_per_second += link.bandwidth_bytes_per_second;
      }
    }
    std::sort(cut.inside.begin(), cut.inside.end());
    return cut;
  }

  bool is_tired() const { return visits_ > most_visits; }
  void visit_all_nodes() { visits_ += shape_.nodes.size() / 64; }  // The bits of below().

 private:
  const Shape& shape_;
  std::vector<std::vector<std::size_t>> links_of_;  // By node.
  std::vector<std::vector<int>> ranks_of_;          // By node.
  std::size_t visits_ = 0;
};

bool are_links_known(const Shape& shape) {
  const auto has_ends = [](const Link& link) { return link.from >= 0 && link.to >= 0; };
  return shape.platform_file.empty() && shape.nodes.size() >= shape.hosts.size() &&
         std::all_of(shape.links.begin(), shape.links.end(), has_ends);
}

}  // namespace

double widest_host_bytes_per_second(const Shape& shape) {
  if (!are_links_known(shape)) return std::numeric_limits<double>::infinity();
  std::vector<double> out(shape.nodes.size()), in(shape.nodes.size());
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    if (link.failed) continue;
    const bool is_shared = link.is_shared(static_cast<int>(index));
    out[at(link.from)] += link.bandwidth_bytes_per_second;
    in[at(link.to)] += link.bandwidth_bytes_per_second;
    if (is_shared) out[at(link.to)] += link.bandwidth_bytes_per_second;
    if (is_shared) in[at(link.from)] += link.bandwidth_bytes_per_second;
  }
  double widest = 0.0;
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    widest = std::max({widest, out[host], in[host]});
  }
  return widest > 0.0 ? widest : std::numeric_limits<double>::infinity();
}

std::vector<Cut> cuts_below_switches(const Shape& shape, int ranks) {
  if (!are_links_known(shape) || ranks < 2) return {};
  CutFinder finder(shape, ranks);
  std::vector<Cut> cuts;
  for (std::size_t node = 0; node < shape.nodes.size() && !finder.is_tired(); ++node) {
    if (shape.nodes[node].kind != Node::Kind::fabric) continue;
    finder.visit_all_nodes();
    Cut cut = finder.below(static_cast<int>(node));
    if (cut.inside.empty() || cut.inside.size() == at(ranks)) continue;
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

double cut_seconds(const std::vector<Cut>& cuts, const Job& job, int ranks) {
  if (!job.part_counts.empty()) return 0.0;
  double seconds = 0.0;
  for (const Cut& cut : cuts) {
    const Crossing crossing = crossing_of(cut, job, ranks);
    if (cut.out_bytes_per_second > 0.0) {
      seconds = std::max(seconds, crossing.out / cut.out_bytes_per_second);
    }
    if (cut.in_bytes_per_second > 0.0) {
      seconds = std::max(seconds, crossing.in / cut.in_bytes_per_second);
    }
  }
  return seconds;
}

}  // namespace tutti
