// Closed forms: what an algorithm costs on paper, which plans and simulations are checked against.
#pragma once

#include <cstddef>

namespace tutti {

struct Algorithm;

/// The alpha-beta-gamma model: a message of b bytes takes alpha + b beta, from when both ends are
/// ready, in each direction independently and without contention; reducing b bytes takes b gamma.
/// The overheads, LogGP's o, keep a rank itself busy, with one message after the other, however
/// many are under way at once.
struct CostModel {
  double alpha_seconds = 0.0;
  double beta_seconds_per_byte = 0.0;
  double gamma_seconds_per_byte = 0.0;
  double send_overhead_seconds = 0.0;     ///< For each send that a rank posts, before it begins.
  double receive_overhead_seconds = 0.0;  ///< For each receive, after the message has ended.

  /// What a message keeps its two ranks busy for, together.
  double overhead_seconds() const { return send_overhead_seconds + receive_overhead_seconds; }
};

/// What messages cost by the class of the link that they cross: ranks are in groups of `group`
/// consecutive ones; a message within a group costs `inner`, any other `outer`, even when all ranks
/// send at once. With a group of 1, all links are alike and cost `outer`.
struct CostProfile {
  CostModel outer;
  CostModel inner = {};
  int group = 1;
  /// Of `outer` where but one rank of each group sends to another group; 0 for no less.
  double lone_beta_seconds_per_byte = 0.0;

  /// What messages cost at most among any `ranks` consecutive ranks that begin at a multiple of
  /// `ranks`.
  const CostModel& within(int ranks) const { return group % ranks == 0 ? inner : outer; }

  /// What messages between groups cost where but one rank of each group sends them.
  CostModel lone_outer() const {
    CostModel lone = outer;
    if (lone_beta_seconds_per_byte > 0.0) lone.beta_seconds_per_byte = lone_beta_seconds_per_byte;
    return lone;
  }

  /// What messages cost at most among the first `ranks`.
  const CostModel& among_first(int ranks) const {
    return group > 1 && ranks <= group ? inner : outer;
  }
};

/// What some algorithms can be told; 0, or null, leaves the choice to the algorithm, which
/// documents it.
struct Tuning {
  int segments = 0;                  ///< Pieces that a pipelined algorithm cuts the buffer into.
  int radix = 0;                     ///< Fan-out of a k-nomial tree or exchange.
  int group = 0;                     ///< Ranks of one inner group of a hierarchical algorithm.
  const Algorithm* inner = nullptr;  ///< What a hierarchical algorithm runs within the groups, of
                                     ///< inner_collective().
  const Algorithm* outer = nullptr;  ///< What it runs between them, of its own collective.

  bool operator==(const Tuning&) const = default;
};

/// One use of a collective: `count` elements of `element_bytes` in the whole buffer.
struct Problem {
  int ranks = 1;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  int root = 0;
  Tuning tuning = {};

  std::size_t bytes() const { return count * element_bytes; }
};

/// How many messages pass through the hands of ranks one after the other: on the longest chain of
/// steps, what one rank at most sends and receives in each of them.
struct Messages {
  int sent = 0;
  int received = 0;

  Messages& operator+=(const Messages& other) {
    sent += other.sent;
    received += other.received;
    return *this;
  }
  bool operator==(const Messages&) const = default;
};

/// The smallest L with 2^L >= ranks: rounds of anything binomial.
int ceil_log2(int ranks);

/// The largest k with 2^k <= ranks.
int floor_log2(int ranks);

}  // namespace tutti
