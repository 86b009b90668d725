#include "experiments/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "collectives/bruck.hpp"
#include "experiments/inputs.hpp"

namespace tutti {
namespace {

constexpr std::size_t alignment_bytes = 128;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

std::size_t ranks_of(const World& world) {
  return static_cast<std::size_t>(world.size());
}

// One buffer for each rank.
std::byte* allocate_buffers(World& world, std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / ranks_of(world)) {
    throw Error(ErrorKind::system,
                fmt::format("cannot allocate {} bytes for each of {} ranks", bytes, world.size()));
  }
  return world.allocate(bytes * ranks_of(world));
}

bool is_alltoall(const Job& job) {
  return job.algorithm->collective == Collective::alltoall;
}

// In place, but for alltoall, for which that means a copy that it does not need.
Arguments arguments_of(const Job& job, const Division& division, int rank, Block data, Block sent) {
  Arguments arguments{.output = data,
                      .op = job.op,
                      .root = job.root,
                      .accumulate = job.accumulate,
                      .tuning = job.tuning,
                      .counts = division.counts_of(rank)};
  if (is_alltoall(job)) {
    arguments.input = sent;
    arguments.source_counts = arguments.counts;
  }
  return arguments;
}

}  // namespace

Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t count = seconds.size();
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(count)));
  return {sum / static_cast<double>(count), (seconds[(count - 1) / 2] + seconds[count / 2]) / 2,
          seconds[rank - 1]};
}

Meter::Meter(World& world, std::size_t largest_bytes, std::size_t most_jobs,
             Repetitions repetitions, const TraceFile& trace)
    : world_(world),
      largest_bytes_(aligned(largest_bytes)),
      most_jobs_(most_jobs),
      repetitions_(repetitions),
      trace_(trace),
      data_(allocate_buffers(world, largest_bytes_)),
      seconds_(reinterpret_cast<double*>(
          world.allocate(static_cast<std::size_t>(repetitions.iterations) * most_jobs *
                         ranks_of(world) * sizeof(double)))),
      wrong_(reinterpret_cast<std::uint64_t*>(
          world.allocate(most_jobs * ranks_of(world) * sizeof(std::uint64_t)))) {}

Block Meter::block_of(std::byte* buffers, int rank, const Job& job) const {
  return {buffers + static_cast<std::size_t>(rank) * largest_bytes_, job.count, job.dtype};
}

Arguments Meter::arguments_of(int rank, const Job& job) const {
  return tutti::arguments_of(job, job.division(world_.size()), rank, block_of(data_, rank, job),
                             is_alltoall(job) ? block_of(sent_, rank, job) : Block{});
}

void Meter::allocate_sent(std::span<const Job> jobs) {
  if (sent_ != nullptr || std::none_of(jobs.begin(), jobs.end(), is_alltoall)) return;
  sent_ = allocate_buffers(world_, largest_bytes_);
}

double* Meter::seconds_of(std::size_t rank) const {
  return seconds_ + rank * static_cast<std::size_t>(repetitions_.iterations) * most_jobs_;
}

double* Meter::waits_of(std::size_t rank) const {
  return waits_ + rank * (ranks_of(world_) + 1);
}

void Meter::count_waits() {
  const std::size_t size = ranks_of(world_);
  waits_ = reinterpret_cast<double*>(world_.allocate(size * (size + 1) * sizeof(double)));
}

void Meter::add_waits(std::size_t rank, const Waits& waits, std::size_t jobs) const {
  double* const sums = waits_of(rank);
  for (std::size_t peer = 0; peer < ranks_of(world_); ++peer) sums[peer] += waits.by_peer()[peer];
  const double* const seconds = seconds_of(rank);
  const std::size_t runs = static_cast<std::size_t>(repetitions_.iterations) * jobs;
  sums[ranks_of(world_)] = std::accumulate(seconds, seconds + runs, sums[ranks_of(world_)]);
}

WaitReport Meter::waits() {
  const std::size_t size = ranks_of(world_);
  std::vector<std::vector<double>> waited_seconds;
  std::vector<double> total_seconds;
  for (std::size_t rank = 0; rank < size; ++rank) {
    fetch(rank, waits_of(rank), size + 1);
    waited_seconds.emplace_back(waits_of(rank), waits_of(rank) + size);
    total_seconds.push_back(waits_of(rank)[size]);
  }
  return report_waits(waited_seconds, total_seconds);
}

