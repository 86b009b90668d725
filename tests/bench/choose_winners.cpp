// Which algorithm choose() takes by size, on a star of 12.5 GB/s and 5 us: choose_winners
// [--overhead SECONDS]. Each message keeps its sender busy for the overhead, and its receiver, too.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "collectives/choose.hpp"

namespace {

using namespace tutti;

// "1024 recursive_doubling  262144 rabenseifner": each from so many bytes on.
std::string winners(Collective collective, int ranks, const CostProfile& profile) {
  std::string line;
  Candidate last;
  for (std::size_t bytes = 1024; bytes <= std::size_t{1} << 30; bytes *= 2) {
    const auto n = static_cast<std::size_t>(ranks);
    const Candidate winner =
        choose(collective, {.ranks = ranks, .count = bytes / 4 / n * n}, profile).chosen;
    const bool is_same = winner.algorithm == last.algorithm &&
                         winner.tuning.inner == last.tuning.inner &&
                         winner.tuning.outer == last.tuning.outer;
    if (is_same) continue;
    last = winner;
    line += fmt::format("  {} {}", bytes, describe(*winner.algorithm, winner.tuning));
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_overhead = argc == 3 && std::string_view(argv[1]) == "--overhead";
  if (argc > 1 && !has_overhead) {
    fmt::print(stderr, "usage: choose_winners [--overhead SECONDS]\n");
    return 2;
  }
  const double overhead = has_overhead ? std::strtod(argv[2], nullptr) : 0.0;
  fmt::print(
      "# star, alpha 5 us, beta 0.08 ns/B, {:.2f} us a send and a receive; each algorithm "
      "from so many bytes on\n",
      overhead * 1e6);
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::barrier) continue;
    for (const double gamma : {0.0, 1e-10}) {
      for (const int ranks : {4, 8, 12, 16, 32, 64}) {
        const CostProfile profile{.outer = {5e-6, 8e-11, gamma, overhead, overhead}};
        fmt::print("{:<14} gamma {:.1f} ns/B  N = {:<2}{}\n", name_of(collective), gamma * 1e9,
                   ranks, winners(collective, ranks, profile));
      }
    }
  }
  return 0;
}
