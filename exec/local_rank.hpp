// LocalRank: the rank that this process is.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "collectives/world.hpp"
#include "exec/real_channel.hpp"

namespace tutti {

/// Runs one program, with its tasks as threads.
class LocalRank final : public Rank {
 public:
  /// Called once, by the thread that fails first, with what it threw.
  using FailureSink = std::function<void(const std::exception_ptr& thrown)>;

  LocalRank(int rank, int size, int lanes, std::uint64_t seed, const ChannelMaker& make_channel,
            FailureSink on_failure);
  ~LocalRank() override { join(); }

  Channel& channel(int lane) override;
  void spawn(std::function<void()> task) override;

  /// Runs `program` and all tasks that it spawns to their ends; a request that was never waited for
  /// is a failure too. Never throws. Returns whether nothing failed.
  bool run(const Program& program);

 private:
  void guard(const std::function<void()>& work);
  void join();
  void settle();
  void check_closed() const;

  const FailureSink on_failure_;
  std::vector<std::unique_ptr<RealChannel>> channels_;
  std::mutex mutex_;
  std::vector<std::thread> tasks_;
  std::atomic<bool> has_failed_{false};
};

}  // namespace tutti
