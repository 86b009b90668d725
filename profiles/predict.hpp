// Prediction: what a collective takes with a profile, by simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "collectives/decorator.hpp"
#include "profiles/profile.hpp"

namespace tutti {

/// Disjoint ranges of addresses.
class Ranges {
 public:
  void add(std::uintptr_t begin, std::uintptr_t end);
  void remove(std::uintptr_t begin, std::uintptr_t end);

  /// Bytes of [begin, end) that lie in a range.
  std::size_t covered(std::uintptr_t begin, std::uintptr_t end) const;

 private:
  std::map<std::uintptr_t, std::uintptr_t> ranges_;  ///< End by begin.
};

/// How ranks that are busy at the same time slow each other down.
struct Contention {
  int cores = 1;                 ///< So many ranks work at once as fast as one.
  double factor = 1.0;           ///< Of the time of a lone message, so that `loaded` comes out.
  double latency_seconds = 0.0;  ///< Of a message, while no rank works on it,
  double lone_latency_seconds = 0.0;  ///< or of a lone one.

  /// From what messages of a size took alone and with all ranks at once. Where ranks take turns on
  /// cores, a message waits for its receiver's turn.
  static Contention of(const RankProfile& profile, int ranks, std::size_t message_bytes,
                       std::size_t buffer_bytes);
};

/// Passes messages on to `inner`, a simulated channel, as ghosts of eager_bytes, or of one more
/// where the sender waits for the receiver, and charges ranks for what they do: the sender for
/// `sent`, the receiver for the rest of `alone`, for reductions, and for writing to memory that
/// another rank has read since, which the ghosts' addresses tell (see ghost_address()).
class ProfiledChannel final : public Decorator {
 public:
  static constexpr std::size_t eager_bytes = 1;

  /// `profile`, `contention` and `inner` outlive it; all on buffers of `buffer_bytes`.
  ProfiledChannel(Channel& inner, const RankProfile& profile, const Contention& contention,
                  std::size_t buffer_bytes);

  void charge(const Work& work_done) override;

  /// Keeps one of the cores busy; not where it is negative.
  void work(double seconds);

  /// The same for what took `seconds` while all ranks did it.
  void work_among_all(double seconds);

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Open {
    Block block;
    Op op = Op::replace;
    bool is_send = false;
  };

  double seconds(Curve curve, std::size_t bytes) const;
  double sender_seconds(std::size_t bytes) const;
  Block carried(Block block) const;
  double write(Block block, Curve owned, Curve shared);

  const RankProfile& profile_;
  const Contention& contention_;
  const std::size_t buffer_bytes_;
  Ranges shared_;  ///< Read by others since this rank last wrote it.
  std::map<std::uint64_t, Open> open_;
};

/// One rank's part of a collective, on ghosts with addresses.
using GhostCall = std::function<void(Channel&)>;

/// The time of `calls` in a row on `ranks` ranks of one machine that work on buffers of
/// `buffer_bytes`, until the last rank is done, over their number.
double predicted_seconds(const Profile& profile, int ranks, std::size_t buffer_bytes, int calls,
                         const GhostCall& call);

}  // namespace tutti
