// explain: what does an algorithm do, step by step, and what does that cost?
#pragma once

#include <string>

#include "experiments/output.hpp"

namespace tutti {

/// The flags of explain, as typed.
struct ExplainFlags {
  std::string collective;
  std::string algorithm;
  int ranks = 0;
  std::size_t count = 0;  ///< Elements; 0: see bytes.
  std::string bytes;      ///< Empty: about 1 MiB, a multiple of the ranks.
  int root = 0;
  int segments = 0;
  int radix = 0;
  int group = 0;
  std::string inner;
  std::string outer;
  double alpha_microseconds = 5.0;
  double beta_nanoseconds_per_byte = 0.08;
  double gamma_nanoseconds_per_byte = 0.0;
  double send_overhead_microseconds = 0.0;
  double receive_overhead_microseconds = 0.0;
  std::string svg;
  std::string export_format;
};

/// Prints the plan as tables and a diagram, or exports it. Returns whether it keeps its promise and
/// costs what its closed forms say.
bool explain(const ExplainFlags& flags, Output& output);

}  // namespace tutti
