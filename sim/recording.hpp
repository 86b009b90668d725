// Recording: what the ranks of a program do, written down without a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collectives/envelope.hpp"
#include "sim/replay_streams.hpp"
#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Something a rank does. Streams are numbered as by ReplayStreams, envelopes as by Recording.
struct Action {
  enum class Kind : std::uint8_t {
    send,     ///< Posts `sent`,
    receive,  ///< or `received`, and keeps the message in a register.
    wait,     ///< For the message in a register, and reduces it if it `is_reduced`.
    pass,     ///< Lets `seconds` pass.
    /// Posts both, waits for `received`, reduces it if it `is_reduced`, waits for `sent`:
    /// sendrecv(), which most algorithms consist of.
    exchange,
  };

  struct Post {
    std::uint32_t stream = none;
    std::uint32_t envelope = 0;
  };

  struct Posts {
    Post sent;
    Post received;
  };

  Kind kind = Kind::pass;
  bool is_send = false;  ///< What a wait is for.
  bool is_reduced = false;
  std::uint32_t message = 0;  ///< The register.
  union {
    Posts posts = {};
    double seconds;
  };
};

/// The actions of all ranks of a run in which nothing depends on time: each rank's program is
/// called by itself, one after the other, with ghosts.
class Recording {
 public:
  /// All references outlive it.
  Recording(const Shape& shape, const SimOptions& options, int size);

  /// Records every rank. False, and of no further use, if that cannot be done: a program looks at
  /// the clock, moves real data, uses several tasks or lanes, throws, or leaves requests open;
  /// ranks share cores; or there are more than `most_actions`. Then the program must be run with a
  /// clock.
  bool record(const Program& program);

  /// The actions of a rank, in order, and how many registers they use.
  const std::vector<Action>& actions(std::size_t rank) const { return actions_[rank]; }
  std::uint32_t registers() const { return registers_; }

  /// The latest that a rank may wait.
  double deadline_seconds() const { return deadline_seconds_; }

  ReplayStreams& streams() { return streams_; }
  std::size_t bytes(std::uint32_t envelope) const { return bytes_[envelope]; }

 private:
  friend class RecordingChannel;
  friend class RecordingRank;

  static constexpr std::size_t most_actions = std::size_t{1} << 26;

  bool hosts_are_shared() const;
  std::uint32_t number_of(const Envelope& envelope);

  struct Hash {
    std::size_t operator()(const Envelope& envelope) const;
  };
  struct Equal {
    bool operator()(const Envelope& left, const Envelope& right) const;
  };

  const Shape& shape_;
  const SimOptions& options_;
  const int size_;
  ReplayStreams streams_;
  std::vector<std::vector<Action>> actions_;  ///< By rank.
  std::size_t count_ = 0;                     ///< Of the actions of the ranks recorded so far.
  std::uint32_t registers_ = 0;
  double deadline_seconds_ = no_deadline;
  std::unordered_map<Envelope, std::uint32_t, Hash, Equal> envelopes_;
  std::vector<std::size_t> bytes_;  ///< By envelope.
};

}  // namespace tutti
