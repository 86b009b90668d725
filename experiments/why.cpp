#include "experiments/why.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "experiments/output.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_links = 10;
constexpr double rounding = 1e-9;  // Relative to the run's time: what clocks may be off.

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

const Host& host_of(const Shape& shape, int rank) {
  return shape.hosts[at(shape.host_of(rank))];
}

// Seconds that the link's bytes take it.
double load_of(const Shape& shape, const LinkUse& use, std::size_t link) {
  return use.bytes / shape.links[link].bandwidth_bytes_per_second;
}

class Analysis {
 public:
  explicit Analysis(const ObservedRun& run)
      : run_(run), shape_(run.shape), blocks_of_rank_(run.end_seconds.size()) {
    why_.seconds = *std::max_element(run.end_seconds.begin(), run.end_seconds.end());
    tolerance_seconds_ = rounding * why_.seconds;
    links_ = run.observation.links;
    if (links_.empty()) links_ = link_uses(shape_, run.observation.messages);
    const auto& blocks = run.observation.blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks_of_rank_[at(blocks[i].rank)].push_back(i);
    }
    for (auto& indices : blocks_of_rank_) {
      std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
        return blocks[a].end_seconds < blocks[b].end_seconds;
      });
    }
  }

  Why result() {
    rank_links();
    sum_classes();
    sum_waits();
    walk_back();
    std::reverse(why_.path.begin(), why_.path.end());
    blame();
    why_.hint = hint();
    return std::move(why_);
  }

 private:
  void rank_links() {
    std::vector<int> used;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (links_[link].bytes > 0.0) used.push_back(static_cast<int>(link));
    }
    const auto busier = [&](int a, int b) {
      const double left = load_of(shape_, links_[at(a)], at(a));
      const double right = load_of(shape_, links_[at(b)], at(b));
      return left != right ? left > right : a < b;
    };
    const auto count = static_cast<std::ptrdiff_t>(std::min(most_links, used.size()));
    std::partial_sort(used.begin(), used.begin() + count, used.end(), busier);
    used.resize(static_cast<std::size_t>(count));
    for (const int link : used) {
      const LinkUse& use = links_[at(link)];
      BusyLink busy{link, use.bytes, std::nullopt, use.most_flows};
      const double share = load_of(shape_, use, at(link)) / why_.seconds;
      // More than all: a platform's link that gives each flow its whole bandwidth.
      const bool is_shared = run_.links_are_shared && share <= 1.0 + 1e-6;
      if (is_shared && why_.seconds > 0.0) busy.utilisation = std::min(share, 1.0);
      why_.busiest.push_back(busy);
    }
  }

  void sum_classes() {
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (links_[link].bytes <= 0.0) continue;
      const std::string& name = shape_.links[link].link_class;
      auto found = std::find_if(why_.classes.begin(), why_.classes.end(),
                                [&](const ClassBytes& known) { return known.link_class == name; });
      if (found == why_.classes.end()) found = why_.classes.insert(found, {name, 0.0});
      found->bytes += links_[link].bytes;
    }
  }

  void sum_waits() {
    why_.wait_seconds.resize(run_.end_seconds.size(), 0.0);
    for (const BlockRecord& block : run_.observation.blocks) {
      const MessageRecord& message = run_.observation.messages[block.message];
      const double end = std::min(block.end_seconds, message.end_seconds);
      why_.wait_seconds[at(block.rank)] += std::max(0.0, end - block.begin_seconds);
    }
  }

  double start_of(int rank) const {
    return at(rank) < run_.start_seconds.size() ? run_.start_seconds[at(rank)] : 0.0;
  }

  // The last block of a rank that ended at `seconds` or before, and before block `before` did.
  const BlockRecord* last_block(int rank, double seconds, const BlockRecord* before) const {
    const auto& blocks = run_.observation.blocks;
    const auto& indices = blocks_of_rank_[at(rank)];
    auto found = std::upper_bound(
        indices.begin(), indices.end(), seconds + tolerance_seconds_,
        [&](double value, std::size_t index) { return value < blocks[index].end_seconds; });
    while (found != indices.begin()) {
      const BlockRecord& block = blocks[*--found];
      // Earlier than the one that it led to, also where no time passes, so that the path ends.
      const bool is_earlier = before == nullptr || block.end_seconds < before->end_seconds ||
                              (block.end_seconds == before->end_seconds && &block < before);
      if (is_earlier) return &block;
    }
    return nullptr;
  }

  void add(const PathPiece& piece) {
    if (piece.seconds() > tolerance_seconds_) why_.path.push_back(piece);
  }

  // Of a rank's work between two blocks: overheads, and what is left to reductions.
  void add_local(int rank, double begin, double end) {
    if (end - begin <= tolerance_seconds_) return;
    const Host& host = host_of(shape_, rank);
    PathPiece piece;
    piece.rank = rank;
    piece.begin_seconds = begin;
    piece.end_seconds = end;
    add(piece);
    double reduction = 0.0;
    if (run_.reduces && host.reduction_bytes_per_second) {
      const double overhead =
          (host.send_overhead_seconds + host.receive_overhead_seconds) / host.speed;
      reduction = std::max(0.0, end - begin - overhead);
    }
    why_.time.reduction_seconds += reduction;
    why_.time.overhead_seconds += end - begin - reduction;
  }

  // Whether a flow gets less of one link than of another when all cross it that ever do at once, or
  // as much where the other carries less.
  bool is_tighter(int one, int other) const {
    const auto seconds_per_byte = [&](int link) {
      return links_[at(link)].most_flows / shape_.links[at(link)].bandwidth_bytes_per_second;
    };
    const double left = seconds_per_byte(one), right = seconds_per_byte(other);
    if (left != right) return left > right;
    return load_of(shape_, links_[at(one)], at(one)) >
           load_of(shape_, links_[at(other)], at(other));
  }

  void add_message(const MessageRecord& message) {
    PathPiece piece;
    piece.kind = PathPiece::Kind::message;
    piece.rank = message.from;
    piece.peer = message.to;
    piece.step = message.send_step;
    piece.bytes = message.bytes;
    piece.begin_seconds = message.begin_seconds;
    piece.end_seconds = message.end_seconds;
    const Route route = shape_.route_of_ranks(message.from, message.to);
    for (const int link : route) {
      if (piece.link < 0 || is_tighter(link, piece.link)) piece.link = link;
    }
    add(piece);
    const double latency = std::min(piece.seconds(), shape_.latency_seconds(route));
    const double alone =
        static_cast<double>(message.bytes) / shape_.bandwidth_bytes_per_second(route);
    const double transfer = std::min(piece.seconds() - latency, alone);
    why_.time.latency_seconds += latency;
    why_.time.transfer_seconds += transfer;
    why_.time.contention_seconds += std::max(0.0, piece.seconds() - latency - transfer);
  }

  void walk_back() {
    const auto& ends = run_.end_seconds;
    int rank = static_cast<int>(std::max_element(ends.begin(), ends.end()) - ends.begin());
    double seconds = why_.seconds;
    const BlockRecord* before = nullptr;
    for (;;) {
      const BlockRecord* const block = last_block(rank, seconds, before);
      if (block == nullptr) break;
      const MessageRecord& message = run_.observation.messages[block->message];
      const double arrived = std::min(message.end_seconds, seconds);
      add_local(rank, arrived, seconds);
      add_message(message);
      // On with the end that was not ready; with the other rank where both were.
      const bool sender_last = message.send_posted_seconds > message.receive_posted_seconds;
      const bool receiver_last = message.receive_posted_seconds > message.send_posted_seconds;
      if (sender_last) rank = message.from;
      if (receiver_last) rank = message.to;
      if (!sender_last && !receiver_last) rank = block->is_send ? message.to : message.from;
      seconds = std::min(message.begin_seconds, arrived);
      before = block;
    }
    const double start = std::min(start_of(rank), seconds);
    add_local(rank, start, seconds);
    PathPiece late;
    late.kind = PathPiece::Kind::late_start;
    late.rank = rank;
    late.end_seconds = start;
    add(late);
    why_.time.late_start_seconds += start;
  }

  // Messages are the fault of their busiest link, all else is its rank's.
  void blame() {
    std::map<int, double> ranks, links;
    for (const PathPiece& piece : why_.path) {
      if (piece.kind != PathPiece::Kind::message) {
        ranks[piece.rank] += piece.seconds();
      } else if (piece.link >= 0) {
        links[piece.link] += piece.seconds();
      }
    }
    for (const auto& [rank, seconds] : ranks) {
      why_.culprits.push_back({"rank", fmt::format("{}", rank), seconds});
    }
    double most_seconds = 0.0;
    for (const auto& [link, seconds] : links) {
      if (seconds > most_seconds) tightest_ = link;
      most_seconds = std::max(most_seconds, seconds);
      why_.culprits.push_back({"link", shape_.links[at(link)].name, seconds});
    }
    std::stable_sort(why_.culprits.begin(), why_.culprits.end(),
                     [](const Culprit& a, const Culprit& b) { return a.seconds > b.seconds; });
  }

  bool is_fabric(int node) const {
    return node >= 0 && shape_.nodes[at(node)].kind == Node::Kind::fabric;
  }

  // "the uplink leaf0-spine1 of leaf0": by whether its ends are hosts, or switches that have hosts.
  std::string describe_link(int index) const {
    const Link& link = shape_.links[at(index)];
    const std::string whole = fmt::format("{} ({})", link.name, link.link_class);
    if (link.from < 0 || link.to < 0) return "the link " + whole;
    const std::string& from = shape_.nodes[at(link.from)].name;
    const std::string& to = shape_.nodes[at(link.to)].name;
    if (link.is_shared(index)) return "the shared medium " + whole;
    if (!is_fabric(link.from)) return fmt::format("the link {} out of {}", whole, from);
    if (!is_fabric(link.to)) return fmt::format("the link {} into {}", whole, to);
    const bool from_leaf = has_machines(link.from), to_leaf = has_machines(link.to);
    if (from_leaf && !to_leaf) return fmt::format("the uplink {} of {}", whole, from);
    if (to_leaf && !from_leaf) return fmt::format("the downlink {} of {}", whole, to);
    return fmt::format("the link {} from {} to {}", whole, from, to);
  }

  bool has_machines(int node) const {
    return std::any_of(shape_.links.begin(), shape_.links.end(), [&](const Link& link) {
      return link.to == node && link.from >= 0 && !is_fabric(link.from);
    });
  }

  std::string hint() const {
    const std::string limit = why_.time.limit();
    if (limit.empty()) return "";
    const auto share = [&](double part) {
      return fmt::format("{:.0f} % of the time", 100.0 * part / why_.seconds);
    };
    if (limit == "straggler-bound") {
      return fmt::format("rank {} begins {:.2f} us late, {}; all others wait for it",
                         why_.path.front().rank, why_.time.late_start_seconds * 1e6,
                         share(why_.time.late_start_seconds));
    }
    if (limit == "reduction-bound") {
      const auto slowest = std::find_if(why_.culprits.begin(), why_.culprits.end(),
                                        [](const Culprit& one) { return one.kind == "rank"; });
      return fmt::format("reductions on the critical path take {}, most on rank {}",
                         share(why_.time.reduction_seconds), slowest->name);
    }
    if (limit == "latency-bound") {
      const auto messages = std::count_if(
          why_.path.begin(), why_.path.end(),
          [](const PathPiece& piece) { return piece.kind == PathPiece::Kind::message; });
      return fmt::format("{} in a row: latencies and overheads take {}; fewer steps would help",
                         counted(messages, "message"),
                         share(why_.time.latency_seconds + why_.time.overhead_seconds));
    }
    if (tightest_ < 0) return "messages cross no link: their own copies take the time";
    return link_hint(share(why_.time.contention_seconds));
  }

  std::string link_hint(const std::string& contention_share) const {
    const LinkUse& use = links_[at(tightest_)];
    const std::string link = describe_link(tightest_);
    if (!run_.links_are_shared) return fmt::format("{} has the most to carry", link);
    const double busy = std::min(load_of(shape_, use, at(tightest_)) / why_.seconds, 1.0);
    if (use.most_flows > 1) {
      return fmt::format("{} is shared by {} and {:.0f} % used; waiting for others' bytes takes {}",
                         link, counted(use.most_flows, "flow"), 100.0 * busy, contention_share);
    }
    return fmt::format(
        "{} is crossed by one flow at a time and {:.0f} % used: only a wider one, "
        "or fewer bytes, would help",
        link, 100.0 * busy);
  }

  const ObservedRun& run_;
  const Shape& shape_;
  std::vector<std::vector<std::size_t>> blocks_of_rank_;  // By ascending end.
  std::vector<LinkUse> links_;
  double tolerance_seconds_ = 0.0;
  int tightest_ = -1;  // The link on the critical path that accounts for most of it.
  Why why_;
};

}  // namespace

std::string PathTime::limit() const {
  const std::pair<double, const char*> sums[] = {
      {latency_seconds + overhead_seconds, "latency-bound"},
      {transfer_seconds + contention_seconds, "bandwidth-bound"},
      {reduction_seconds, "reduction-bound"},
      {late_start_seconds, "straggler-bound"}};
  const auto largest =
      std::max_element(std::begin(sums), std::end(sums),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  return largest->first > 0.0 ? largest->second : "";
}

Why why(const ObservedRun& run) {
  return Analysis(run).result();
}

}  // namespace tutti
