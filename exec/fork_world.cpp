#include "exec/fork_world.hpp"

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "exec/launcher.hpp"
#include "exec/process_memory.hpp"
#include "exec/rank_process.hpp"
#include "exec/shm_channel.hpp"
#include "exec/tcp_local.hpp"

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

// The rank that failed first; a rank that died is one, also if another noticed before this process.
int first_culprit(const Board& board) {
  const int first = board.first_failed();
  if (first < 0 || board.rank(first).failure.kind != ErrorKind::peer_lost) return first;
  for (int rank = 0; rank < board.size(); ++rank) {
    if (board.rank(rank).failure.cause == FailureRecord::Cause::death) return rank;
  }
  return first;
}

void throw_first_failure(const Board& board, const std::vector<int>& stopped_ranks) {
  const int rank = first_culprit(board);
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
        throw never_received({.from = from,
                              .to = to,
                              .count = envelope.count,
                              .dtype = envelope.dtype,
                              .from_call = describe_call(board.lane(from, lane).call.load()),
                              .to_call = describe_call(board.lane(to, lane).call.load())});
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
  if (options_.wire == Wire::tcp) return run_tcp(program);
  const Board board(size(), lanes());
  const ShmChannel::Settings settings{options_.timeout_seconds, patience_for(size()),
                                      options_.checks_calls, options_.reads_memory};
  Launcher launcher(board);
  const pid_t launcher_pid = getpid();
  launcher.start([&](int rank) {
    const ChannelMaker make_channel = [&](int lane) {
      return std::make_unique<ShmChannel>(rank, lane, board, arena_, settings);
    };
    permit_reads(launcher_pid);
    if (options_.pins && size() <= available_cores()) pin_to_core(rank);
    return run_rank(rank, board, make_channel, options_.seed, program);
  });
  finish(board, launcher);
  check_all_received(board);
  large_traffic_ = board.large_traffic();
}

void ForkWorld::run_tcp(const Program& program) {
  const Board board(size(), lanes());
  LocalTcp tcp(board, {options_.address, options_.port, options_.timeout_seconds});
  Launcher launcher(board);
  launcher.start([&](int rank) {
    return run_rank(rank, board, tcp.channels_of(rank), options_.seed, program);
  });
  tcp.release();
  finish(board, launcher);
  tcp.check_all_received();
}

void ForkWorld::finish(const Board& board, Launcher& launcher) {
  launcher.watch(options_.timeout_seconds);
  throw_first_failure(board, launcher.stopped_ranks());
}

}  // namespace tutti
