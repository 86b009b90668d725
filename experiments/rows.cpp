#include "experiments/rows.hpp"

#include <numeric>

namespace tutti {

namespace {

Json name_or_null(const Algorithm* algorithm) {
  return algorithm != nullptr ? Json(algorithm->name) : Json(nullptr);
}

// How the job's algorithm was chosen; nulls where it was named.
void add_choice(Json& json, const Job& job, bool with_candidates) {
  for (const char* key : {"chosen", "chosen_by", "predicted_us"}) json[key] = nullptr;
  if (with_candidates) json["candidates_us"] = nullptr;
  if (!job.choice) return;
  const Choice& choice = *job.choice;
  json["chosen"] = job.algorithm->name;
  json["chosen_by"] = choice.origin.empty() ? "model" : choice.origin;
  json["predicted_us"] = choice.chosen.seconds * 1e6;
  if (!with_candidates) return;
  json["candidates_us"] = Json::object();
  for (const Candidate& candidate : choice.candidates) {
    json["candidates_us"][std::string(candidate.algorithm->name)] = candidate.seconds * 1e6;
  }
}

}  // namespace

const char* const rows_help =
    R"(Columns, as nccl-tests prints them:
  size      bytes of the whole buffer (N times a rank's part for allgather, reduce_scatter, gather,
            scatter and alltoall), rounded down to whole elements, for alltoall to N equal parts;
            0 for a barrier
  time      microseconds until the slowest rank is done, mean over the iterations; p50 and p99 are
            percentiles over the iterations
  algbw     size / time in GB/s (1e9 bytes)
  busbw     algbw x 2(N-1)/N (allreduce), 1 (broadcast, reduce), (N-1)/N (the others): what a ring
            or the root's link carries, a convention for other algorithms; n/a for one rank and
            for a barrier
  #wrong    elements that are not exactly right, over all ranks; n/a for a barrier

JSON, one line a row (null where there is no value): collective, algo, ranks, bytes, count, dtype,
op, root (-1: none), time_us, p50_us, p99_us, algbw, busbw, wrong, then transport (bench) or engine
(simulate), model, topology, lower_bound_us, note (also: float32 accumulation, counts, members),
segments, radix, group (0: the algorithm's default), inner, outer (null: likewise). CSV has the same
names as its header.

bench over shm adds to JSON the path that messages of more than 8192 bytes took: arena (read in
memory that all ranks share), process_vm_readv (read in the sender's own memory, where the kernel
permits that), queue (copied twice), with their shares where there are several.

With --algo all, algorithms that do not support the number of ranks or the tuning are left out,
which a comment of the table says; naming one is a usage error.

With --members 3,1,2 the collective runs among these ranks, in that order, and the others are idle:
rank 3 is number 0, and so on, for --root, for --counts and in traces. With --counts 3,0,5,2 each
rank has a part of so many elements: the v-forms of allgather, reduce_scatter, gather, scatter and
alltoall, in which rank i sends the ((i + j) mod N)-th count, from 0, to rank j. Algorithms that
need equal parts are left out, and there is no bound.)";

Format parse_format(const std::string& name) {
  if (name == "table") return Format::table;
  if (name == "csv") return Format::csv;
  if (name == "json") return Format::json;
  throw Error(ErrorKind::usage,
              fmt::format("unknown format '{}', expected one of table, csv, json", name));
}

void Row::add_note(const std::string& text) {
  if (text.empty()) return;
  note = note ? *note + ", " + text : text;
}

std::optional<double> Row::algorithm_bandwidth() const {
  const bool has_data = job.algorithm->collective != Collective::barrier;
  if (!has_data || !(timing.mean_seconds > 0.0)) return std::nullopt;
  return static_cast<double>(job.bytes()) / timing.mean_seconds / 1e9;
}

std::optional<double> Row::bus_bandwidth() const {
  const std::optional<double> bandwidth = algorithm_bandwidth();
  if (!bandwidth || ranks == 1) return std::nullopt;
  return *bandwidth * bus_bandwidth_factor(job.algorithm->collective, ranks);
}

RowWriter::RowWriter(Output& output, Format format, Source source, bool automatic)
    : output_(output), format_(format), source_(source), automatic_(automatic) {}

void RowWriter::comment(const std::string& text) {
  if (format_ == Format::table && !text.empty()) output_.print("# {}", text);
}

void RowWriter::write(const Row& row, const Json& extras, const std::vector<std::string>& lines) {
  wrong_ += row.wrong.value_or(0);
  checked_ = checked_ || row.wrong.has_value();
  if (const auto bandwidth = row.bus_bandwidth()) {
    bus_bandwidths_[std::string(row.job.name())].push_back(*bandwidth);
  }
  if (format_ == Format::table) {
    write_table(row);
    for (const std::string& line : lines) output_.print("#   {}", line);
    return;
  }
  Json json = complete_json(row);
  if (format_ == Format::csv) return write_csv(json);
  json.update(extras);
  output_.line(json.dump());
}

bool RowWriter::finish() {
  comment(checked_ ? fmt::format("Out of bounds values : {} {}", wrong_, wrong_ ? "FAILED" : "OK")
                   : "Out of bounds values : n/a, not checked");
  for (const auto& [algorithm, bandwidths] : bus_bandwidths_) {
    const double sum = std::accumulate(bandwidths.begin(), bandwidths.end(), 0.0);
    const std::string name = bus_bandwidths_.size() > 1 ? fmt::format(" ({})", algorithm) : "";
    comment(fmt::format("Avg bus bandwidth    : {:.6g}{}",
                        sum / static_cast<double>(bandwidths.size()), name));
  }
  return wrong_ == 0;
}

void RowWriter::write_header() {
  const bool simulated = source_ == Source::engine;
  constexpr auto layout =
      "#{:>12} {:>12} {:>9} {:>8} {:>5} {:>26} {:>11} {:>8} {:>8} {:>7} {:>11} {:>11}{}";
  output_.print(layout, "size", "count", "type", "redop", "root", "algo", "time", "algbw", "busbw",
                "#wrong", "p50", "p99",
                simulated    ? "       bound  note"
                : automatic_ ? "  note"
                             : "");
  output_.print(layout, "(B)", "(elements)", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)",
                "(us)", simulated ? "        (us)" : "");
}

