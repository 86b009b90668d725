#include "exec/wait_cycle.hpp"

namespace tutti {
namespace {

// Whether what `rank` waits for has not come. The rank it waits for is asleep too, and had done all
// it could before: it will not come.
bool waits_in_vain(const Board& board, int lane, int rank, const Waiting& waiting) {
  if (!board.lane(rank, lane).bell.is_armed()) return false;
  switch (waiting.kind) {
    case WaitKind::receive: {
      const Queue& queue = board.queue(waiting.peer, rank, lane);
      return queue.head.load() == queue.tail.load();
    }
    case WaitKind::send: {
      const Queue& queue = board.queue(rank, waiting.peer, lane);
      return queue.head.load() != queue.tail.load();
    }
    case WaitKind::entry:
      break;
  }
  return true;
}

}  // namespace

WaitCycle find_cycle(const Board& board, int lane, int rank) {
  const auto waiting_of = [&](int of) {
    return Waiting::unpack(board.lane(of, lane).waiting.load());
  };
  WaitCycle cycle;
  std::vector<Waiting> waits;
  for (int at = rank; waits.empty() || at != rank;) {
    const Waiting waiting = waiting_of(at);
    if (waiting.peer < 0 || waits.size() == static_cast<std::size_t>(board.size())) return {};
    cycle.ranks.push_back(at);
    cycle.is_bounded |= waiting.is_bounded;
    waits.push_back(waiting);
    at = waiting.peer;
  }
  // The same sleeps before and after, and nobody rung in between: nothing has happened.
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (!waits_in_vain(board, lane, cycle.ranks[i], waits[i])) return {};
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waiting_of(cycle.ranks[i]) != waits[i]) return {};
  }
  return cycle;
}

}  // namespace tutti