std::vector<Timing> Meter::time(std::span<const Job> jobs) {
  check(jobs.size() <= most_jobs_, "{} jobs at once, expected at most {}", jobs.size(), most_jobs_);
  const std::size_t size = ranks_of(world_);
  allocate_sent(jobs);
  world_.run([&](Rank& rank) {
    const auto index = static_cast<std::size_t>(rank.index());
    Channel& channel = rank.channel();
    TracedRank traced(channel, trace_);
    std::optional<Waits> waits;
    if (waits_ != nullptr) waits.emplace(traced.channel());
    Channel& timed = waits ? *waits : traced.channel();
    const auto write_buffers = [&](const Job& job) {
      std::memset(block_of(data_, rank.index(), job).data, 0, job.bytes());
      if (is_alltoall(job)) std::memset(block_of(sent_, rank.index(), job).data, 0, job.bytes());
    };
    for (const Job& job : jobs) write_buffers(job);
    for (int i = -repetitions_.warmup; i < repetitions_.iterations; ++i) {
      if (i == 0 && waits) waits->reset();
      for (std::size_t k = 0; k < jobs.size(); ++k) {
        const Job& job = jobs[k];
        if (repetitions_.refresh) write_buffers(job);
        barrier_dissemination(channel);
        const Arguments arguments = arguments_of(rank.index(), job);
        const double start = channel.now();
        for (int call = 0; call < repetitions_.calls; ++call) {
          run(*job.algorithm, timed, arguments);
        }
        const double seconds = (channel.now() - start) / repetitions_.calls;
        if (i < 0) continue;
        seconds_of(index)[static_cast<std::size_t>(i) * jobs.size() + k] = seconds;
      }
    }
    if (waits) add_waits(index, *waits, jobs.size());
  });
  const auto iterations = static_cast<std::size_t>(repetitions_.iterations);
  std::vector<Timing> timings;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    std::vector<double> slowest(iterations);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (k == 0) fetch(rank, seconds_of(rank), iterations * jobs.size());
      for (std::size_t i = 0; i < iterations; ++i) {
        slowest[i] = std::max(slowest[i], seconds_of(rank)[i * jobs.size() + k]);
      }
    }
    timings.push_back(timing_of(std::move(slowest)));
  }
  return timings;
}

std::vector<std::size_t> Meter::count_wrong(std::span<const Job> jobs) {
  check(jobs.size() <= most_jobs_, "{} jobs at once, expected at most {}", jobs.size(), most_jobs_);
  const std::size_t size = ranks_of(world_);
  allocate_sent(jobs);
  const ExactInputs inputs(world_.size(), jobs[0].dtype, jobs[0].op);
  world_.run([&](Rank& rank) {
    const auto index = static_cast<std::size_t>(rank.index());
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      const Job& job = jobs[k];
      const Arguments arguments = arguments_of(rank.index(), job);
      const Division division = job.division(world_.size());
      if (arguments.input) fill_with_filler(arguments.output);
      inputs.fill(division, rank.index(), arguments.input.value_or(arguments.output));
      barrier_dissemination(rank.channel());
      run(*job.algorithm, rank.channel(), arguments);
      wrong_[index * most_jobs_ + k] = inputs.count_wrong(division, rank.index(), arguments.output);
    }
  });
  std::vector<std::size_t> wrong(jobs.size());
  for (std::size_t rank = 0; rank < size; ++rank) {
    const std::uint64_t* const of_rank = wrong_ + rank * most_jobs_;
    fetch(rank, wrong_ + rank * most_jobs_, jobs.size());
    for (std::size_t k = 0; k < jobs.size(); ++k) wrong[k] += of_rank[k];
  }
  return wrong;
}

void run_on_ghosts(const Job& job, Channel& channel) {
  constexpr std::uintptr_t apart = std::uintptr_t{1} << 58;
  const Block ghost{ghost_address(), job.count, job.dtype};
  const Block sent{ghost_address(apart), job.count, job.dtype};
  run(*job.algorithm, channel,
      arguments_of(job, job.division(channel.size()), channel.rank(), ghost, sent));
}

double simulated_seconds(SimulatedWorld& world, const Job& job, const TraceFile& trace,
                         double limit_seconds, const std::vector<int>& members) {
  const Program program = [&](Rank& rank) {
    rank.channel().set_deadline(limit_seconds);
    TracedRank traced(rank.channel(), trace);
    run_on_ghosts(job, traced.channel());
  };
  if (members.empty()) {
    world.run_repeatable(program);
  } else {
    GroupWorld(world, members).run(program);
  }
  return world.seconds();
}

}  // namespace tutti
