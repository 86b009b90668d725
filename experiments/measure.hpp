// Measuring: a job between real ranks by the clock, or on a simulated cluster.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/group_world.hpp"
#include "collectives/run.hpp"
#include "collectives/waits.hpp"
#include "collectives/world.hpp"
#include "experiments/question.hpp"
#include "experiments/trace_file.hpp"
#include "sim/simulated_world.hpp"

namespace tutti {

/// Figures over the iterations of a job; an iteration takes as long as its slowest rank.
struct Timing {
  double mean_seconds = 0.0;
  double p50_seconds = 0.0;
  double p99_seconds = 0.0;
};

/// Of at least one iteration. Percentiles are nearest ranks, but the median of an even number is
/// the mean of the middle two.
Timing timing_of(std::vector<double> seconds);

struct Repetitions {
  int warmup = 5;
  int iterations = 20;
  int calls = 1;         ///< In a row for each iteration, whose time is shared among them.
  bool refresh = false;  ///< Every rank writes its buffer anew before each iteration.
};

/// Runs jobs in a world, in memory that it allocates once: in place, but for alltoall, whose ranks
/// send from a second buffer.
class Meter {
 public:
  /// For jobs of at most `largest_bytes`, at most `most_jobs` of them at once. `world` and `trace`
  /// outlive it. Throws Error(system) where there is not enough memory.
  Meter(World& world, std::size_t largest_bytes, std::size_t most_jobs, Repetitions repetitions,
        const TraceFile& trace);

  /// Times the jobs on buffers of zeros, which stay zeros. Iterations of different jobs alternate,
  /// so that what else the machine does hits all of them; between any two is a barrier, not timed.
  std::vector<Timing> time(std::span<const Job> jobs);

  /// From here on time() also adds up how long each rank waits, and for whom, in the iterations
  /// that count. Costs some dozens of nanoseconds a message.
  void count_waits();

  /// Since count_waits().
  WaitReport waits();

  /// Runs each job once on predictable inputs; elements that are wrong, over all ranks.
  std::vector<std::size_t> count_wrong(std::span<const Job> jobs);

 private:
  Block block_of(std::byte* buffers, int rank, const Job& job) const;
  Arguments arguments_of(int rank, const Job& job) const;
  void allocate_sent(std::span<const Job> jobs);
  double* seconds_of(std::size_t rank) const;
  double* waits_of(std::size_t rank) const;
  void add_waits(std::size_t rank, const Waits& waits, std::size_t jobs) const;

  template <typename T>
  void fetch(std::size_t rank, T* items, std::size_t count) {
    world_.fetch(static_cast<int>(rank), reinterpret_cast<std::byte*>(items), count * sizeof(T));
  }

  World& world_;
  const std::size_t largest_bytes_;
  const std::size_t most_jobs_;
  const Repetitions repetitions_;
  const TraceFile& trace_;
  std::byte* const data_;
  std::byte* sent_ = nullptr;   ///< What alltoall sends; allocated when needed.
  double* const seconds_;       ///< By rank, iteration and job.
  std::uint64_t* const wrong_;  ///< By rank and job.
  double* waits_ = nullptr;     ///< By rank: its seconds for each peer, then all its seconds.
};

/// The job on ghosts, as one rank of a simulated world.
void run_on_ghosts(const Job& job, Channel& channel);

/// The simulated time of a job on ghosts among `members` (none: all ranks), all starting at once:
/// that of the last to end. Throws Error(timeout) if a rank still waits after `limit_seconds` of
/// it.
double simulated_seconds(SimulatedWorld& world, const Job& job, const TraceFile& trace,
                         double limit_seconds = no_deadline, const std::vector<int>& members = {});

}  // namespace tutti
