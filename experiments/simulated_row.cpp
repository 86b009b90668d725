#include "experiments/simulated_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

constexpr std::size_t most_pieces_in_json = 200;
constexpr std::size_t most_pieces_in_text = 8;
constexpr double smallest_share = 0.01;  // Of links that are worth a line.

// Which term of its own closed form an algorithm spends most of its time in.
std::string limiting_term(const Job& job, int ranks, const CostModel& model) {
  const Problem problem = job.problem(ranks);
  const double whole = predicted_seconds(*job.algorithm, problem, model);
  CostModel empty = model;
  empty.beta_seconds_per_byte = empty.gamma_seconds_per_byte = 0.0;
  const double latency = predicted_seconds(*job.algorithm, problem, empty);
  return 2 * latency > whole ? "latency-bound" : "bandwidth-bound";
}

// Bus bandwidth is bytes that a ring would move: other algorithms may show more of it than any link
// has, without a link carrying more than it can.
std::string describe_convention(const Row& row, double slowest_bytes_per_second) {
  const double busbw = row.bus_bandwidth().value_or(0.0) * 1e9;
  // What a ring on a single switch reaches is no more than rounding above the route's bandwidth.
  if (busbw <= slowest_bytes_per_second * 1.001) return "";
  return fmt::format("busbw is a convention: the slowest route has {:.4g} GB/s",
                     slowest_bytes_per_second / 1e9);
}

const std::string& link_name(const Shape& shape, int link) {
  static const std::string none = "no link";
  return link < 0 ? none : shape.links[static_cast<std::size_t>(link)].name;
}

const char* name_of(PathPiece::Kind kind) {
  switch (kind) {
    case PathPiece::Kind::late_start:
      return "late_start";
    case PathPiece::Kind::local:
      return "local";
    case PathPiece::Kind::message:
      break;
  }
  return "message";
}

Json piece_json(const PathPiece& piece, const Shape& shape) {
  Json json = {{"kind", name_of(piece.kind)}, {"rank", piece.rank}};
  if (piece.kind == PathPiece::Kind::message) {
    json["to"] = piece.peer;
    json["step"] = piece.step;
    json["bytes"] = piece.bytes;
    json["link"] = piece.link < 0 ? Json(nullptr) : Json(link_name(shape, piece.link));
  }
  json["begin_us"] = piece.begin_seconds * 1e6;
  json["end_us"] = piece.end_seconds * 1e6;
  return json;
}

double ratio_to(const BoundTerms& bound, double seconds) {
  return bound.seconds() > 0.0 ? seconds / bound.seconds() : 0.0;
}

Json why_json(const Why& why, const BoundTerms& bound, const Shape& shape) {
  const PathTime& time = why.time;
  Json json = {
      {"limit", time.limit()},
      {"hint", why.hint},
      {"bound_us",
       {{"latency", bound.latency_seconds * 1e6},
        {"bandwidth", bound.bandwidth_seconds * 1e6},
        {"reduction", bound.reduction_seconds * 1e6},
        {"cut", bound.cut_seconds * 1e6}}},
      {"times_bound", bound.seconds() > 0.0 ? Json(ratio_to(bound, why.seconds)) : Json(nullptr)},
      {"path_us",
       {{"latency", time.latency_seconds * 1e6},
        {"transfer", time.transfer_seconds * 1e6},
        {"contention", time.contention_seconds * 1e6},
        {"reduction", time.reduction_seconds * 1e6},
        {"overhead", time.overhead_seconds * 1e6},
        {"late_start", time.late_start_seconds * 1e6}}},
      {"path_length", why.path.size()},
      {"path", Json::array()},
      {"busiest_links", Json::array()},
      {"class_bytes", Json::object()},
  };
  for (std::size_t i = 0; i < std::min(why.path.size(), most_pieces_in_json); ++i) {
    json["path"].push_back(piece_json(why.path[i], shape));
  }
  for (const BusyLink& busy : why.busiest) {
    const Link& link = shape.links[static_cast<std::size_t>(busy.link)];
    json["busiest_links"].push_back(
        {{"link", link.name},
         {"class", link.link_class},
         {"bytes", busy.bytes},
         {"utilisation", busy.utilisation ? Json(*busy.utilisation) : Json(nullptr)},
         {"most_flows", busy.most_flows}});
  }
  for (const ClassBytes& one : why.classes) json["class_bytes"][one.link_class] = one.bytes;
  return json;
}

