// calibrate: what do messages and local work take on this machine?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/output.hpp"
#include "experiments/patterns.hpp"
#include "experiments/transport.hpp"
#include "profiles/profile.hpp"

namespace tutti {

struct CalibrateFlags {
  std::string transport = default_transport();
  std::vector<int> ranks = {};  ///< None: 2, 4 and 8, or as many as have joined.
  std::string dtype = "float32";
  std::string largest = "16M";
  int rounds = 9;
  std::uint64_t seed = 1;
  std::string file;  ///< To write; "" for stdout.
  WorldFlags world = {.pins = true};
  bool json = false;
};

/// Beyond this difference between its two passes a profile says that it is not to be trusted.
inline constexpr double most_noise = 0.15;

/// Measures one number of ranks after the other, each in a world of its own.
Profile measure_transport(Transport transport, const std::vector<int>& ranks,
                          const WorldFlags& world, const PatternOptions& options);

/// Measures, prints a summary (or JSON) and writes the profile.
void calibrate(const CalibrateFlags& flags, Output& output);

}  // namespace tutti
