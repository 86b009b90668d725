#include "sim/replay_streams.hpp"

#include <algorithm>

namespace tutti {

std::uint32_t ReplayMessages::open_slot() {
  if (free_.empty()) {
    if (size_ % chunk_slots == 0) {
      chunks_.push_back(std::make_unique<ReplayMessage[]>(chunk_slots));
    }
    return size_++;
  }
  const std::uint32_t message = free_.back();
  free_.pop_back();
  return message;
}

void ReplayMessages::close_slot(std::uint32_t message) {
  ReplayMessage& slot = (*this)[message];
  ++slot.serial;
  slot.out.posted = slot.in.posted = slot.out.closed = slot.in.closed = false;
  slot.out.waiter = slot.in.waiter = slot.next = slot.record = none;
  slot.end_seconds = no_deadline;
  slot.begun = false;
  slot.failure = ReplayMessage::Failure::no;
  slot.is_copied = false;
  free_.push_back(message);
}

std::size_t ReplayMessages::queued(std::uint32_t message) const {
  std::size_t count = 0;
  for (; message != none; message = chunks_[message / chunk_slots][message % chunk_slots].next) {
    ++count;
  }
  return count;
}

ReplayStreams::ReplayStreams(const Shape& shape, int size, int lanes)
    : shape_(shape),
      size_(size),
      peers_(static_cast<std::size_t>(size) * static_cast<std::size_t>(lanes)) {}

void ReplayStreams::enqueue(ReplayMessages& messages, std::uint32_t stream, std::uint32_t message) {
  ReplayStream& queue = streams_[stream];
  messages[message].next = none;
  if (queue.first == none) {
    queue.first = message;
  } else {
    messages[queue.last].next = message;
  }
  queue.last = message;
}

std::uint32_t ReplayStreams::dequeue(ReplayMessages& messages, std::uint32_t stream) {
  ReplayStream& queue = streams_[stream];
  const std::uint32_t message = queue.first;
  queue.first = messages[message].next;
  return message;
}

void ReplayStreams::remove(ReplayMessages& messages, std::uint32_t message) {
  ReplayStream& queue = streams_[messages[message].stream];
  if (queue.first == message) {
    queue.first = messages[message].next;
    return;
  }
  std::uint32_t before = queue.first;
  while (messages[before].next != message) before = messages[before].next;
  messages[before].next = messages[message].next;
  if (queue.last == message) queue.last = before;
}

std::uint32_t ReplayStreams::pair_of(int lane, int own, int peer) {
  const auto peers_at = [&](int rank) -> Peers& {
    return peers_[static_cast<std::size_t>(lane) * static_cast<std::size_t>(size_) +
                  static_cast<std::size_t>(rank)];
  };
  if (const Peer* const known = find_slot(peers_at(own), peer); known != nullptr) {
    return known->pair;
  }
  const auto pair = static_cast<std::uint32_t>(streams_.size() / 2);
  const int low = std::min(own, peer), high = std::max(own, peer);
  streams_.push_back({.from = low, .to = high, .lane = lane});
  streams_.push_back({.from = high, .to = low, .lane = lane});
  insert(peers_at(own), {peer, pair});
  insert(peers_at(peer), {own, pair});
  return pair;
}

namespace {

std::size_t home_of(int rank, std::size_t slots) {
  return (static_cast<std::uint32_t>(rank) * 2654435769U >> 7) & (slots - 1);
}

}  // namespace

ReplayStreams::Peer* ReplayStreams::find_slot(Peers& peers, int rank) {
  const std::size_t slots = peers.slots.size();
  if (slots == 0) return nullptr;
  for (std::size_t slot = home_of(rank, slots); peers.slots[slot].pair != none;
       slot = (slot + 1) & (slots - 1)) {
    if (peers.slots[slot].rank == rank) return &peers.slots[slot];
  }
  return nullptr;
}

void ReplayStreams::insert(Peers& peers, Peer peer) {
  constexpr std::size_t first_slots = 4;
  if (2 * (peers.count + 1) > peers.slots.size()) {
    std::vector<Peer> old(std::max(first_slots, 2 * peers.slots.size()));
    old.swap(peers.slots);
    peers.count = 0;
    for (const Peer& known : old) {
      if (known.pair != none) insert(peers, known);
    }
  }
  const std::size_t mask = peers.slots.size() - 1;
  std::size_t slot = home_of(peer.rank, peers.slots.size());
  while (peers.slots[slot].pair != none) slot = (slot + 1) & mask;
  peers.slots[slot] = peer;
  ++peers.count;
}

void ReplayStreams::find_route(ReplayStream& stream) {
  const Route route = shape_.route_of_ranks(stream.from, stream.to);
  stream.latency_seconds = shape_.latency_seconds(route) - shape_.overhead_seconds(route);
  stream.overhead_bytes = shape_.overhead_bytes(route);
  stream.bandwidth_bytes_per_second = shape_.bandwidth_bytes_per_second(route);
  constexpr std::size_t piece_links = std::size_t{1} << 16;
  if (links_.empty() || links_.back().size() + route.size() > links_.back().capacity()) {
    links_.emplace_back().reserve(std::max(piece_links, route.size()));
  }
  std::vector<int>& piece = links_.back();
  piece.insert(piece.end(), route.begin(), route.end());
  stream.links = std::span(piece).last(route.size());
  stream.has_route = true;
}

}  // namespace tutti
