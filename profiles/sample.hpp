// Samples: what benchmark logs say that collectives took.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import.hpp"

namespace tutti {

/// What a time is of the iterations that it stands for.
enum class Statistic : std::uint8_t { median, mean, min, max, p99 };

/// "median", ...
std::string_view name_of(Statistic statistic);

/// What samples of one curve have in common.
struct Series {
  std::string collective;  ///< As in our catalogue where it has it; empty: unknown.
  std::string algorithm;   ///< As the log names it; empty or "default": what the library chose.
  std::string library;     ///< Likewise, such as "nccl"; may be empty.
  int ranks = 0;           ///< 0: unknown.
  int nodes = 0;           ///< 0: unknown.
  std::string dtype;       ///< As in the log; may be empty.
  std::string op;          ///< Likewise.
  bool in_place = false;

  /// "allreduce ring, nccl, 16 ranks"
  std::string describe() const;

  auto operator<=>(const Series&) const = default;
};

/// One time of one size.
struct Sample {
  Series series;
  /// The whole buffer, as everywhere in tutti and nccl-tests: of an allgather, gather, scatter or
  /// alltoall all ranks' parts together.
  std::size_t bytes = 0;
  double seconds = 0.0;
  Statistic statistic = Statistic::mean;
  int line = 0;  ///< From 1.
};

/// All samples of a log, in its order.
struct SampleSet {
  std::string format;                   ///< "nccl-tests text"
  std::vector<std::string> provenance;  ///< Lines that say where the numbers come from.
  std::vector<Sample> samples;
  std::vector<ImportNote> notes;
};

/// The best figure of each size of a curve: the median before the mean, then minimum, p99, maximum.
/// Of several of the same kind their median.
struct MeasuredCurve {
  Series series;
  Statistic statistic = Statistic::median;
  std::vector<std::size_t> bytes;  ///< Ascending, without repetitions.
  std::vector<double> seconds;     ///< Positive.
};

/// The curves of a set, in the order in which they begin. Times of 0 are left out, and in-place
/// curves where the set has the same out of place.
std::vector<MeasuredCurve> curves_of(const SampleSet& set);

}  // namespace tutti
