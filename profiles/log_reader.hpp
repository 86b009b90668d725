// What readers of logs have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/log_import.hpp"
#include "topologies/import_yaml.hpp"

namespace tutti {

LogFormat nccl_tests_log();
LogFormat nccl_json_log();
LogFormat osu_log();
LogFormat imb_log();
LogFormat gloo_log();
LogFormat json_lines_log();
LogFormat csv_log();

/// Our name of the collective that a benchmark's name, in any spelling, ends or begins with:
/// "osu_allreduce", "all_reduce_perf", "Bcast"; empty if there is none.
std::string collective_named(std::string_view text);

/// Throws Error(usage) "FILE:LINE:COLUMN: REASON".
[[noreturn]] void refuse_log(const std::string& file, const Place& place, std::string_view reason);

/// Whole bytes of a text; nothing where it is no whole number.
std::optional<std::size_t> bytes_in(std::string_view text);

/// Seconds of a text in units of which `per_second` are a second; nothing where it is no number, or
/// negative.
std::optional<double> seconds_in(std::string_view text, double per_second);

/// Collects the samples of a log, and notes what is odd about them.
class SampleCollector {
 public:
  SampleCollector(std::string format, std::string file, LogOptions options);

  const LogOptions& options() const { return options_; }
  const std::string& file() const { return file_; }
  ImportNotes& notes() { return notes_; }
  std::vector<Sample>& samples() { return set_.samples; }

  void add_provenance(std::string_view line);

  /// `sample` with what the options know where it knows nothing itself.
  void add(Sample sample);

  /// Bytes of all ranks' parts, of the bytes of one. Throws as refuse_log() where the number of
  /// ranks is not known, or the product is too large.
  std::size_t whole_bytes(const Series& series, std::size_t part_bytes, int line) const;

  /// Notes it where the bandwidth (GB/s, rounded to `rounding`) contradicts the bytes
  /// over the seconds.
  void compare_bandwidth(const Sample& sample, double gigabytes_per_second, double rounding);

  /// Throws as refuse_log() where there are no samples.
  SampleSet finish();

 private:
  void note_order();

  SampleSet set_;
  std::string file_;
  LogOptions options_;
  ImportNotes notes_;
};

}  // namespace tutti
