#include "tests/chaos/scenario.hpp"

#include <fmt/format.h>

#include <array>
#include <random>
#include <string_view>

namespace tutti {
namespace {

constexpr std::array<std::string_view, 8> trouble_names = {
    "none", "delays", "pause", "inner_kill", "stall", "outer_kill", "outer_stop", "launcher_kill"};

// Distributions of the standard library are not the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  double fraction() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  template <typename T, std::size_t count>
  T one_of(const std::array<T, count>& values) {
    return values[random_() % count];
  }

 private:
  std::mt19937_64 random_;
};

CaseSpec draw_case(Dice& dice, int ranks) {
  // Within a slot, in several segments, beyond the queue.
  constexpr std::array<std::size_t, 8> counts = {1, 3, 16, 1000, 4096, 30'001, 100'000, 400'000};
  const std::vector<const Algorithm*> algorithms = supported_algorithms(ranks);
  CaseSpec spec;
  spec.algorithm =
      algorithms[static_cast<std::size_t>(dice.below(static_cast<int>(algorithms.size())))];
  spec.count = supported_count(*spec.algorithm, dice.one_of(counts), ranks);
  spec.dtype = dice.one_of(std::array{DType::float32, DType::int32, DType::int8, DType::float64});
  spec.root = dice.below(ranks);
  spec.in_place = dice.below(2) == 0;
  return spec;
}

}  // namespace

bool Scenario::must_succeed() const {
  return trouble == Trouble::none || trouble == Trouble::delays || trouble == Trouble::pause;
}

bool Scenario::is_from_outside() const {
  return trouble == Trouble::pause || trouble == Trouble::outer_kill ||
         trouble == Trouble::outer_stop || trouble == Trouble::launcher_kill;
}

std::vector<Fault> Scenario::faults_of(int rank) const {
  constexpr double longest_delay_seconds = 0.005;
  if (trouble == Trouble::delays) {
    return random_delays(seed + static_cast<std::uint64_t>(rank), 3, 30, longest_delay_seconds);
  }
  if (rank != victim) return {};
  if (trouble == Trouble::inner_kill) return {{Fault::Kind::kill, message}};
  if (trouble == Trouble::stall) return {{Fault::Kind::stall, message}};
  return {};
}

std::string Scenario::describe() const {
  std::string text = fmt::format("seed {}: {} ranks, {} on rank {}", seed, ranks,
                                 trouble_names[static_cast<std::size_t>(trouble)], victim);
  if (trouble == Trouble::inner_kill || trouble == Trouble::stall) {
    text += fmt::format(" at message {}", message);
  } else if (is_from_outside()) {
    text += fmt::format(" after {:.2f} ms", 1e3 * after_seconds);
  }
  for (const CaseSpec& spec : cases) text += "; " + spec.describe();
  return text;
}

Scenario draw_scenario(std::uint64_t seed) {
  Dice dice(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.ranks = 2 + dice.below(most_chaos_ranks - 1);
  // What takes until the timeout is drawn less often.
  constexpr std::array<Trouble, 16> troubles = {
      Trouble::none,       Trouble::delays,     Trouble::delays,     Trouble::pause,
      Trouble::pause,      Trouble::inner_kill, Trouble::inner_kill, Trouble::inner_kill,
      Trouble::inner_kill, Trouble::outer_kill, Trouble::outer_kill, Trouble::outer_kill,
      Trouble::outer_kill, Trouble::stall,      Trouble::outer_stop, Trouble::launcher_kill};
  scenario.trouble = dice.one_of(troubles);
  scenario.victim = dice.below(scenario.ranks);
  scenario.message = static_cast<std::uint64_t>(dice.below(dice.below(3) == 0 ? 200 : 20));
  scenario.after_seconds = 0.02 * dice.fraction() * dice.fraction();
  scenario.pause_seconds = 0.05 * dice.fraction();
  // A rank that is only late must not fail on a busy machine either.
  scenario.timeout_seconds = scenario.must_succeed() ? 30.0 : 0.5;
  const int cases = 1 + dice.below(12);
  for (int i = 0; i < cases; ++i) scenario.cases.push_back(draw_case(dice, scenario.ranks));
  return scenario;
}

}  // namespace tutti
