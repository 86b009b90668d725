// verify: does every algorithm give the right result, and move the bytes it says?
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/transport.hpp"

namespace tutti {

struct VerifyFlags {
  int ranks = 4;
  std::vector<int> members;              ///< The ranks that take part, in their order; none: all.
  std::vector<std::size_t> part_counts;  ///< Elements of each rank's part: the v-forms only.
  std::string transport = default_transport();
  std::string dtype = "float32";  ///< Or a comma-separated list, or "all".
  std::uint64_t seed = 1;
  Tuning tuning;
  LevelNames levels;  ///< Of the collectives that have such algorithms.
  WorldFlags world;
  bool json = false;
  std::string trace;
};

/// What the rows mean, for the command's --help.
extern const char* const verify_help;

/// Checks those of `algorithms` that support the ranks and the tuning, prints a row for each, then
/// the ring's byte counters. Returns whether all rows passed.
bool verify(const VerifyFlags& flags, Output& output,
            std::span<const Algorithm> algorithms = catalogue());

}  // namespace tutti
