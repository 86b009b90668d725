// validate: are predictions true?
#pragma once

#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "experiments/output.hpp"
#include "experiments/transport.hpp"

namespace tutti {

struct ValidateFlags {
  std::vector<std::string> transports = {"shm", "tcp"};
  std::vector<int> ranks = {2, 4, 8};
  std::vector<std::string> collectives = {"allreduce", "broadcast", "allgather", "reduce_scatter"};
  WorldFlags world = {.pins = true};
  bool quick = false;
  bool rows = false;
  bool json = false;
};

/// One algorithm at one size.
struct ComparedTime {
  std::string algorithm;
  std::size_t bytes = 0;
  double measured_seconds = 0.0;
  double predicted_seconds = 0.0;

  double error() const;
};

/// Where one algorithm becomes faster than another.
struct ComparedCrossover {
  std::string from;
  std::string to;
  double measured_bytes = 0.0;
  double predicted_bytes = 0.0;  ///< 0: the predicted times do not cross.
};

/// What the times of one collective come to.
struct Comparison {
  double median_error = 0.0;
  double largest_error = 0.0;
  double mean_regret = 0.0;
  double largest_regret = 0.0;
  int right = 0;  ///< Sizes whose predicted best takes at most 2 % longer than the measured best.
  int sizes = 0;
  /// Of all pairs of algorithms whose measured times at one size differ by more than a tenth, the
  /// share whose predicted times are in the same order.
  double ordered = 1.0;
  std::vector<ComparedCrossover> crossovers;
};

/// Of at least one time; those of a size need not be together.
Comparison compare(const std::vector<ComparedTime>& times);

/// Calibrates, measures, predicts, and prints how far apart they are.
void validate(const ValidateFlags& flags, Output& output);

}  // namespace tutti
