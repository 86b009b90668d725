// Space-time diagrams of a plan: who sends what to whom, and when.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/plan_check.hpp"

namespace tutti {

/// A message as diagrams and tables show it.
struct Arrow {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;
  bool folds = false;  ///< The receiver combines it with what it has.
  int step = 0;        ///< When it arrives if every message takes one step, from 1.
  double begin_seconds = 0.0;
  double end_seconds = 0.0;
  PlanAddress address;  ///< At the sender.
};

/// The messages of a replay, by step, then sender and receiver.
std::vector<Arrow> arrows_of(const Plan& plan, const CostModel& model);

/// "0-3,7": ascending, runs joined.
std::string format_ranks(std::vector<int> ranks);

/// One line a step, one column a rank (or the other way round where that is narrower): ">1" sends
/// to rank 1, "<1" receives from it, "+1" receives and reduces. Equal lines in a row share one.
/// Empty if it would be wider than 200 characters.
std::string text_diagram(const std::vector<Arrow>& arrows, int ranks);

inline constexpr int most_svg_ranks = 32;
inline constexpr std::size_t most_svg_arrows = 20'000;

/// Ranks as horizontal lines, time from left to right, an arrow from the sender when a message
/// begins to the receiver when it ends. Throws Error(usage) for more than most_svg_ranks ranks or
/// most_svg_arrows arrows.
std::string svg_diagram(const std::vector<Arrow>& arrows, int ranks, const std::string& title);

}  // namespace tutti
