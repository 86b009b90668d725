#include "experiments/whatif.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "exec/cores.hpp"
#include "experiments/simulated_row.hpp"
#include "experiments/study_store.hpp"
#include "experiments/study_table.hpp"
#include "experiments/transport.hpp"
#include "process/worker_pool.hpp"

namespace tutti {
namespace {

volatile std::sig_atomic_t last_signal = 0;

void remember(int signal) {
  last_signal = signal;
}

// While it lives, SIGINT and SIGTERM are remembered instead of ending the process.
class SignalGuard {
 public:
  SignalGuard() {
    last_signal = 0;
    struct sigaction action {};
    action.sa_handler = remember;
    replace(SIGINT, action, interrupt_);
    replace(SIGTERM, action, terminate_);
  }
  ~SignalGuard() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  // What is ignored, as by a background job, stays so.
  static void replace(int signal, const struct sigaction& action, struct sigaction& before) {
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }

  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

Json varied_json(const Site& site, const Point& point) {
  Json json = Json::object();
  for (const auto& [name, value] : site.varied) json[name] = value;
  for (const auto& [name, value] : point.varied) json[name] = value;
  return json;
}

// A row for CSV: objects in columns of their own, lists as JSON.
void flatten(const Json& json, const std::string& prefix, Json& flat) {
  for (const auto& [name, value] : json.items()) {
    const std::string column = prefix + (prefix.empty() && name == "varied" ? "vary" : name);
    if (value.is_object()) {
      flatten(value, column + ".", flat);
    } else {
      flat[column] = value.is_array() ? Json(value.dump()) : value;
    }
  }
}

// What tells the point from others of its size, ranks and algorithm: "ring.yaml, model=exact".
std::string variant_of(const Site& site, const Point& point, bool names_topology) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : site.varied) parts.push_back(name + "=" + value);
  for (const auto& [name, value] : point.varied) parts.push_back(name + "=" + value);
  if (names_topology || parts.empty()) parts.insert(parts.begin(), site.file_name());
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "[####......] 88 of 220 points, about 12 s left".
class Progress {
 public:
  explicit Progress(std::size_t points) : points_(points) {}

  void expect(double weight) { whole_ += weight; }

  void count(double weight) {
    ++done_;
    done_weight_ += weight;
    show();
  }

 private:
  void show() {
    constexpr std::size_t width = 30;
    const double share = whole_ > 0.0 ? done_weight_ / whole_ : 1.0;
    const auto filled = static_cast<std::size_t>(share * width);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const double left = share > 0.0 ? passed.count() * (1 / share - 1) : 0.0;
    const std::string time =
        left < 120 ? fmt::format("{:.0f} s", left) : fmt::format("{:.0f} min", left / 60);
    status_.show(fmt::format("[{}{}] {} of {} points, about {} left", std::string(filled, '#'),
                             std::string(width - std::min(filled, width), '.'), done_, points_,
                             time));
  }

  const std::size_t points_;
  std::size_t done_ = 0;
  double whole_ = 0.0;
  double done_weight_ = 0.0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  StatusLine status_;
};

class WhatIf {
 public:
  WhatIf(const WhatifFlags& flags, Output& output)
      : flags_(flags), output_(output), part_(part_of_this_process()) {}

  bool run() {
    if (part_.count > 1 && flags_.file.empty() && joined() == nullptr) {
      throw Error(ErrorKind::usage,
                  fmt::format("{} processes share this study: expected -o FILE, beside which each "
                              "writes its part",
                              part_.count));
    }
    study_ = plan_study(flags_.study);
    store_.emplace(flags_.file, part_);
    compute();
    if (last_signal != 0) leave_by_signal();
    if (joined() != nullptr) gather();
    if (!is_first_rank()) return true;
    print();
    report_failures();
    return true;
  }

 private:
  static StudyPart part_of_this_process() {
    if (joined() == nullptr) return part_of_environment();
    return {joined()->rank(), joined()->size()};
  }

