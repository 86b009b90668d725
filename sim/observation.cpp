#include "sim/observation.hpp"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

/// A flow that begins (+1) or ends (-1) to move bytes through a link.
struct Change {
  double seconds = 0.0;
  int flows = 0;
};

void sum_up(std::vector<Change>& changes, LinkUse& use) {
  // What ends makes room for what begins at the same time.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.flows < b.flows;
  });
  int flows = 0;
  double busy_since_seconds = 0.0;
  for (const Change& change : changes) {
    if (flows == 0) busy_since_seconds = change.seconds;
    flows += change.flows;
    use.most_flows = std::max(use.most_flows, flows);
    if (flows == 0) use.busy_seconds += change.seconds - busy_since_seconds;
  }
}

}  // namespace

std::vector<LinkUse> link_uses(const Shape& shape, const std::vector<MessageRecord>& messages) {
  std::vector<LinkUse> uses(shape.links.size());
  std::vector<std::vector<Change>> changes(shape.links.size());
  for (const MessageRecord& message : messages) {
    const Route route = shape.route_of_ranks(message.from, message.to);
    const double moves_seconds =
        std::min(message.begin_seconds + shape.latency_seconds(route), message.end_seconds);
    for (const int index : route) {
      const auto link = static_cast<std::size_t>(index);
      uses[link].bytes += static_cast<double>(message.bytes);
      changes[link].push_back({moves_seconds, 1});
      changes[link].push_back({message.end_seconds, -1});
    }
  }
  for (std::size_t link = 0; link < uses.size(); ++link) sum_up(changes[link], uses[link]);
  return uses;
}

std::vector<std::vector<PeerWait>> peer_waits(int size, const Observation& observation) {
  std::vector<std::map<int, double>> seconds(static_cast<std::size_t>(size));
  for (const BlockRecord& block : observation.blocks) {
    const MessageRecord& message = observation.messages[block.message];
    const int peer = block.is_send ? message.to : message.from;
    seconds[static_cast<std::size_t>(block.rank)][peer] += block.end_seconds - block.begin_seconds;
  }
  std::vector<std::vector<PeerWait>> waits(seconds.size());
  for (std::size_t rank = 0; rank < seconds.size(); ++rank) {
    for (const auto& [peer, total] : seconds[rank]) waits[rank].push_back({peer, total});
  }
  return waits;
}

}  // namespace tutti
