// GoalGraph: what a GOAL text says, before it becomes a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// One operation of a GOAL text.
struct GoalOperation {
  enum class Kind : std::uint8_t { send, recv, calc };

  Kind kind = Kind::send;
  int rank = 0;
  int peer = -1;                            ///< Of send and recv; -1 receives from any rank.
  long tag = 0;                             ///< -1 receives any tag.
  std::size_t bytes = 0;                    ///< Of send and recv.
  double seconds = 0.0;                     ///< Of calc.
  std::string_view label = {};              ///< Of calc: what it is, if nothing of GOAL.
  std::size_t line = 0;                     ///< In the text, from 1.
  std::vector<std::size_t> requires_end;    ///< Indices of operations that end before this starts.
  std::vector<std::size_t> requires_start;  ///< Of operations that start before this starts.

  /// "rank 3, line 17: send of 8 bytes to 4, tag 0".
  std::string describe() const;
};

struct GoalGraph {
  static constexpr int any = -1;
  static constexpr int most_ranks = 1 << 16;

  int ranks = 0;
  std::vector<GoalOperation> operations;  ///< In the order of the text.
};

/// Throws Error(usage) with the line, what was found there and what was expected.
GoalGraph parse_goal_graph(std::string_view text);

}  // namespace tutti
