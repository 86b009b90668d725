#include "exec/fork_world.hpp"

#include <memory>
#include <string>
#include <vector>

#include "exec/board.hpp"
#include "exec/launcher.hpp"
#include "exec/rank_process.hpp"
#include "exec/shm_channel.hpp"

namespace tutti {
namespace {

// Where the dead rank was, and where that found each of the others.
std::string describe_death(const Board& board, int dead) {
  std::string text = board.rank(dead).failure.text();
  for (int lane = 0; lane < board.lanes(); ++lane) {
    const CallRecord call = board.lane(dead, lane).call.load();
    if (call.sequence == 0) continue;
    text +=
        fmt::format("{} {} (call #{})", lane == 0 ? " in" : " and", call.describe(), call.sequence);
  }
  for (int rank = 0; rank < board.size(); ++rank) {
    const FailureRecord& failure = board.rank(rank).failure;
    if (rank == dead || failure.cause == FailureRecord::Cause::none) continue;
    text += "; " + failure.text();
  }
  return text;
}

void throw_first_failure(const Board& board, const std::vector<int>& stopped_ranks) {
  const int rank = board.first_failed();
  if (rank < 0) return;
  const FailureRecord& failure = board.rank(rank).failure;
  std::string stopped;
  for (const int other : stopped_ranks) stopped += fmt::format("; rank {} was stopped", other);
  switch (failure.cause) {
    case FailureRecord::Cause::contract:
      throw ContractError(failure.text());
    case FailureRecord::Cause::death:
      throw Error(ErrorKind::peer_lost, describe_death(board, rank) + stopped, rank);
    case FailureRecord::Cause::none:
    case FailureRecord::Cause::error:
      throw Error(failure.kind, failure.text() + stopped, rank);
  }
}

// "broadcast_linear of 10 float32, root 0 (call #1)"
std::string describe_call(const CallRecord& call) {
  if (call.sequence == 0) return "no collective";
  return fmt::format("{} (call #{})", call.describe(), call.sequence);
}

void check_all_received(const Board& board) {
  for (int lane = 0; lane < board.lanes(); ++lane) {
    for (int from = 0; from < board.size(); ++from) {
      // A lane without calls may still have been used; only ranks without a peer cannot have.
      for (int to = 0; to < board.size(); ++to) {
        Queue& queue = board.queue(from, to, lane);
        const std::uint64_t tail = queue.tail.load(), head = queue.head.load();
        if (from == to || head == tail) continue;
        const Envelope& envelope = queue.slot(head).envelope;
        throw Error(
            ErrorKind::mismatch,
            fmt::format("rank {} sent {} bytes ({} {}) to rank {} that it never received; rank {} "
                        "was last in {}, rank {} in {}; all ranks must make the same calls",
                        from, envelope.count * bytes_of(envelope.dtype), envelope.count,
                        name_of(envelope.dtype), to, from,
                        describe_call(board.lane(from, lane).call.load()), to,
                        describe_call(board.lane(to, lane).call.load())),
            from);
      }
    }
  }
}

}  // namespace

ForkWorld::ForkWorld(int size, ForkOptions options)
    : World(size, options.lanes), options_(options) {
  check(size >= 1 && options.lanes >= 1, "a world needs ranks and lanes, not {} and {}", size,
        options.lanes);
}

std::byte* ForkWorld::allocate(std::size_t bytes) {
  return arena_.allocate(bytes);
}

void ForkWorld::run(const Program& program) {
  const Board board(size(), lanes());
  const ShmChannel::Settings settings{options_.timeout_seconds, patience_for(size())};
  Launcher launcher(board);
  launcher.start([&](int rank) {
    const ChannelMaker make_channel = [&](int lane) {
      return std::make_unique<ShmChannel>(rank, lane, board, arena_, settings);
    };
    return run_rank(rank, board, make_channel, options_.seed, program);
  });
  launcher.watch(options_.timeout_seconds);
  throw_first_failure(board, launcher.stopped_ranks());
  check_all_received(board);
}

}  // namespace tutti
