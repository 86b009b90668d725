#include "exec/rank_process.hpp"

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tutti {
namespace {

class ProcessRank final : public Rank {
 public:
  ProcessRank(int rank, const Board& board, const SharedArena& arena,
              const ShmChannel::Settings& settings, std::uint64_t seed)
      : Rank(rank, board.size(), seed), board_(board) {
    for (int lane = 0; lane < board.lanes(); ++lane) {
      channels_.push_back(std::make_unique<ShmChannel>(rank, lane, board, arena, settings));
    }
  }
  ~ProcessRank() override { join(); }

  Channel& channel(int lane) override {
    check(lane >= 0 && lane < board_.lanes(), "rank {} has no lane {}; the world has {}", index(),
          lane, board_.lanes());
    return *channels_[static_cast<std::size_t>(lane)];
  }

  void spawn(std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back([this, task = std::move(task)] { guard(task); });
  }

  /// Runs `work`; its failure becomes the rank's unless that already has one.
  void guard(const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      record(std::current_exception());
    }
  }

  /// Waits for all tasks, also those that tasks spawn.
  void join() {
    for (;;) {
      std::vector<std::thread> tasks;
      {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      if (tasks.empty()) return;
      for (std::thread& task : tasks) task.join();
    }
  }

  /// Programmer error if a request was not waited for, or waited for twice.
  void check_closed() const {
    for (std::size_t lane = 0; lane < channels_.size(); ++lane) {
      const std::uint64_t open = channels_[lane]->open_requests();
      check(open == 0, "ended with {} open requests on lane {}, each must be waited for", open,
            lane);
    }
  }

  bool has_failed() const { return has_failed_.load(); }

 private:
  void record(const std::exception_ptr& thrown) {
    if (has_failed_.exchange(true)) return;
    FailureRecord& failure = board_.rank(index()).failure;
    try {
      throw_failure(thrown, index());
    } catch (const Error& error) {
      failure.set(FailureRecord::Cause::error, error.kind(), error.what());
    } catch (const ContractError& error) {
      failure.set(FailureRecord::Cause::contract, ErrorKind::usage, error.what());
    } catch (...) {
      failure.set(FailureRecord::Cause::error, ErrorKind::system,
                  fmt::format("rank {} threw what is no std::exception", index()));
    }
    board_.fail(index());
  }

  const Board& board_;
  std::vector<std::unique_ptr<ShmChannel>> channels_;
  std::mutex mutex_;
  std::vector<std::thread> tasks_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace

int run_rank(int rank, const Board& board, const SharedArena& arena,
             const ShmChannel::Settings& settings, std::uint64_t seed, const Program& program) {
  ProcessRank self(rank, board, arena, settings, seed);
  self.guard([&] { program(self); });
  self.join();
  self.guard([&] { self.check_closed(); });
  if (self.has_failed()) return exit_code_failed;
  board.leave(rank);
  return exit_code_done;
}

}  // namespace tutti
