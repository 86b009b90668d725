// Traced: counts and reports what passes through a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/decorator.hpp"

namespace tutti {

/// Totals of finished requests.
struct Traffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;

  Traffic& operator+=(const Traffic& other);
  bool operator==(const Traffic&) const = default;
};

/// One finished request.
struct TraceRecord {
  int rank = 0;
  int lane = 0;
  bool is_send = false;
  int peer = 0;
  std::size_t bytes = 0;
  DType dtype = DType::float32;
  Op op = Op::replace;
  std::string_view call;  ///< The algorithm's name.
  std::uint64_t sequence = 0;
  int step = 0;
  double posted_seconds = 0.0;
  double finished_seconds = 0.0;  ///< When its wait returned.

  /// One line of JSON without the line feed; the keys are the names above.
  std::string to_json() const;
};

/// Forwards to `inner`, which must outlive it. Without a sink it only counts.
class Traced final : public Decorator {
 public:
  using Sink = std::function<void(const TraceRecord&)>;

  explicit Traced(Channel& inner, Sink sink = nullptr, int lane = 0);

  /// Exchanged with each rank so far, by rank.
  const std::vector<Traffic>& by_peer() const { return by_peer_; }
  Traffic total() const;

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  /// The record of a request that is about to be posted; its posting may take time itself.
  TraceRecord begin(Block block) const;

  Sink sink_;
  int lane_;
  std::vector<Traffic> by_peer_;
  std::unordered_map<std::uint64_t, TraceRecord> open_;
};

}  // namespace tutti