  // The first rank gets what all have computed, by MPI and not by files, which other machines may
  // not see; its own file then becomes the whole.
  void gather() {
    std::string own;
    for (const Point& point : study_.points) {
      if (const Json* const row = store_->find(point.key)) own += row->dump() + '\n';
    }
    store_.reset();
    const std::vector<std::string> parts = joined()->exchange(own, no_deadline);
    if (!is_first_rank()) return;
    part_ = {};
    store_.emplace(flags_.file, part_);
    for (const std::string& part : parts) {
      std::istringstream lines(part);
      for (std::string line; std::getline(lines, line);) {
        Json row = Json::parse(line);
        if (store_->find(row["key"].get<std::string>()) == nullptr) store_->add(std::move(row));
      }
    }
  }

  const Site& site_of(const Point& point) const { return *study_.sites[point.site]; }

  // One point for each key that the file does not hold.
  std::vector<std::size_t> missing_points() const {
    std::vector<std::size_t> missing;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < study_.points.size(); ++i) {
      const std::string& key = study_.points[i].key;
      if (!seen.insert(key).second) continue;
      const bool is_ours = (seen.size() - 1) % static_cast<std::size_t>(part_.count) ==
                           static_cast<std::size_t>(part_.index);
      if (is_ours && !store_->has_result(key)) missing.push_back(i);
    }
    return missing;
  }

  void compute() {
    const std::vector<std::size_t> missing = missing_points();
    Progress progress(missing.size());
    for (const std::size_t point : missing) progress.expect(study_.points[point].weight);
    const auto keep = [&](std::size_t point, Json row) {
      store_->add(std::move(row));
      progress.count(study_.points[point].weight);
    };
    const SignalGuard guard;
    const int cores = part_.count > 1 ? 1 : available_cores();
    run_in_processes(
        missing, flags_.jobs > 0 ? flags_.jobs : cores,
        {.work = [this](std::size_t point) { return result_of(point).dump(); },
         .finished = [&](std::size_t point,
                         const std::string& result) { keep(point, Json::parse(result)); },
         .crashed = [&](std::size_t point,
                        const std::string& why) { keep(point, failure_of(point, why)); },
         .stops = [] { return last_signal != 0; }});
    for (const std::size_t point : missing) done_ += store_->has_result(study_.points[point].key);
  }

  Json result_of(std::size_t index) {
    const Point& point = study_.points[index];
    const Site& site = site_of(point);
    try {
      // Points of one site follow each other.
      if (!maker_ || maker_site_ != point.site) {
        maker_.emplace(site.shape, site.ranks, site.cluster.options.model != NetworkModel::exact);
      }
      maker_site_ = point.site;
      const Trial trial =
          run_trial(site.cluster, site.cluster.engine, point.job, site.conditions, TraceFile(""));
      Json json = {{"key", point.key}};
      json.update(to_json(maker_->row(point.job, trial, site.cluster.shape.name), Source::engine));
      json["topology_file"] = site.topology;
      json["topology_hash"] = site.topology_hash;
      json["seed"] = flags_.study.conditions.seed;
      json["repetitions"] = flags_.study.conditions.repetitions;
      if (!flags_.study.members.empty()) json["members"] = flags_.study.members;
      if (!flags_.study.part_counts.empty()) json["counts"] = flags_.study.part_counts;
      json["varied"] = varied_json(site, point);
      if (point.job.choice) json["chosen"] = point.job.algorithm->name;
      json.update(extras_json(trial, flags_.study.conditions, maker_->bound(point.job),
                              site.cluster.shape));
      return json;
    } catch (const std::exception& error) {
      return failure_of(index, error.what());
    }
  }

  Json failure_of(std::size_t index, const std::string& why) const {
    const Point& point = study_.points[index];
    const Site& site = site_of(point);
    return {{"key", point.key},
            {"collective", name_of(point.job.algorithm->collective)},
            {"algo", point.job.name()},
            {"ranks", site.ranks},
            {"bytes", point.job.bytes()},
            {"topology", site.cluster.shape.name},
            {"topology_file", site.topology},
            {"varied", varied_json(site, point)},
            {"error", why}};
  }

  [[noreturn]] void leave_by_signal() const {
    const std::string kept =
        flags_.file.empty()
            ? std::string("nothing is kept without -o FILE")
            : fmt::format("{} of this run are in {}; the same command goes on",
                          counted(static_cast<long long>(done_), "point"), flags_.file);
    std::fprintf(stderr, "tutti: interrupted: %s\n", kept.c_str());
    std::signal(last_signal, SIG_DFL);
    std::raise(last_signal);
    std::abort();  // Only where the signal is blocked.
  }

