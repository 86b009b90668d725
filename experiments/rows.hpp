// The rows of bench and simulate: nccl-tests' columns as a table, CSV or JSON lines.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measure.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"

namespace tutti {

enum class Format { table, csv, json };

/// Throws Error(usage) that lists the valid names.
Format parse_format(const std::string& name);

/// Where times come from.
enum class Source { transport, engine };

struct Row {
  Job job;
  int ranks = 1;
  Timing timing;
  std::optional<std::size_t> wrong;           ///< Empty: not checked.
  std::string substrate;                      ///< The transport's or engine's name.
  std::optional<std::string> model;           ///< Of the network, if simulated.
  std::optional<std::string> topology;        ///< Likewise, with what was changed in it.
  std::optional<double> lower_bound_seconds;  ///< If simulated.
  std::optional<std::string> note;

  /// Appends to the note; "" adds nothing.
  void add_note(const std::string& text);

  /// GB/s; empty where no time passes, and for a barrier. Bus bandwidth has no meaning for one
  /// rank.
  std::optional<double> algorithm_bandwidth() const;
  std::optional<double> bus_bandwidth() const;
};

/// The row's keys and values as --help describes them.
Json to_json(const Row& row, Source source);

/// A header of the names, and a line of the values that are neither lists nor maps, as CSV.
std::string csv_header(const Json& json);
std::string csv_line(const Json& json);

/// What the rows mean, for the commands' --help.
extern const char* const rows_help;

class RowWriter {
 public:
  /// `output` outlives it.
  /// `automatic`: whether some rows' algorithms are chosen, which all rows then tell of.
  RowWriter(Output& output, Format format, Source source, bool automatic = false);

  /// A line that starts with '#'; only in tables, and not for an empty text.
  void comment(const std::string& text);

  /// `extras` follow the row's own keys in JSON; `lines` follow it in a table, as comments.
  void write(const Row& row, const Json& extras = Json::object(),
             const std::vector<std::string>& lines = {});

  /// The two closing lines of a table. Returns whether no row had a wrong element.
  bool finish();

 private:
  void write_header();
  void write_table(const Row& row);
  void write_csv(const Json& json);
  Json complete_json(const Row& row) const;

  Output& output_;
  const Format format_;
  const Source source_;
  const bool automatic_;
  bool has_header_ = false;
  std::size_t last_count_ = 0;
  int rows_of_count_ = 0;  ///< In a table, since the count last changed.
  std::size_t wrong_ = 0;
  bool checked_ = false;
  std::map<std::string, std::vector<double>> bus_bandwidths_;  ///< By algorithm.
};

}  // namespace tutti
