#include "experiments/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "collectives/bruck.hpp"
#include "collectives/local.hpp"
#include "collectives/run.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

constexpr int warmups = 2;
constexpr double warm_up_seconds = 0.3;
constexpr std::size_t smallest_buffer_bytes = 64;
constexpr std::size_t smallest_message_bytes = 8;
constexpr std::size_t fine_buffer_bytes = std::size_t{1} << 20;  // Caches end beyond.
constexpr int message_factor = 2;
constexpr std::size_t most_messages = 8;  // Sizes for each buffer.
// Messages up to this size are timed in chains, for the sake of the clock: so small ones are copied
// to and from buffers of the transport, and it does not matter who has read what.
constexpr std::size_t chained_bytes = 4096;
constexpr int chain = 32;
constexpr std::size_t large_buffer_bytes = std::size_t{2} << 20;
constexpr int large_rounds = 7;
constexpr int call_rounds = 41;
// How long the receiver keeps a sender waiting that may not need it.
constexpr double absence_seconds = 300e-6;

// As Curve.
enum Series : std::size_t {
  sent,
  alone,
  loaded,
  loaded_shared,
  reduced,
  reduced_shared,
  copied,
  combined,
  all_series,
};
static_assert(static_cast<std::size_t>(all_series) == curves);

struct Walk {
  std::byte* memory = nullptr;
  std::size_t message_bytes = 0;
  std::size_t slots = 0;
  int steps = 0;
  DType dtype = DType::float32;

  Block slot(int index) const {
    return {memory + static_cast<std::size_t>(index) % slots * message_bytes,
            message_bytes / bytes_of(dtype), dtype};
  }
};

Walk walk_of(std::byte* memory, std::size_t buffer_bytes, std::size_t message_bytes, DType dtype) {
  const std::size_t slots = std::max<std::size_t>(2, buffer_bytes / message_bytes);
  const bool is_chained = message_bytes <= chained_bytes;
  const int steps = is_chained ? chain : static_cast<int>(std::min<std::size_t>(slots - 1, chain));
  return {memory, message_bytes, slots, steps, dtype};
}

// Returns the sender's time of one send, 0 where it waits for the receiver.
double send_to_late(Channel& channel, const Walk& walk) {
  const int rank = channel.rank();
  barrier_dissemination(channel);
  const double start = channel.now();
  if (rank == 0) channel.send(1, walk.slot(0));
  const double seconds = channel.now() - start;
  if (rank == 1) {
    while (channel.now() < start + absence_seconds) continue;
    channel.recv(0, walk.slot(1));
  }
  return rank == 0 && seconds < absence_seconds / 2 ? seconds : 0.0;
}

void send_to_and_fro(Channel& channel, const Walk& walk) {
  const int rank = channel.rank();
  if (rank > 1) return;
  for (int i = 0; i < walk.steps; ++i) {
    if (rank == i % 2) {
      channel.send(rank ^ 1, walk.slot(i));
    } else {
      channel.recv(rank ^ 1, walk.slot(i + 1));
    }
  }
}

void shift_once(Channel& channel, Block out, Block in, Op op) {
  const int rank = channel.rank(), size = channel.size();
  channel.sendrecv((rank + 1) % size, out, (rank + size - 1) % size, in, op);
}

void shift(Channel& channel, const Walk& walk, Op op) {
  for (int i = 0; i < walk.steps; ++i) {
    shift_once(channel, walk.slot(i), walk.slot(i + 1), op);
  }
}

void work(Channel& channel, const Walk& walk, bool is_copy, Op op) {
  for (int i = 0; i < walk.steps; ++i) {
    const Block source = walk.slot(i), target = walk.slot(i + 1);
    is_copy ? copy_block(channel, target, source) : reduce_block(channel, target, source, op);
  }
}

// Seconds by rank, series and round.
class Samples {
 public:
  Samples(World& world, std::size_t series, int rounds)
      : world_(world),
        series_(series),
        rounds_(static_cast<std::size_t>(rounds)),
        seconds_(reinterpret_cast<double*>(
            world.allocate(static_cast<std::size_t>(world.size()) * of_rank() * sizeof(double)))) {}

  double& at(int rank, std::size_t series, int round) {
    return seconds_[static_cast<std::size_t>(rank) * of_rank() + series * rounds_ +
                    static_cast<std::size_t>(round)];
  }

  void fetch() {
    for (int rank = 0; rank < world_.size(); ++rank) {
      world_.fetch(rank, reinterpret_cast<std::byte*>(&at(rank, 0, 0)), of_rank() * sizeof(double));
    }
  }

  // Of the slowest rank, by round.
  std::vector<double> slowest(std::size_t series, int rounds, double share) {
    std::vector<double> result(static_cast<std::size_t>(rounds));
    for (int round = 0; round < rounds; ++round) {
      for (int rank = 0; rank < world_.size(); ++rank) {
        double& longest = result[static_cast<std::size_t>(round)];
        longest = std::max(longest, at(rank, series, round) * share);
      }
    }
    return result;
  }