  // The point's row; its values of --vary are the study's own, the result may be another's too.
  std::optional<Json> row_of(const Point& point) const {
    const Json* const found = store_->find(point.key);
    if (found == nullptr) return std::nullopt;
    Json row = *found;
    row["topology_file"] = site_of(point).topology;
    row["varied"] = varied_json(site_of(point), point);
    return row;
  }

  void print() const {
    if (part_.count > 1) {
      warn(fmt::format("part {} of {}: {} computed; the same command alone prints the tables",
                       part_.index, part_.count, counted(static_cast<long long>(done_), "point")));
      return;
    }
    if (flags_.format == Format::json) {
      for (const Point& point : study_.points) {
        if (const auto row = row_of(point)) output_.line(row->dump());
      }
    } else if (flags_.format == Format::csv) {
      print_csv();
    } else {
      print_tables();
    }
  }

  void print_csv() const {
    std::vector<Json> rows;
    Json empty = Json::object();  // All columns of all rows.
    const auto add_columns = [&empty](const Json& row) {
      for (const auto& [name, value] : row.items()) empty[name] = nullptr;
    };
    for (const Point& point : study_.points) {
      rows.push_back(Json::object());
      flatten(*row_of(point), "", rows.back());
      // Those of results first, where there is one.
      if (!rows.back().contains("error")) add_columns(rows.back());
    }
    for (const Json& row : rows) add_columns(row);
    empty["error"] = nullptr;
    output_.line(csv_header(empty));
    for (const Json& row : rows) {
      Json whole = empty;
      whole.update(row);
      output_.line(csv_line(whole));
    }
  }

  void print_tables() const {
    std::vector<StudyEntry> entries;
    std::set<std::string> models, topologies;
    for (const auto& site : study_.sites) topologies.insert(site->topology);
    for (const Point& point : study_.points) {
      const auto row = row_of(point);
      if (!row) continue;
      StudyEntry entry{.collective = std::string(name_of(point.job.algorithm->collective)),
                       .variant = variant_of(site_of(point), point, topologies.size() > 1),
                       .algorithm = std::string(point.job.name()),
                       .ranks = site_of(point).ranks,
                       .bytes = point.job.bytes(),
                       .seconds = std::nullopt,
                       .hint = {}};
      if (!row->contains("error")) {
        entry.seconds = row->value("time_us", 0.0) * 1e-6;
        models.insert(row->value("model", ""));
        const Json why = row->value("why", Json::object());
        if (!why.empty())
          entry.hint = fmt::format("{}; {}", why.value("limit", ""), why.value("hint", ""));
      }
      entries.push_back(std::move(entry));
    }
    output_.print("# tutti whatif: {} on {}",
                  counted(static_cast<long long>(study_.points.size()), "point"),
                  counted(static_cast<long long>(study_.sites.size()), "cluster"));
    for (const std::string& model : models) output_.print("# engine and model: {}", model);
    if (topologies.size() == 1) output_.print("# topology: {}", *topologies.begin());
    const std::string conditions = describe(flags_.study.conditions);
    if (!conditions.empty()) output_.print("# {}", conditions);
    for (const std::string& note : study_.notes) output_.print("# {}", note);
    write_study_tables(entries, wants_colours(), output_);
  }

  void report_failures() const {
    std::size_t failed = 0;
    std::string first;
    for (const Point& point : study_.points) {
      const Json* const row = store_->find(point.key);
      if (row == nullptr || !row->contains("error")) continue;
      if (failed++ > 0) continue;
      first =
          fmt::format("{} of {} bytes on {}: {}", point.job.algorithm->full_name, point.job.bytes(),
                      variant_of(site_of(point), point, true), (*row)["error"].get<std::string>());
    }
    if (failed == 0) return;
    throw Error(ErrorKind::system,
                fmt::format("{} of {} failed, the first is {}", failed,
                            counted(static_cast<long long>(study_.points.size()), "point"), first));
  }

  const WhatifFlags& flags_;
  Output& output_;
  StudyPart part_;
  Study study_;
  std::optional<StudyStore> store_;
  std::size_t done_ = 0;
  std::optional<RowMaker> maker_;  // Of a process's last site.
  std::size_t maker_site_ = 0;
};

}  // namespace

bool whatif(const WhatifFlags& flags, Output& output) {
  return WhatIf(flags, output).run();
}

}  // namespace tutti
