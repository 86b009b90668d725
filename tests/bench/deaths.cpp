// How soon survivors fail after a rank is killed in the middle of a collective: from just before
// the SIGKILL to the moment at which the survivor catches its Error.
//
// usage: deaths [TRIALS [shm|tcp]]   (default 20, for each line)
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "exec/clock.hpp"
#include "exec/fork_world.hpp"

namespace tutti {
namespace {

struct Case {
  Collective collective;
  const char* algorithm;
  int ranks;
  std::size_t bytes;
};

struct Death {
  double longest_seconds = 0.0;  // Of all survivors.
  bool is_named = false;         // The error names the dead rank and its signal.
  int survivors_placed = 0;      // How many survivors' steps and bytes it names.
};

// The last rank is killed by a thread of its own after some milliseconds.
Death kill_one(const Case& wanted, Wire wire, int milliseconds) {
  ForkWorld world(wanted.ranks, {.wire = wire});
  const auto ranks = static_cast<std::size_t>(wanted.ranks);
  auto* const seconds = reinterpret_cast<double*>(world.allocate(ranks * sizeof(double)));
  std::vector<Block> data;
  for (std::size_t i = 0; i < ranks; ++i) {
    data.push_back(world.allocate_block(wanted.bytes / 4, DType::float32));
  }
  const Algorithm& algorithm = find_algorithm(wanted.collective, wanted.algorithm);
  const int victim = wanted.ranks - 1;
  Death death;
  try {
    world.run([&](Rank& rank) {
      const auto index = static_cast<std::size_t>(rank.index());
      if (rank.index() == victim) {
        rank.spawn([&, milliseconds] {
          std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
          seconds[index] = monotonic_seconds();
          std::raise(SIGKILL);
        });
      }
      try {
        for (;;) run(algorithm, rank.channel(), data[index]);
      } catch (const Error&) {
        seconds[index] = monotonic_seconds();
        throw;
      }
    });
  } catch (const Error& error) {
    const std::string text = error.what();
    death.is_named = error.kind() == ErrorKind::peer_lost && error.rank() == victim &&
                     text.find(fmt::format("rank {} was killed by signal 9", victim)) == 0;
    for (int rank = 0; rank < victim; ++rank) {
      const std::size_t place = text.find(fmt::format("rank {} was waiting ", rank));
      if (place == std::string::npos) continue;
      const std::string rest = text.substr(place, text.find(';', place) - place);
      death.survivors_placed += rest.find(" at step ") != std::string::npos &&
                                (rest.find("(received ") != std::string::npos ||
                                 rest.find("(taken ") != std::string::npos);
    }
  }
  for (std::size_t i = 0; i + 1 < ranks; ++i) {
    death.longest_seconds = std::max(death.longest_seconds, seconds[i] - seconds[ranks - 1]);
  }
  return death;
}

void report(const Case& wanted, Wire wire, int trials) {
  std::vector<double> longest;
  int named = 0, placed = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Death death = kill_one(wanted, wire, 5 + trial % 7);
    longest.push_back(death.longest_seconds);
    named += death.is_named ? 1 : 0;
    placed += death.survivors_placed;
  }
  std::sort(longest.begin(), longest.end());
  fmt::print(
      "{} ranks, {} {} of {} bytes: last survivor after {:.2f} ms (median), {:.2f} ms (most); "
      "{} of {} deaths named, {} of {} survivors placed\n",
      wanted.ranks, name_of(wanted.collective), wanted.algorithm, wanted.bytes,
      1e3 * longest[longest.size() / 2], 1e3 * longest.back(), named, trials, placed,
      trials * (wanted.ranks - 1));
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  using tutti::Collective;
  using tutti::Wire;
  const int trials = argc > 1 ? std::atoi(argv[1]) : 20;
  const Wire wire = argc > 2 && std::string(argv[2]) == "tcp" ? Wire::tcp : Wire::shm;
  for (const int ranks : {2, 4, 8}) {
    tutti::report({Collective::allreduce, "ring", ranks, 4}, wire, trials);
    tutti::report({Collective::allreduce, "direct", ranks, 65536}, wire, trials);
    tutti::report({Collective::allreduce, "ring", ranks, 16U << 20}, wire, trials);
    tutti::report({Collective::broadcast, "binomial", ranks, 1U << 20}, wire, trials);
  }
}