 private:
  std::size_t of_rank() const { return series_ * rounds_; }

  World& world_;
  const std::size_t series_;
  const std::size_t rounds_;
  double* const seconds_;
};

template <typename Function>
double seconds_of(Channel& channel, const Function& function) {
  barrier_dissemination(channel);
  const double start = channel.now();
  function();
  return channel.now() - start;
}

// All series of one buffer and message, once.
void run_round(Channel& channel, const Walk& walk, std::size_t buffer_bytes, Op op,
               std::array<double, all_series>& seconds) {
  const auto write = [&] {
    std::memset(walk.memory, 0, std::max(buffer_bytes, 2 * walk.message_bytes));
  };
  write();
  seconds[alone] = seconds_of(channel, [&] { send_to_and_fro(channel, walk); });
  for (const bool reduces : {false, true}) {
    write();
    const Op each = reduces ? op : Op::replace;
    for (const std::size_t pass : {std::size_t{0}, std::size_t{1}}) {
      seconds[(reduces ? reduced : loaded) + pass] =
          seconds_of(channel, [&] { shift(channel, walk, each); });
      // From here on another rank has read all that is written next.
      shift_once(channel, walk.slot(walk.steps), walk.slot(0), Op::replace);
    }
  }
  write();
  seconds[copied] = seconds_of(channel, [&] { work(channel, walk, true, op); });
  write();
  seconds[combined] = seconds_of(channel, [&] { work(channel, walk, false, op); });
}

std::vector<ProfilePoint> lattice(std::size_t largest_bytes) {
  std::vector<ProfilePoint> points;
  for (std::size_t buffer = smallest_buffer_bytes;
       buffer <= std::max(largest_bytes, smallest_buffer_bytes);
       buffer *= buffer < fine_buffer_bytes ? 4 : 2) {
    std::vector<std::size_t> messages;
    for (std::size_t bytes = buffer;
         bytes >= smallest_message_bytes && messages.size() < most_messages;
         bytes /= message_factor) {
      messages.push_back(bytes);
    }
    // One of the smallest everywhere, for control messages.
    if (messages.back() != smallest_message_bytes) messages.push_back(smallest_message_bytes);
    std::reverse(messages.begin(), messages.end());
    for (const std::size_t bytes : messages) points.push_back({buffer, bytes});
  }
  return points;
}

double median_of(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t size = samples.size();
  return (samples[(size - 1) / 2] + samples[size / 2]) / 2;
}

// Until processes that began on one core have been moved apart, and clocks have risen.
void warm_up(World& world, std::byte* memory, std::size_t stride) {
  world.run([&](Rank& rank) {
    const Walk walk = walk_of(memory + static_cast<std::size_t>(rank.index()) * stride,
                              chained_bytes, smallest_message_bytes, DType::int8);
    const double end = rank.channel().now() + warm_up_seconds;
    // All make as many steps: each passes on whether rank 0 goes on.
    for (bool goes_on = true; goes_on;) {
      walk.memory[0] = std::byte{rank.channel().now() < end};
      broadcast_binomial(rank.channel(), Block{walk.memory, 1, DType::int8}, 0);
      goes_on = walk.memory[0] != std::byte{0};
      shift(rank.channel(), walk, Op::replace);
    }
  });
}

// Points of one buffer. What else the machine does makes them slower, never faster, and comes in
// bursts: of two passes the faster counts.
void measure_points(World& world, std::byte* memory, std::size_t stride,
                    const PatternOptions& options, std::span<ProfilePoint> points, bool is_second,
                    Samples& samples, std::vector<double>& changes) {
  const std::size_t buffer_bytes = points.front().buffer_bytes;
  const int rounds =
      buffer_bytes > large_buffer_bytes ? std::min(large_rounds, options.rounds) : options.rounds;
  const auto walks = [&](int rank, std::size_t k) {
    return walk_of(memory + static_cast<std::size_t>(rank) * stride, buffer_bytes,
                   points[k].message_bytes, options.dtype);
  };
  world.run([&](Rank& rank) {
    for (std::size_t k = 0; k < points.size(); ++k) {
      const Walk walk = walks(rank.index(), k);
      for (int round = -warmups; round < rounds; ++round) {
        std::array<double, all_series> seconds{};
        run_round(rank.channel(), walk, buffer_bytes, options.op, seconds);
        for (std::size_t s = alone; s < all_series && round >= 0; ++s) {
          samples.at(rank.index(), k * all_series + s, round) = seconds[s];
        }
      }
    }
    // At last, since ranks fall asleep meanwhile.
    for (std::size_t k = 0; k < points.size(); ++k) {
      for (int round = 0; round < rounds; ++round) {
        samples.at(rank.index(), k * all_series + sent, round) =
            send_to_late(rank.channel(), walks(rank.index(), k));
      }
    }
  });
  samples.fetch();
  for (std::size_t k = 0; k < points.size(); ++k) {
    const Walk walk = walks(0, k);
    for (std::size_t s = 0; s < all_series; ++s) {
      std::vector<double> slowest =
          samples.slowest(k * all_series + s, rounds, s == sent ? 1.0 : 1.0 / walk.steps);
      const Estimate estimate = estimate_of(slowest, options.seed + k * all_series + s);
      Estimate& known = points[k].times[s];
      if (is_second && (s == alone || s == loaded)) {
        changes.push_back(std::abs(known.seconds / estimate.seconds - 1));
      }
      if (!is_second || estimate.seconds < known.seconds) known = estimate;
    }
    if (points[k].message_bytes > chained_bytes) continue;
    points[k].times[loaded_shared] = points[k].times[loaded];
    points[k].times[reduced_shared] = points[k].times[reduced];
  }
}

