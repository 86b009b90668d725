// JSON: nccl-tests -J, and our own lines of bench, simulate, whatif and crossover.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "profiles/log_reader.hpp"
#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? shown(found->get<std::string>()) : "";
}

std::optional<double> number_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::size_t bytes_at(const Json& json, const char* key, const std::string& file, int line) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number_unsigned()) return found->get<std::size_t>();
  refuse_log(file, {line, 0}, fmt::format("no whole number '{}', expected bytes", key));
}

int ranks_at(const Json& json) {
  const double ranks = number_at(json, "ranks").value_or(0.0);
  return ranks >= 1.0 && ranks < 1e9 ? static_cast<int>(ranks) : 0;
}

/// Nothing where the text is not JSON.
std::optional<Json> parsed(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

/// Adds a half of a row of nccl-tests, and its p99 where iterations were timed one by one.
void add_half(SampleCollector& collector, const Json& row, const Sample& base, bool in_place) {
  const auto half = row.find(in_place ? "in_place" : "out_of_place");
  if (half == row.end() || !half->is_object()) return;
  Sample sample = base;
  sample.series.in_place = in_place;
  auto time = number_at(*half, "time");
  if (!time) time = number_at(*half, "cpu_time");
  if (!time || *time < 0.0) {
    collector.notes().suspicious(0, fmt::format("no time of {} B", base.bytes));
    return;
  }
  sample.seconds = *time / 1e6;
  collector.add(sample);
  if (const auto bandwidth = number_at(*half, "alg_bw")) {
    collector.compare_bandwidth(sample, *bandwidth, 0.01);
  }
  if (number_at(*half, "nwrong").value_or(0.0) != 0.0) {
    collector.notes().suspicious(0, fmt::format("wrong elements with {} B", base.bytes));
  }
  const auto each = row.find(in_place ? "in_place_per_iter" : "out_of_place_per_iter");
  if (each == row.end() || !each->is_object()) return;
  const std::pair<const char*, Statistic> figures[] = {{"p50_us", Statistic::median},
                                                       {"min_us", Statistic::min},
                                                       {"max_us", Statistic::max},
                                                       {"p99_us", Statistic::p99}};
  for (const auto& [key, statistic] : figures) {
    const auto figure = number_at(*each, key);
    if (!figure || *figure < 0.0) continue;
    sample.seconds = *figure / 1e6;
    sample.statistic = statistic;
    collector.add(sample);
  }
}

/// Counts the ranks and their hosts, wherever the list of devices is.
void read_devices(const Json& json, Series& series, int depth = 0) {
  if (!json.is_structured() || depth > 4) return;
  std::set<std::string> hosts;
  int ranks = 0;
  for (const Json& item : json) {
    const bool is_rank = json.is_array() && item.is_object() && item.contains("hostname");
    if (is_rank) hosts.insert(text_at(item, "hostname"));
    ranks += is_rank ? 1 : 0;
    if (!is_rank) read_devices(item, series, depth + 1);
  }
  if (ranks == 0) return;
  series.ranks = ranks;
  series.nodes = static_cast<int>(hosts.size());
}

SampleSet import_nccl(std::string_view text, const std::string& file, const LogOptions& options) {
  SampleCollector collector("nccl-tests JSON", file, options);
  const std::optional<Json> json = parsed(text);
  if (!json) refuse_log(file, {}, "is no complete JSON; the run was probably cut short");
  Sample base;
  base.series.library = "nccl";
  if (const auto arguments = json->find("args"); arguments != json->end() &&
                                                 arguments->is_array() && !arguments->empty() &&
                                                 (*arguments)[0].is_string()) {
    const std::string program = (*arguments)[0].get<std::string>();
    base.series.collective = collective_named(program.substr(program.find_last_of('/') + 1));
    collector.add_provenance(arguments->dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  read_devices(*json, base.series);
  const auto results = json->find("results");
  if (results == json->end() || !results->is_array()) refuse_log(file, {}, "no list 'results'");
  for (const Json& row : *results) {
    if (!row.is_object()) refuse_log(file, {}, "a result that is no object");
    Sample sample = base;
    sample.line = 1;
    sample.bytes = bytes_at(row, "size", file, 0);
    sample.series.dtype = text_at(row, "type");
    const std::string op = text_at(row, "redop");
    sample.series.op = op == "none" ? "" : op;
    for (const bool in_place : {false, true}) add_half(collector, row, sample, in_place);
  }
  return collector.finish();
}

/// A row of bench, simulate or whatif.
void add_row(SampleCollector& collector, const Json& row, int line) {
  Sample sample;
  sample.line = line;
  sample.bytes = bytes_at(row, "bytes", collector.file(), line);
  sample.series.collective = text_at(row, "collective");
  sample.series.algorithm = text_at(row, "algo");
  sample.series.library = text_at(row, row.contains("transport") ? "transport" : "engine");
  sample.series.ranks = ranks_at(row);
  sample.series.dtype = text_at(row, "dtype");
  const std::string op = text_at(row, "op");
  sample.series.op = op == "none" ? "" : op;
  if (row.contains("error")) {
    collector.notes().ignored(line, "a row that failed: " + text_at(row, "error"));
    return;
  }
  const std::pair<const char*, Statistic> figures[] = {
      {"time_us", Statistic::mean}, {"p50_us", Statistic::median}, {"p99_us", Statistic::p99}};
  bool has_time = false;
  for (const auto& [key, statistic] : figures) {
    const auto figure = number_at(row, key);
    if (!figure || *figure < 0.0) continue;
    sample.seconds = *figure / 1e6;
    sample.statistic = statistic;
    collector.add(sample);
    has_time = true;
  }
  if (!has_time) collector.notes().suspicious(line, "a row without a time");
}

/// Those of "measured" where crossover measured, else those of "simulated".
void add_crossover(SampleCollector& collector, const Json& json, int line) {
  const auto measured = json.find("measured");
  const bool is_measured = measured != json.end() && measured->is_object();
  const Json& part = is_measured ? *measured : json.at("simulated");
  Sample sample;
  sample.line = line;
  sample.statistic = Statistic::median;
  sample.series.collective = text_at(json, "collective");
  sample.series.library = is_measured ? "measured" : "simulated";
  sample.series.ranks = ranks_at(json);
  sample.series.dtype = text_at(json, "dtype");
  sample.series.op = text_at(json, "op");
  const auto rows = part.find("rows");
  if (rows == part.end() || !rows->is_array()) return;
  for (const Json& row : *rows) {
    if (!row.is_object()) continue;
    sample.bytes = bytes_at(row, "bytes", collector.file(), line);
    const auto times = row.find("times_us");
    if (times == row.end() || !times->is_object()) continue;
    for (const auto& [algorithm, time] : times->items()) {
      if (!time.is_number() || time.get<double>() < 0.0) continue;
      sample.series.algorithm = shown(algorithm);
      sample.seconds = time.get<double>() / 1e6;
      collector.add(sample);
    }
  }
}

bool is_crossover(const Json& json) {
  return json.is_object() && json.contains("simulated") && json["simulated"].is_object();
}

SampleSet import_lines(std::string_view text, const std::string& file, const LogOptions& options) {
  SampleCollector collector("tutti's JSON", file, options);
  if (const std::optional<Json> whole = parsed(text); whole && is_crossover(*whole)) {
    add_crossover(collector, *whole, 1);
    return collector.finish();
  }
  for (LineReader lines(text); lines.next();) {
    if (words_of(lines.line()).empty()) continue;
    const std::optional<Json> json = parsed(lines.line());
    if (!json || !json->is_object()) {
      refuse_log(file, {lines.number(), 0}, "is no JSON object, expected a row of tutti --json");
    }
    if (is_crossover(*json)) {
      add_crossover(collector, *json, lines.number());
    } else if (json->contains("bytes") && json->contains("algo")) {
      add_row(collector, *json, lines.number());
    } else {
      collector.notes().ignored(lines.number(), "no row of a collective");
    }
  }
  return collector.finish();
}

bool begins_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return first != std::string_view::npos && text[first] == '{';
}
bool is_nccl(std::string_view text) {
  return begins_object(text) && text.find("\"results\"") != std::string_view::npos &&
         (text.find("\"out_of_place\"") != std::string_view::npos ||
          text.find("\"nccl_version\"") != std::string_view::npos);
}

}  // namespace

LogFormat nccl_json_log() {
  return {"nccl-tests-json", "nccl-tests -J", is_nccl, import_nccl};
}
LogFormat json_lines_log() {
  return {"tutti", "tutti's own --json", begins_object, import_lines};
}

}  // namespace tutti