std::string describe_piece(const PathPiece& piece, const Shape& shape) {
  const std::string time = fmt::format("{:.2f} us", piece.seconds() * 1e6);
  switch (piece.kind) {
    case PathPiece::Kind::late_start:
      return fmt::format("rank {} begins late ({})", piece.rank, time);
    case PathPiece::Kind::local:
      return fmt::format("rank {} works ({})", piece.rank, time);
    case PathPiece::Kind::message:
      break;
  }
  return fmt::format("{} -> {} step {} over {} ({})", piece.rank, piece.peer, piece.step,
                     link_name(shape, piece.link), time);
}

void add_path(std::vector<std::string>& lines, const Why& why, const Shape& shape) {
  const std::size_t count = why.path.size();
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    // The beginning and the end of a long one.
    const bool is_hidden = count > most_pieces_in_text && i >= most_pieces_in_text / 2 &&
                           i + most_pieces_in_text / 2 < count;
    if (is_hidden && i == most_pieces_in_text / 2) {
      text += fmt::format(" | ... {} more", count - most_pieces_in_text);
    }
    if (is_hidden) continue;
    text += (text.empty() ? "" : " | ") + describe_piece(why.path[i], shape);
  }
  lines.push_back(
      fmt::format("critical path, {}: {}", counted(static_cast<long long>(count), "piece"), text));
}

void add_links(std::vector<std::string>& lines, const Why& why, const Shape& shape) {
  std::string busiest, classes;
  for (const BusyLink& busy : why.busiest) {
    if (busy.utilisation && *busy.utilisation < smallest_share) continue;
    const std::string use =
        busy.utilisation ? fmt::format("{:.0f} %, ", 100.0 * *busy.utilisation) : "";
    busiest +=
        fmt::format("{}{} ({}{}, {})", busiest.empty() ? "" : " | ", link_name(shape, busy.link),
                    use, format_bytes(busy.bytes), counted(busy.most_flows, "flow"));
  }
  for (const ClassBytes& one : why.classes) {
    classes += fmt::format("{}{} {}", classes.empty() ? "" : ", ", one.link_class,
                           format_bytes(one.bytes));
  }
  if (!busiest.empty()) lines.push_back("busiest links: " + busiest);
  if (!classes.empty()) lines.push_back("bytes over links: " + classes);
}

void add_why(std::vector<std::string>& lines, const Why& why, const BoundTerms& bound,
             const Shape& shape) {
  const PathTime& time = why.time;
  if (time.limit().empty()) {
    lines.push_back("nothing takes any time");
    return;
  }
  lines.push_back(fmt::format(
      "{}: {:.2f} us, {} the bound of {:.2f} us (latency {:.2f}, bandwidth {:.2f}, reduction "
      "{:.2f}, cut {:.2f})",
      time.limit(), why.seconds * 1e6,
      bound.seconds() > 0.0 ? fmt::format("{:.3g} x", ratio_to(bound, why.seconds)) : "beside",
      bound.seconds() * 1e6, bound.latency_seconds * 1e6, bound.bandwidth_seconds * 1e6,
      bound.reduction_seconds * 1e6, bound.cut_seconds * 1e6));
  lines.push_back(fmt::format(
      "time on the critical path: latency {:.2f} us, transfer {:.2f}, contention {:.2f}, "
      "reduction {:.2f}, overhead {:.2f}, late start {:.2f}",
      time.latency_seconds * 1e6, time.transfer_seconds * 1e6, time.contention_seconds * 1e6,
      time.reduction_seconds * 1e6, time.overhead_seconds * 1e6, time.late_start_seconds * 1e6));
  add_path(lines, why, shape);
  add_links(lines, why, shape);
  lines.push_back("hint: " + why.hint);
}

Json waits_json(const std::vector<double>& seconds) {
  Json json = Json::array();
  for (const double wait : seconds) json.push_back(wait * 1e6);
  return json;
}

}  // namespace

const char* const extras_help =
    R"(Rows of noise, stragglers, groups or --why have more keys:
  jitter, repetitions, seed, groups, repeat   as typed; group_times_us: until each group is done
  wait_us        by rank: how long it was blocked by messages, mean over the repetitions
  awaited        what most of the critical paths waits for: kind (rank or link), name, share
  why            of the first repetition: limit (latency-, bandwidth-, reduction- or
                 straggler-bound), hint, bound_us by its terms, times_bound, path_us (the critical
                 path's time by cause), path (by rank, step and link), busiest_links (the ten
                 with most to carry; utilisation is bytes over what a link could carry
                 meanwhile), class_bytes (a message counts once for each link))";