void RowWriter::write_table(const Row& row) {
  if (!has_header_) write_header();
  has_header_ = true;
  const Job& job = row.job;
  // Long tables read better with a break between sizes.
  if (rows_of_count_ > 1 && job.count != last_count_) output_.line("#");
  rows_of_count_ = job.count == last_count_ ? rows_of_count_ + 1 : 1;
  last_count_ = job.count;
  const Collective collective = job.algorithm->collective;
  std::string end;
  if (source_ == Source::engine) {
    const std::optional<double> bound = row.lower_bound_seconds;
    end = fmt::format(" {:>11}", bound ? fmt::format("{:.2f}", *bound * 1e6) : "n/a");
  }
  // What is the same for all measured rows is in the header.
  if (row.note && source_ == Source::engine) end += "  " + *row.note;
  if (job.choice) {
    end += fmt::format("{}auto: {}", source_ == Source::engine && row.note ? ", " : "  ",
                       job.choice->describe());
  }
  output_.print(
      " {:>12} {:>12} {:>9} {:>8} {:>5} {:>26} {:>11.2f} {:>8} {:>8} {:>7} {:>11.2f} {:>11.2f}{}",
      job.bytes(), job.count, name_of(job.dtype), redop_name(collective, job.op),
      is_rooted(collective) ? job.root : -1, job.name(), row.timing.mean_seconds * 1e6,
      format_number(row.algorithm_bandwidth(), 2), format_number(row.bus_bandwidth(), 2),
      row.wrong ? fmt::format("{}", *row.wrong) : "n/a", row.timing.p50_seconds * 1e6,
      row.timing.p99_seconds * 1e6, end);
}

void RowWriter::write_csv(const Json& json) {
  if (!has_header_) output_.line(csv_header(json));
  has_header_ = true;
  output_.line(csv_line(json));
}

Json RowWriter::complete_json(const Row& row) const {
  Json json = to_json(row, source_);
  if (automatic_) add_choice(json, row.job, format_ == Format::json);
  return json;
}

namespace {

// As RFC 4180 has it: quotes within are doubled.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += c;
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string csv_header(const Json& json) {
  std::string names;
  for (const auto& [name, value] : json.items()) {
    if (value.is_structured()) continue;
    if (!names.empty()) names += ',';
    names += name;
  }
  return names;
}

std::string csv_line(const Json& json) {
  std::string values;
  bool is_first = true;
  for (const auto& [name, value] : json.items()) {
    if (value.is_structured()) continue;
    if (!is_first) values += ',';
    is_first = false;
    if (value.is_string()) {
      values += quoted(value.get<std::string>());
    } else if (!value.is_null()) {
      values += value.dump();
    }
  }
  return values;
}

Json to_json(const Row& row, Source source) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  const Job& job = row.job;
  const Collective collective = job.algorithm->collective;
  Json json = {
      {"collective", name_of(collective)},
      {"algo", job.name()},
      {"ranks", row.ranks},
      {"bytes", job.bytes()},
      {"count", job.count},
      {"dtype", name_of(job.dtype)},
      {"op", redop_name(collective, job.op)},
      {"root", is_rooted(collective) ? job.root : -1},
      {"time_us", microseconds_json(row.timing.mean_seconds)},
      {"p50_us", microseconds_json(row.timing.p50_seconds)},
      {"p99_us", microseconds_json(row.timing.p99_seconds)},
      {"algbw", or_null(row.algorithm_bandwidth())},
      {"busbw", or_null(row.bus_bandwidth())},
      {"wrong", or_null(row.wrong)},
      {source == Source::engine ? "engine" : "transport", row.substrate},
      {"model", or_null(row.model)},
      {"topology", or_null(row.topology)},
      {"lower_bound_us", microseconds_json(row.lower_bound_seconds)},
      {"note", or_null(row.note)},
      {"segments", job.tuning.segments},
      {"radix", job.tuning.radix},
      {"group", job.tuning.group},
      {"inner", name_or_null(job.tuning.inner)},
      {"outer", name_or_null(job.tuning.outer)},
  };
  return json;
}

}  // namespace tutti
