// What always-on checks and optional accounting cost: comparing calls before anything is written,
// counting waits, and the byte hook without a sink and with a file.
//
// usage: overheads [ITERATIONS [FILE]]   (default 2000; the trace goes to FILE or /dev/null)
//
// Variants of one case take turns, run by run; an iteration takes as long as its slowest rank, and
// what is printed is the median over all iterations.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "collectives/bruck.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "collectives/traced.hpp"
#include "collectives/waits.hpp"
#include "exec/fork_world.hpp"
#include "experiments/trace_file.hpp"

namespace tutti {
namespace {

struct Case {
  Collective collective;
  const char* algorithm;
  int ranks;
  std::size_t bytes;
};

struct Variant {
  const char* name;
  bool checks_calls = true;
  bool counts_waits = false;
  bool counts_bytes = false;
  const TraceFile* trace = nullptr;
};

// A run of its own: seconds of each iteration.
std::vector<double> measure(const Case& wanted, const Variant& variant, int iterations) {
  ForkWorld world(wanted.ranks, {.checks_calls = variant.checks_calls});
  const auto ranks = static_cast<std::size_t>(wanted.ranks);
  const auto count = static_cast<std::size_t>(iterations);
  auto* const seconds = reinterpret_cast<double*>(world.allocate(ranks * count * sizeof(double)));
  std::vector<Block> data;
  for (std::size_t i = 0; i < ranks; ++i) {
    data.push_back(world.allocate_block(wanted.bytes / 4, DType::float32));
  }
  const Algorithm& algorithm = find_algorithm(wanted.collective, wanted.algorithm);
  world.run([&](Rank& rank) {
    const auto index = static_cast<std::size_t>(rank.index());
    std::optional<Waits> waits;
    std::optional<Traced> traced;
    Channel* channel = &rank.channel();
    if (variant.counts_waits) channel = &waits.emplace(*channel);
    if (variant.trace != nullptr) {
      channel = &traced.emplace(*channel,
                                [&](const TraceRecord& record) { variant.trace->append(record); });
    } else if (variant.counts_bytes) {
      channel = &traced.emplace(*channel);
    }
    for (int i = -iterations / 10; i < iterations; ++i) {
      barrier_dissemination(rank.channel());
      const double start = rank.channel().now();
      run(algorithm, *channel, data[index]);
      const double end = rank.channel().now();
      if (i >= 0) seconds[index * count + static_cast<std::size_t>(i)] = end - start;
    }
  });
  std::vector<double> slowest(count);
  for (std::size_t i = 0; i < ranks * count; ++i) {
    slowest[i % count] = std::max(slowest[i % count], seconds[i]);
  }
  return slowest;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void compare(const Case& wanted, const std::vector<Variant>& variants, int iterations) {
  constexpr int runs = 5;
  std::vector<std::vector<double>> seconds(variants.size());
  for (int i = 0; i < runs; ++i) {
    for (std::size_t k = 0; k < variants.size(); ++k) {
      const std::vector<double> more = measure(wanted, variants[k], iterations);
      seconds[k].insert(seconds[k].end(), more.begin(), more.end());
    }
  }
  fmt::print("{:>10} {:>10} {:>2} {:>7}", name_of(wanted.collective), wanted.algorithm,
             wanted.ranks, wanted.bytes);
  const double base = median(seconds[0]);
  fmt::print("  {} {:.2f} us", variants[0].name, base * 1e6);
  for (std::size_t k = 1; k < variants.size(); ++k) {
    const double value = median(seconds[k]);
    fmt::print("  {} {:.2f} us ({:+.1f} %)", variants[k].name, value * 1e6,
               100.0 * (value / base - 1.0));
  }
  fmt::print("\n");
}

void compare_all(int iterations, const TraceFile& trace) {
  fmt::print("calls compared before the first write, against only between ranks that talk\n");
  const std::vector<Case> all = {{Collective::allreduce, "direct", 0, 0},
                                 {Collective::allreduce, "recursive_doubling", 0, 0},
                                 {Collective::allreduce, "ring", 0, 0},
                                 {Collective::broadcast, "linear", 0, 0},
                                 {Collective::broadcast, "binomial", 0, 0}};
  for (const int ranks : {2, 4, 8}) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{65536}}) {
      for (Case wanted : all) {
        wanted.ranks = ranks;
        wanted.bytes = bytes;
        compare(wanted, {{.name = "off", .checks_calls = false}, {.name = "on"}}, iterations);
      }
    }
  }
  fmt::print("decorators of a channel\n");
  const std::vector<Variant> variants = {{.name = "none"},
                                         {.name = "waits", .counts_waits = true},
                                         {.name = "bytes", .counts_bytes = true},
                                         {.name = "trace", .trace = &trace}};
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{65536}}) {
    compare({Collective::allreduce, "ring", 2, bytes}, variants, iterations);
    compare({Collective::allreduce, "ring", 4, bytes}, variants, iterations);
  }
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const tutti::TraceFile trace(argc > 2 ? argv[2] : "/dev/null");
  tutti::compare_all(argc > 1 ? std::atoi(argv[1]) : 2000, trace);
}
