#include "profiles/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "collectives/error.hpp"
#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

struct Spelling {
  std::string_view letters;
  std::string_view name;
};

// The more specific ones first.
constexpr std::array<Spelling, 12> spellings = {{{"reducescatterblock", "reduce_scatter"},
                                                 {"reducescatter", "reduce_scatter"},
                                                 {"allreduce", "allreduce"},
                                                 {"allgather", "allgather"},
                                                 {"alltoall", "alltoall"},
                                                 {"broadcast", "broadcast"},
                                                 {"bcast", "broadcast"},
                                                 {"barrier", "barrier"},
                                                 {"sendrecv", "sendrecv"},
                                                 {"reduce", "reduce"},
                                                 {"gather", "gather"},
                                                 {"scatter", "scatter"}}};

using Point = std::tuple<Series, Statistic, std::size_t>;

}  // namespace

std::string collective_named(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  for (const Spelling& spelling : spellings) {
    if (letters.find(spelling.letters) != std::string::npos) return std::string(spelling.name);
  }
  return {};
}

void refuse_log(const std::string& file, const Place& place, std::string_view reason) {
  throw Error(ErrorKind::usage, located_import(file, place, reason));
}

std::optional<std::size_t> bytes_in(std::string_view text) {
  const auto number = whole_number(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

std::optional<double> seconds_in(std::string_view text, double per_second) {
  const auto number = decimal_number(text);
  if (!number || *number < 0.0) return std::nullopt;
  return *number / per_second;
}

SampleCollector::SampleCollector(std::string format, std::string file, LogOptions options)
    : file_(std::move(file)), options_(std::move(options)) {
  set_.format = std::move(format);
}

void SampleCollector::add_provenance(std::string_view line) {
  constexpr std::size_t most_lines = 20;
  if (set_.provenance.size() < most_lines && !line.empty()) {
    set_.provenance.emplace_back(shown(line.substr(0, std::min<std::size_t>(line.size(), 300))));
  }
}

void SampleCollector::add(Sample sample) {
  if (sample.series.ranks == 0) sample.series.ranks = options_.ranks;
  if (sample.series.collective.empty()) sample.series.collective = options_.collective;
  if (!(sample.seconds > 0.0)) {
    notes_.suspicious(sample.line, "a time of 0; no fit uses it");
  }
  set_.samples.push_back(std::move(sample));
}

std::size_t SampleCollector::whole_bytes(const Series& series, std::size_t part_bytes,
                                         int line) const {
  const int ranks = series.ranks > 0 ? series.ranks : options_.ranks;
  if (ranks <= 0) {
    refuse_log(file_, {line, 0},
               fmt::format("the sizes of {} are those of one rank's part, and the log does not say "
                           "how many ranks there were: say it with --ranks",
                           series.collective));
  }
  if (part_bytes > (std::size_t{1} << 62) / static_cast<std::size_t>(ranks)) {
    refuse_log(file_, {line, 0},
               fmt::format("{} bytes of each of {} ranks are too many", part_bytes, ranks));
  }
  return part_bytes * static_cast<std::size_t>(ranks);
}

void SampleCollector::compare_bandwidth(const Sample& sample, double gigabytes_per_second,
                                        double rounding) {
  if (!(sample.seconds > 0.0)) return;
  // Times are printed with as few as three digits.
  constexpr double share = 0.02;
  const double expected = static_cast<double>(sample.bytes) / sample.seconds / 1e9;
  const double allowed = rounding + share * expected;
  if (std::abs(gigabytes_per_second - expected) <= allowed) return;
  notes_.suspicious(
      sample.line, fmt::format("{:.4g} GB/s contradicts {} B in {:.4g} us, which is {:.4g} GB/s",
                               gigabytes_per_second, sample.bytes, sample.seconds * 1e6, expected));
}

void SampleCollector::note_order() {
  std::map<Point, int> lines;
  std::map<std::pair<Series, Statistic>, std::size_t> previous;
  for (const Sample& sample : set_.samples) {
    const auto [first, is_new] =
        lines.try_emplace(Point{sample.series, sample.statistic, sample.bytes}, sample.line);
    if (!is_new && first->second != sample.line) {
      notes_.suspicious(sample.line,
                        fmt::format("{} B of {} again, as in line {}; fits take the "
                                    "median",
                                    sample.bytes, shown(sample.series.describe()), first->second));
    }
    std::size_t& before = previous[{sample.series, sample.statistic}];
    if (sample.bytes < before) {
      notes_.suspicious(sample.line,
                        fmt::format("{} B after {} B: sizes descend", sample.bytes, before));
    }
    before = sample.bytes;
  }
}

SampleSet SampleCollector::finish() {
  if (set_.samples.empty()) {
    refuse_log(file_, {}, fmt::format("looks like {}, but has no results", set_.format));
  }
  note_order();
  const auto lacks = [&](auto member) {
    return std::any_of(set_.samples.begin(), set_.samples.end(), member);
  };
  if (lacks([](const Sample& sample) { return sample.series.ranks == 0; })) {
    notes_.ignored(0, "the number of ranks is not known; say it with --ranks");
  }
  if (lacks([](const Sample& sample) { return sample.series.collective.empty(); })) {
    notes_.ignored(0, "the collective is not known; say it with --collective");
  }
  set_.notes = notes_.notes();
  return std::move(set_);
}

}  // namespace tutti
