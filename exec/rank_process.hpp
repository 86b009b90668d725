// What a forked process does with its life: be one rank.
#pragma once

#include <cstdint>

#include "collectives/world.hpp"
#include "exec/board.hpp"
#include "exec/real_channel.hpp"

namespace tutti {

/// The exit codes of a rank. Anything else comes from the program, and is its death.
inline constexpr int exit_code_done = 0;
inline constexpr int exit_code_failed = 1;  ///< The board's record of the rank says why.

/// Runs `program` as rank `rank` and returns an exit code, never an exception: a failure of the
/// program or of a task it has spawned is in the board.
int run_rank(int rank, const Board& board, const ChannelMaker& make_channel, std::uint64_t seed,
             const Program& program);

}  // namespace tutti
