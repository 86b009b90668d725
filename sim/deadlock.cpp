#include "sim/deadlock.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace tutti {

std::string describe_wait(const Progress& progress, int rank, bool is_send, std::size_t bytes,
                          int peer) {
  const std::string what =
      is_send ? fmt::format("to send {} bytes to", bytes) : fmt::format("for {} bytes from", bytes);
  return fmt::format("rank {} waits {} rank {} ({}{})", rank, what, peer,
                     progress.depth > 0 ? fmt::format("{}, ", progress.call.algorithm) : "",
                     progress.where());
}

Error describe_deadlock(const std::vector<RankState>& ranks) {
  constexpr std::size_t most_shown = 16;
  std::vector<std::string> causes, waits;
  std::size_t hidden = 0;
  int widow = -1;  // A rank that waits for one that has ended.
  const auto show = [&](std::vector<std::string>& texts, const std::string& text) {
    texts.size() < most_shown ? texts.push_back(text) : void(++hidden);
  };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].is_killed) continue;
    if (ranks[rank].is_stalled) show(causes, fmt::format("rank {} is stalled", rank));
    for (const RankState::Wait& wait : ranks[rank].waits) {
      const RankState& peer = ranks[static_cast<std::size_t>(wait.peer)];
      if (!peer.is_killed && !peer.has_ended) {
        show(waits, wait.text);
        continue;
      }
      show(causes, wait.text + (peer.is_killed ? ", which was killed" : ", which has ended"));
      if (widow < 0) widow = static_cast<int>(rank);
    }
  }
  for (const std::string& wait : waits) show(causes, wait);
  const std::string more = hidden > 0 ? fmt::format("; and {} more", hidden) : "";
  return Error(widow < 0 ? ErrorKind::deadlock : ErrorKind::peer_lost,
               fmt::format("no rank can go on: {}{}", fmt::join(causes, "; "), more), widow);
}

Error killed(int rank) {
  return Error(ErrorKind::peer_lost, fmt::format("rank {} was killed", rank), rank);
}

Error never_received(int lane, int from, int to, std::size_t messages) {
  return Error(
      ErrorKind::mismatch,
      fmt::format("rank {} ended without receiving {} messages that rank {} sent on lane {}", to,
                  messages, from, lane),
      to);
}

}  // namespace tutti