// What takes no memory to speak of: a stream of small messages, a call, the same without the call.
void measure_small(World& world, std::byte* memory, std::size_t stride,
                   const PatternOptions& options, RankProfile& profile) {
  enum { gap, called, bare, all };
  Samples samples(world, all, call_rounds);
  const auto ranks = static_cast<std::size_t>(world.size());
  const Algorithm& one_call = find_algorithm(Collective::allgather, "ring");
  world.run([&](Rank& rank) {
    Channel& channel = rank.channel();
    const int index = rank.index();
    const Block all_parts{memory + static_cast<std::size_t>(index) * stride, ranks, DType::float32};
    const Walk walk{all_parts.data, sizeof(float), ranks, static_cast<int>(ranks) - 1,
                    DType::float32};
    for (int round = -warmups; round < call_rounds; ++round) {
      const std::array seconds = {seconds_of(channel,
                                             [&] {
                                               for (int i = 0; i < chain && index < 2; ++i) {
                                                 index == 0 ? channel.send(1, walk.slot(0))
                                                            : channel.recv(0, walk.slot(0));
                                               }
                                             }),
                                  seconds_of(channel,
                                             [&] {
                                               for (int i = 0; i < chain; ++i)
                                                 run(one_call, channel, all_parts);
                                             }),
                                  seconds_of(channel, [&] {
                                    for (int i = 0; i < chain; ++i)
                                      shift(channel, walk, Op::replace);
                                  })};
      for (std::size_t s = 0; s < all && round >= 0; ++s) {
        samples.at(index, s, round) = seconds[s] / chain;
      }
    }
  });
  samples.fetch();
  std::vector<double> gaps = samples.slowest(gap, call_rounds, 1.0);
  profile.gap = estimate_of(gaps, options.seed);
  std::vector<double> with = samples.slowest(called, call_rounds, 1.0);
  std::vector<double> without = samples.slowest(bare, call_rounds, 1.0);
  const Estimate most = estimate_of(with, options.seed), least = estimate_of(without, options.seed);
  const auto positive = [](double seconds) { return std::max(0.0, seconds); };
  profile.call = {positive(most.seconds - least.seconds),
                  positive(most.low_seconds - least.high_seconds),
                  positive(most.high_seconds - least.low_seconds)};
}

// The smallest message whose sender waited for a late receiver; 0: none.
std::size_t find_rendezvous(const std::vector<ProfilePoint>& points) {
  std::size_t smallest = 0;
  for (const ProfilePoint& point : points) {
    const bool waits = point.time(Curve::sent).seconds <= 0.0;
    if (waits && (smallest == 0 || point.message_bytes < smallest)) smallest = point.message_bytes;
  }
  return smallest;
}

}  // namespace

Estimate estimate_of(std::vector<double>& samples, std::uint64_t seed) {
  constexpr std::size_t resamples = 200;
  std::mt19937_64 random(seed);
  std::vector<double> medians;
  std::vector<double> drawn(samples.size());
  for (std::size_t i = 0; i < resamples; ++i) {
    for (double& each : drawn) each = samples[random() % samples.size()];
    medians.push_back(median_of(drawn));
  }
  std::sort(medians.begin(), medians.end());
  return {median_of(samples), medians[resamples / 20], medians[resamples - 1 - resamples / 20]};
}

MeasuredRanks measure_ranks(World& world, const PatternOptions& options) {
  MeasuredRanks result;
  result.profile.ranks = world.size();
  std::vector<ProfilePoint>& points = result.profile.points;
  points = lattice(options.largest_bytes);
  const std::size_t stride = 2 * std::max(options.largest_bytes, std::size_t{4096});
  std::byte* const memory = world.allocate(stride * static_cast<std::size_t>(world.size()));
  Samples samples(world, (most_messages + 1) * all_series, options.rounds);
  std::vector<double> changes;
  warm_up(world, memory, stride);
  for (const bool is_second : {false, true}) {
    for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
      while (end < points.size() && points[end].buffer_bytes == points[begin].buffer_bytes) ++end;
      measure_points(world, memory, stride, options, std::span(points).subspan(begin, end - begin),
                     is_second, samples, changes);
    }
  }
  measure_small(world, memory, stride, options, result.profile);
  result.profile.rendezvous_bytes = find_rendezvous(points);
  result.noise = median_of(changes);
  return result;
}

}  // namespace tutti
