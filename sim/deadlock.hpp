// What to say where no rank can go on: the same for all engines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "collectives/channel.hpp"

namespace tutti {

/// "rank 0 waits for 4096 bytes from rank 3 (allreduce_ring, step 1 of 6)".
std::string describe_wait(const Progress& progress, int rank, bool is_send, std::size_t bytes,
                          int peer);

/// How a rank is when nothing happens any more.
struct RankState {
  struct Wait {
    int peer = 0;
    std::string text;  ///< describe_wait().
  };

  bool has_ended = false;
  bool is_killed = false;
  bool is_stalled = false;
  std::vector<Wait> waits = {};
};

/// peer_lost, of the first rank that waits for one that has ended or was killed, else deadlock.
Error describe_deadlock(const std::vector<RankState>& ranks);

/// The errors of ranks that are killed, and of messages that end with their other rank.
Error killed(int rank);
Error never_received(int lane, int from, int to, std::size_t messages);

}  // namespace tutti
