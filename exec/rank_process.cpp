#include "exec/rank_process.hpp"

#include <exception>
#include <optional>

#include "exec/local_rank.hpp"

namespace tutti {
namespace {

void record(const std::exception_ptr& thrown, int rank, const Board& board) {
  FailureRecord& failure = board.rank(rank).failure;
  try {
    throw_failure(thrown, rank);
  } catch (const Error& error) {
    failure.set(FailureRecord::Cause::error, error.kind(), error.what());
  } catch (const ContractError& error) {
    failure.set(FailureRecord::Cause::contract, ErrorKind::usage, error.what());
  } catch (...) {
    failure.set(FailureRecord::Cause::error, ErrorKind::system,
                fmt::format("rank {} threw what is no std::exception", rank));
  }
  board.fail(rank);
}

}  // namespace

int run_rank(int rank, const Board& board, const ChannelMaker& make_channel, std::uint64_t seed,
             const Program& program) {
  std::optional<LocalRank> self;
  try {
    self.emplace(rank, board.size(), board.lanes(), seed, make_channel,
                 [&](const std::exception_ptr& thrown) { record(thrown, rank, board); });
  } catch (...) {
    record(std::current_exception(), rank, board);
    return exit_code_failed;
  }
  if (!self->run(program)) return exit_code_failed;
  board.leave(rank);
  return exit_code_done;
}

}  // namespace tutti
