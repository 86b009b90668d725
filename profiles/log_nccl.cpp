// nccl-tests' text output.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "collectives/catalogue.hpp"
#include "profiles/log_reader.hpp"
#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::string_view title = "nccl-tests text";

bool is_header(const std::vector<std::string_view>& words) {
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  return words.size() > 4 && words[0].starts_with('#') && has("size") && has("time") &&
         has("algbw") && has("busbw");
}

/// "12:34:56", "[2025-01-31" and the like, which -S appends.
bool is_timestamp(std::string_view word) {
  const auto digits = std::count_if(word.begin(), word.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  const auto marks =
      std::count_if(word.begin(), word.end(), [](char c) { return c == ':' || c == '-'; });
  return digits >= 6 && marks == 2;
}

struct NcclRow {
  Sample sample;
  double algorithm_bandwidth = 0.0;
  double bus_bandwidth = 0.0;
  int root = -1;
  bool reduces = false;
  bool has_root = false;
};

/// One run of one test: its header and its rows.
struct NcclTest {
  std::string collective, algorithm;
  int ranks = 0;
  std::set<std::string, std::less<>> hosts;
  std::vector<std::string_view> columns;
  std::vector<NcclRow> rows;
};

class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file, const LogOptions& options)
      : lines_(text), collector_(std::string(title), file, options) {}

  SampleSet read() {
    while (lines_.next()) read_line();
    finish_test();
    return collector_.finish();
  }

 private:
  void read_line() {
    const std::string_view line = lines_.line();
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (line.find("NCCL INFO") != std::string_view::npos) return read_info(line, words);
    if (is_header(words)) return read_header(words);
    if (words[0].starts_with('#')) return read_comment(line, words);
    if (line.find("_perf") != std::string_view::npos) next_collective_ = collective_named(line);
    if (bytes_in(words[0]) && !test_.columns.empty()) read_row(words);
  }

  void read_info(std::string_view line, const std::vector<std::string_view>& words) {
    constexpr std::string_view setting = "NCCL_ALGO set by environment to ";
    const std::size_t at = line.find(setting);
    if (at == std::string_view::npos) return;
    test_.algorithm = std::string(words.back());
    std::transform(test_.algorithm.begin(), test_.algorithm.end(), test_.algorithm.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }

  void read_comment(std::string_view line, const std::vector<std::string_view>& words) {
    if (line.find("_perf") != std::string_view::npos) next_collective_ = collective_named(line);
    const auto starts = [&](std::string_view first, std::string_view second) {
      return words.size() > 2 && words[1] == first && words[2] == second;
    };
    if (words.size() > 1 && (words[1] == "nThread" || words[1] == "nccl-tests")) {
      if (words[1] == "nThread" && !test_.rows.empty()) finish_test();
      collector_.add_provenance(line);
    }
    if (words.size() > 8 && words[1] == "Rank" && bytes_in(words[2])) {
      if (!test_.rows.empty()) finish_test();
      ++test_.ranks;
      const auto on = std::find(words.begin(), words.end(), "on");
      if (on != words.end() && on + 1 != words.end()) test_.hosts.emplace(*(on + 1));
    }
    if (starts("Avg", "bus")) finish_test();
  }

  void read_header(const std::vector<std::string_view>& words) {
    if (!test_.rows.empty()) finish_test();
    test_.columns.assign(words.begin(), words.end());
    if (test_.columns[0] == "#") {
      test_.columns.erase(test_.columns.begin());
    } else {
      test_.columns[0].remove_prefix(1);
    }
    if (!next_collective_.empty()) test_.collective = next_collective_;
  }

  void read_row(std::vector<std::string_view> words) {
    std::erase_if(words, is_timestamp);
    const std::size_t columns = test_.columns.size();
    if (words.size() != columns) {
      collector_.notes().suspicious(
          lines_.number(),
          fmt::format("{} values under {} columns{}", words.size(), columns,
                      words.size() < columns ? ", so only the first are read: the line is cut"
                                             : ", so the last are not read"));
    }
    const std::size_t before = test_.rows.size();
    NcclRow row;
    bool is_in_place = false;
    for (std::size_t i = 0; i < std::min(columns, words.size()); ++i) {
      is_in_place = read_value(test_.columns[i], words[i], row, is_in_place);
    }
    if (row.sample.seconds >= 0.0 && is_open_) test_.rows.push_back(row);
    is_open_ = false;
    if (test_.rows.size() == before) {
      collector_.notes().suspicious(lines_.number(), "a row without a time");
    }
  }

  /// Returns whether what follows is in place.
  bool read_value(std::string_view column, std::string_view word, NcclRow& row, bool is_in_place) {
    Sample& sample = row.sample;
    if (column == "size") {
      sample.bytes = bytes_in(word).value_or(0);
      sample.line = lines_.number();
    }
    if (column == "type") sample.series.dtype = std::string(word);
    if (column == "redop") {
      row.reduces = word != "none";
      if (row.reduces) sample.series.op = std::string(word);
    }
    if (column == "root") {
      row.has_root = true;
      row.root = static_cast<int>(whole_number(word).value_or(-1));
    }
    if (column == "time" || column == "cputime") {
      if (is_open_) test_.rows.push_back(row);
      const auto seconds = seconds_in(word, 1e6);
      is_open_ = seconds.has_value();
      if (!seconds && word != "N/A") refuse_word(word, "a time in us");
      sample.seconds = seconds.value_or(0.0);
      sample.series.in_place = is_in_place;
      return true;
    }
    if (column == "algbw") row.algorithm_bandwidth = decimal_number(word).value_or(0.0);
    if (column == "busbw") row.bus_bandwidth = decimal_number(word).value_or(0.0);
    if (column == "p99" && is_open_) {
      NcclRow tail = row;
      tail.sample.statistic = Statistic::p99;
      tail.sample.seconds = seconds_in(word, 1e6).value_or(0.0);
      tail.algorithm_bandwidth = tail.bus_bandwidth = 0.0;
      tails_.push_back(tail);
    }
    if (column == "#wrong" || column == "error") {
      const auto wrong = decimal_number(word);
      if (column == "#wrong" && wrong && *wrong != 0.0) {
        collector_.notes().suspicious(lines_.number(), fmt::format("{} wrong elements", *wrong));
      }
    }
    return is_in_place;
  }

  [[noreturn]] void refuse_word(std::string_view word, std::string_view expected) {
    refuse_log(collector_.file(), lines_.place_of(word),
               fmt::format("found {}, expected {}", quote(word), expected));
  }

  /// The mean of busbw over algbw where both are large enough to be told.
  double bandwidth_ratio() const {
    double best = 0.0, ratio = 0.0;
    for (const NcclRow& row : test_.rows) {
      if (row.algorithm_bandwidth <= best) continue;
      best = row.algorithm_bandwidth;
      ratio = row.bus_bandwidth / best;
    }
    return best >= 1.0 ? ratio : 0.0;
  }

  void name_collective() {
    if (test_.collective.empty()) test_.collective = collector_.options().collective;
    if (!test_.collective.empty() || test_.rows.empty()) return;
    const NcclRow& row = test_.rows.front();
    const double ratio = bandwidth_ratio();
    if (row.has_root && row.root >= 0) {
      test_.collective = row.reduces ? "reduce" : "broadcast";
    } else if (ratio > 0.0) {
      // Two ranks: 1 of an allreduce, 1/2 of a reduce_scatter.
      test_.collective = !row.reduces    ? "allgather"
                         : ratio > 0.995 ? "allreduce"
                                         : "reduce_scatter";
    } else if (row.reduces) {
      test_.collective = "allreduce";
    }
    if (test_.collective.empty()) return;
    collector_.notes().assumed(row.sample.line,
                               fmt::format("{}, from the columns and bandwidths: the log does not "
                                           "name the test",
                                           test_.collective));
  }

  void find_ranks() {
    const double ratio = bandwidth_ratio();
    if (test_.ranks > 0 || collector_.options().ranks > 0 || ratio <= 0.0) return;
    const double share = test_.collective == "allreduce" ? ratio / 2 : ratio;
    if (test_.collective == "broadcast" || test_.collective == "reduce" || share >= 0.999) return;
    const double ranks = 1 / (1 - share);
    // Printed bandwidths have about three digits, which tell small numbers of ranks only.
    if (ranks > 32.5 || ranks < 1.5) return;
    test_.ranks = static_cast<int>(ranks + 0.5);
    collector_.notes().assumed(0, fmt::format("{} ranks, from busbw over algbw", test_.ranks));
  }

  void finish_test() {
    name_collective();
    find_ranks();
    const auto add = [&](NcclRow& row) {
      Series& series = row.sample.series;
      series.collective = test_.collective;
      series.algorithm = test_.algorithm;
      series.library = "nccl";
      series.ranks = test_.ranks;
      series.nodes = static_cast<int>(test_.hosts.size());
      // Bandwidths are printed with at least two decimals below 1000.
      if (row.algorithm_bandwidth > 0.0) {
        collector_.compare_bandwidth(row.sample, row.algorithm_bandwidth, 0.01);
      }
      collector_.add(row.sample);
    };
    std::for_each(test_.rows.begin(), test_.rows.end(), add);
    std::for_each(tails_.begin(), tails_.end(), add);
    tails_.clear();
    const std::string algorithm = test_.rows.empty() ? test_.algorithm : "";
    test_ = {};
    test_.algorithm = algorithm;
  }

  LineReader lines_;
  SampleCollector collector_;
  NcclTest test_;
  std::vector<NcclRow> tails_;
  std::string next_collective_;
  bool is_open_ = false;  ///< A time of the row has been read but not kept.
};

bool recognises(std::string_view text) {
  for (LineReader lines(text); lines.next();) {
    if (lines.line().find("busbw") == std::string_view::npos) continue;
    if (is_header(words_of(lines.line()))) return true;
  }
  return false;
}

SampleSet import_text(std::string_view text, const std::string& file, const LogOptions& options) {
  return NcclReader(text, file, options).read();
}

}  // namespace

LogFormat nccl_tests_log() {
  return {"nccl-tests", "nccl-tests text, old and new columns", recognises, import_text};
}

}  // namespace tutti
