// LocalTcp: the connections between the forked ranks of one run.
#pragma once

#include <string>
#include <vector>

#include "exec/board.hpp"
#include "exec/real_channel.hpp"
#include "exec/socket.hpp"
#include "process/shared_memory.hpp"

namespace tutti {

/// Made before the fork, so that all ranks know where the others listen and can be reached at once.
class LocalTcp {
 public:
  struct Settings {
    std::string address = "127.0.0.1";  ///< Numeric.
    int port = 0;                       ///< Rank r listens at port + r; 0: free ones.
    double timeout_seconds = 30.0;
  };

  /// Throws Error(system) that names address and port where one cannot be had. `board` outlives it.
  LocalTcp(const Board& board, Settings settings);

  /// In the process of `rank`, once: its channels, which the result must outlive.
  ChannelMaker channels_of(int rank);

  /// In the caller, once all are forked: only the ranks listen.
  void release() { listeners_.clear(); }

  /// In the caller, once all have ended well: throws Error(mismatch) where a message was sent and
  /// never received.
  void check_all_received() const;

 private:
  PeerTraffic* ledger(int rank, int lane) const;

  const Board& board_;
  const Settings settings_;
  SharedMapping ledgers_;
  std::uint64_t session_;
  std::vector<Descriptor> listeners_;
  std::vector<Member> members_;
};

}  // namespace tutti
