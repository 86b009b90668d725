// Which algorithm choose() takes by size, on a star of 12.5 GB/s and 5 us: choose_winners
// [--in-turn]. With --in-turn, those that send many messages at once are left out: real machines
// pay for each, which alpha, beta and gamma do not know.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "collectives/choose.hpp"

namespace {

using namespace tutti;

bool sends_many_at_once(const Candidate& candidate) {
  constexpr std::array names = {"direct", "linear", "naive", "hierarchical_direct"};
  return std::find(names.begin(), names.end(), candidate.algorithm->name) != names.end() ||
         candidate.tuning.radix > 2;
}

// "1024 recursive_doubling  262144 rabenseifner": each from so many bytes on.
std::string winners(Collective collective, int ranks, const CostProfile& profile, bool in_turn) {
  std::string line;
  const Algorithm* last = nullptr;
  for (std::size_t bytes = 1024; bytes <= std::size_t{1} << 30; bytes *= 2) {
    const auto n = static_cast<std::size_t>(ranks);
    const Choice choice = choose(collective, {.ranks = ranks, .count = bytes / 4 / n * n}, profile);
    const auto winner =
        std::find_if(choice.candidates.begin(), choice.candidates.end(),
                     [&](const Candidate& each) { return !in_turn || !sends_many_at_once(each); });
    if (winner == choice.candidates.end() || winner->algorithm == last) continue;
    last = winner->algorithm;
    line += fmt::format("  {} {}", bytes, describe(*winner->algorithm, winner->tuning));
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  const bool in_turn = argc > 1 && std::strcmp(argv[1], "--in-turn") == 0;
  fmt::print("# star, alpha 5 us, beta 0.08 ns/B; each algorithm from so many bytes on\n");
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::barrier) continue;
    for (const double gamma : {0.0, 1e-10}) {
      for (const int ranks : {4, 8, 12, 16, 32, 64}) {
        const CostProfile profile{.outer = {5e-6, 8e-11, gamma}};
        fmt::print("{:<14} gamma {:.1f} ns/B  N = {:<2}{}\n", name_of(collective), gamma * 1e9,
                   ranks, winners(collective, ranks, profile, in_turn));
      }
    }
  }
  return 0;
}