double BoundTerms::seconds() const {
  return std::max({latency_seconds, bandwidth_seconds, reduction_seconds, cut_seconds});
}

RowMaker::RowMaker(const Shape& shape, int ranks, bool shares_links)
    : ranks_(ranks),
      model_(cost_model(shape, ranks)),
      slowest_bytes_per_second_(slowest_bandwidth(shape, ranks)),
      widest_bytes_per_second_(widest_host_bytes_per_second(shape)),
      cuts_(shares_links ? cuts_below_switches(shape, ranks) : std::vector<Cut>{}) {}

Row RowMaker::row(const Job& job, const Trial& trial, const std::string& topology) const {
  Row row;
  row.job = job;
  row.ranks = ranks_;
  row.timing = trial.timing;
  row.substrate = trial.engine;
  row.model = trial.model;
  row.topology = topology;
  if (job.part_counts.empty()) {
    row.lower_bound_seconds = bound(job).seconds();
    if (row.timing.mean_seconds > 0.0) row.note = limiting_term(job, ranks_, model_);
  }
  row.add_note(describe(job.accumulate));
  row.add_note(describe_convention(row, slowest_bytes_per_second_));
  return row;
}

BoundTerms RowMaker::bound(const Job& job) const {
  if (!job.part_counts.empty()) return {};
  const Collective collective = job.algorithm->collective;
  const Problem problem = job.problem(ranks_);
  CostModel moves = model_, reduces = model_;
  moves.gamma_seconds_per_byte = 0.0;
  // A host with several links may send over all of them at once.
  if (std::isfinite(widest_bytes_per_second_)) {
    moves.beta_seconds_per_byte =
        std::min(moves.beta_seconds_per_byte, 1.0 / widest_bytes_per_second_);
  }
  reduces.beta_seconds_per_byte = 0.0;
  return {.latency_seconds = lower_bound(collective, problem, model_).latency_seconds,
          .bandwidth_seconds = lower_bound(collective, problem, moves).bandwidth_seconds,
          .reduction_seconds = lower_bound(collective, problem, reduces).bandwidth_seconds,
          .cut_seconds = cut_seconds(cuts_, job, ranks_)};
}

Json extras_json(const Trial& trial, const ConditionFlags& flags, const BoundTerms& bound,
                 const Shape& shape) {
  Json json = Json::object();
  if (!flags.jitters.empty()) {
    json["jitter"] = flags.jitters;
    json["repetitions"] = flags.repetitions;
    json["seed"] = flags.seed;
  }
  if (flags.repeat > 1) json["repeat"] = flags.repeat;
  if (!flags.groups.empty()) {
    json["groups"] = flags.groups;
    json["group_times_us"] = waits_json(trial.group_seconds);
  }
  if (!trial.wait_seconds.empty()) json["wait_us"] = waits_json(trial.wait_seconds);
  if (trial.awaited) {
    json["awaited"] = {{"kind", trial.awaited->kind},
                       {"name", trial.awaited->name},
                       {"share", trial.awaited_share}};
  }
  if (trial.why) json["why"] = why_json(*trial.why, bound, shape);
  return json;
}

std::vector<std::string> describe_extras(const Trial& trial, const Conditions& conditions,
                                         const BoundTerms& bound, const Shape& shape) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < trial.group_seconds.size(); ++i) {
    lines.push_back(fmt::format("group {}: {:.2f} us", conditions.groups[i].name,
                                trial.group_seconds[i] * 1e6));
  }
  if (!trial.wait_seconds.empty()) {
    const auto& waits = trial.wait_seconds;
    const auto [least, most] = std::minmax_element(waits.begin(), waits.end());
    double sum = 0.0;
    for (const double wait : waits) sum += wait;
    std::string line =
        fmt::format("waits: {:.2f} us a rank, from {:.2f} (rank {}) to {:.2f} (rank {})",
                    sum / static_cast<double>(waits.size()) * 1e6, *least * 1e6,
                    least - waits.begin(), *most * 1e6, most - waits.begin());
    if (trial.awaited) {
      line += fmt::format("; most waited for: {} {}, {:.0f} % of the critical path",
                          trial.awaited->kind, trial.awaited->name, 100.0 * trial.awaited_share);
    }
    lines.push_back(line);
  }
  if (trial.why) add_why(lines, *trial.why, bound, shape);
  return lines;
}

}  // namespace tutti
