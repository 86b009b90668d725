#include "sim/host_cores.hpp"

#include <algorithm>

namespace tutti {

HostCores::HostCores(const Shape& shape, EventQueue& queue)
    : shape_(shape), queue_(queue), states_(shape.hosts.size()) {}

void HostCores::begin(double now_seconds, int host, double bytes, std::uint32_t task) {
  const auto index = static_cast<std::size_t>(host);
  advance(now_seconds, index);
  states_[index].pieces.push_back({task, bytes});
  await_next(now_seconds, index);
}

void HostCores::handle(double now_seconds, const Event& event, std::vector<std::uint32_t>& done) {
  State& state = states_[event.target];
  if (state.serial != event.serial) return;
  advance(now_seconds, event.target);
  // The smallest are those that the event was for, whatever rounding has left of them.
  double smallest = state.pieces.front().bytes;
  for (const Piece& piece : state.pieces) smallest = std::min(smallest, piece.bytes);
  for (const Piece& piece : state.pieces) {
    if (piece.bytes == smallest) done.push_back(piece.task);
  }
  std::erase_if(state.pieces, [=](const Piece& piece) { return piece.bytes == smallest; });
  await_next(now_seconds, event.target);
}

void HostCores::cancel(double now_seconds, int host, std::uint32_t task) {
  const auto index = static_cast<std::size_t>(host);
  advance(now_seconds, index);
  std::erase_if(states_[index].pieces, [=](const Piece& piece) { return piece.task == task; });
  await_next(now_seconds, index);
}

double HostCores::rate_of(std::size_t host) const {
  const Host& owner = shape_.hosts[host];
  const auto pieces = static_cast<double>(states_[host].pieces.size());
  const double share = std::min(1.0, static_cast<double>(owner.cores) / pieces);
  return owner.reduction_bytes_per_second.value_or(0.0) * owner.speed * share;
}

void HostCores::advance(double now_seconds, std::size_t host) {
  State& state = states_[host];
  if (!state.pieces.empty() && now_seconds > state.since_seconds) {
    const double done = rate_of(host) * (now_seconds - state.since_seconds);
    for (Piece& piece : state.pieces) piece.bytes = std::max(piece.bytes - done, 0.0);
  }
  state.since_seconds = now_seconds;
}

void HostCores::await_next(double now_seconds, std::size_t host) {
  State& state = states_[host];
  ++state.serial;
  if (state.pieces.empty()) return;
  double smallest = state.pieces.front().bytes;
  for (const Piece& piece : state.pieces) smallest = std::min(smallest, piece.bytes);
  queue_.push(now_seconds + smallest / rate_of(host),
              {Event::Kind::compute, static_cast<std::uint32_t>(host), state.serial});
}

}  // namespace tutti
