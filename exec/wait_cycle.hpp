// Ranks that wait for each other, so that none of them will ever go on.
#pragma once

#include <vector>

#include "exec/board.hpp"

namespace tutti {

/// Each rank waits for the next one, the last for the first.
struct WaitCycle {
  std::vector<int> ranks;   ///< None: there is no such cycle.
  bool is_bounded = false;  ///< One of the waits has a deadline of its own and will end by itself.
};

/// The cycle of waits on `lane` through `rank`, which has published what it waits for and is about
/// to sleep. Certain: what is found stays so. Whoever goes to sleep last finds it.
WaitCycle find_cycle(const Board& board, int lane, int rank);

}  // namespace tutti
