// Scenario: what happens in one run of the chaos test, all of it drawn from one seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/faulty.hpp"
#include "tests/conformance/cases.hpp"

namespace tutti {

inline constexpr int most_chaos_ranks = 8;

/// What befalls a run.
enum class Trouble : std::uint8_t {
  none,
  delays,         ///< Every rank pauses at some messages.
  pause,          ///< A rank is stopped from outside and continued.
  inner_kill,     ///< A rank kills itself at a message.
  stall,          ///< A rank never goes on from a message.
  outer_kill,     ///< A rank is killed from outside.
  outer_stop,     ///< A rank is stopped from outside and never continued.
  launcher_kill,  ///< The process that started the ranks is killed.
};

struct Scenario {
  std::uint64_t seed = 0;
  int ranks = 2;
  std::vector<CaseSpec> cases;  ///< One after another.
  Trouble trouble = Trouble::none;
  int victim = 0;
  std::uint64_t message = 0;     ///< At which it happens inside.
  double after_seconds = 0.0;    ///< The ranks' start, when it happens from outside.
  double pause_seconds = 0.0;    ///< Of a pause.
  double timeout_seconds = 0.0;  ///< Of the world.

  /// True where no rank may fail.
  bool must_succeed() const;

  /// True where another process causes the trouble.
  bool is_from_outside() const;

  /// The faults of `rank`, for Faulty.
  std::vector<Fault> faults_of(int rank) const;

  /// One line.
  std::string describe() const;
};

/// The same on every machine.
Scenario draw_scenario(std::uint64_t seed);

}  // namespace tutti
