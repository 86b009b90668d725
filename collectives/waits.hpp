// Waits: how long a rank waits, and for whom; who keeps the others waiting.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/decorator.hpp"

namespace tutti {

/// Forwards to `inner`, which must outlive it, and adds up by peer the time, on the channel's own
/// clock, that waiting for each request takes. What a request waits for is its peer; where that
/// waits itself for another, see report_waits().
class Waits final : public Decorator {
 public:
  explicit Waits(Channel& inner);

  /// Seconds waited for each rank so far, by rank.
  const std::vector<double>& by_peer() const { return by_peer_; }

  /// Forgets what it has added up.
  void reset();

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Open {
    std::uint64_t id = 0;
    int peer = 0;
  };

  std::vector<double> by_peer_;
  std::vector<Open> open_;
};

/// What one rank did with its time.
struct RankWaits {
  double seconds = 0.0;       ///< In waits.
  double share = 0.0;         ///< Of its time, 0 to 1.
  int peer = -1;              ///< Whom it waited for longest; -1: it never waited.
  double peer_seconds = 0.0;  ///< For that one.
};

struct WaitReport {
  std::vector<RankWaits> ranks;
  /// The rank that everybody waited for, directly or through others that waited for it: the one
  /// that waited least itself. -1 where none waited less than half as long as the others on
  /// average.
  int straggler = -1;
};

/// `waited_seconds` by rank and peer, `total_seconds` by rank: the time in which it waited. All of
/// one size, at least 1.
WaitReport report_waits(const std::vector<std::vector<double>>& waited_seconds,
                        const std::vector<double>& total_seconds);

}  // namespace tutti
