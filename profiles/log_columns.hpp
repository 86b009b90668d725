// Columns of logs, by their headings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/log_reader.hpp"

namespace tutti {

/// What a column of a table holds.
struct LogColumn {
  enum class Kind : std::uint8_t {
    other,
    bytes,
    count,
    time,
    collective,
    algorithm,
    library,
    ranks,
    nodes,
    dtype,
    op,
    bandwidth,  ///< GB/s, bytes over time.
  };

  Kind kind = Kind::other;
  std::string heading;
  Statistic statistic = Statistic::mean;  ///< Of a time.
  double per_second = 1e6;                ///< Units of a time in a second.
  bool has_unit = false;
  bool in_place = false;
  std::string algorithm;  ///< Whose time it is, if the heading says it.
};

/// "Avg Latency(us)", "t_max[usec]", "median_us", "size_bytes", "ring_us", ...
LogColumn log_column(std::string_view heading);

/// Adds the samples of one row, one for each column of a time; `base` has what the columns do not
/// say. Empty cells and "N/A" are no samples. With `is_part` sizes are those of one rank's part.
/// Throws as refuse_log() for what is no number.
void add_log_row(SampleCollector& collector, const std::vector<LogColumn>& columns,
                 const std::vector<std::string_view>& cells, const Sample& base, bool is_part,
                 std::string_view line);

}  // namespace tutti
