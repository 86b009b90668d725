#include "experiments/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "collectives/run.hpp"
#include "experiments/choosing.hpp"
#include "experiments/content_hash.hpp"
#include "experiments/files.hpp"
#include "experiments/output.hpp"
#include "experiments/sizes.hpp"
#include "experiments/vary.hpp"
#include "topologies/resize.hpp"
#include "topologies/words.hpp"

namespace tutti {

const char* const axis_names_help =
    "collective, topology, model, ranks, dtype, bytes, segments, radix, group and algo";

namespace {

constexpr std::size_t most_points = 1'000'000;
constexpr auto default_sizes = "bytes=1K..1G*32";

// In the order in which they nest, from the outside; topologies' own keys are between.
const std::vector<std::string_view> site_names = {"topology", "model"};
const std::vector<std::string_view> job_names = {"dtype", "bytes", "segments", "radix", "group"};
const std::vector<std::string_view> all_names = {"collective", "topology", "model",    "ranks",
                                                 "dtype",      "bytes",    "segments", "radix",
                                                 "group",      "algo"};

bool is_in(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t found = text.find(from);
  if (found != std::string::npos) text.replace(found, from.size(), to);
  return text;
}

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// All combinations of the axes' values, the last axis fastest.
std::vector<std::vector<NamedValue>> combinations(const std::vector<Axis>& axes) {
  std::vector<std::vector<NamedValue>> all(1);
  for (const Axis& axis : axes) {
    std::vector<std::vector<NamedValue>> longer;
    if (all.size() * axis.values.size() > most_points) {
      fail(fmt::format("--vary: more than {} points; vary less at once", most_points));
    }
    for (const auto& one : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(one);
        longer.back().push_back({axis.key, value});
      }
    }
    all = std::move(longer);
  }
  return all;
}

class Planner {
 public:
  explicit Planner(const StudyFlags& flags) : flags_(flags) {
    for (const std::string& text : flags.axes) {
      Axis axis = parse_axis(text);
      const std::string key = axis.key;
      if (!axes_.emplace(key, axis).second) fail(fmt::format("--vary {}: given twice", key));
      order_.push_back(key);
    }
    const auto only_once = [&](const char* key, bool given, const char* other) {
      if (given && axes_.contains(key)) {
        fail(fmt::format("--vary {}: given beside {}, expected one of them", key, other));
      }
    };
    only_once("ranks", flags.ranks > 0, "--ranks");
    only_once("collective", flags.collectives != StudyFlags().collectives, "COLLECTIVE");
    only_once("topology", !flags.topologies.empty(), "--topology");
    only_once("algo", flags.algorithms != StudyFlags().algorithms, "--algo");
    if (flags.topologies.empty() && !axes_.contains("topology")) {
      fail("no topology: expected --topology FILE, which may come several times");
    }
    only_once("bytes", !flags.part_counts.empty(), "--counts");
    if (!flags.members.empty() && !flags.conditions.groups.empty()) {
      fail("--groups: given beside --members, expected one of them");
    }
    QuestionFlags choosing;
    choosing.rules = flags.rules;
    choosing.algorithms = flags.algorithms;
    if (axes_.contains("algo")) {
      choosing.algorithms = fmt::format("{}", fmt::join(axes_.at("algo").values, ","));
    }
    names_all_ = choosing.algorithms == QuestionFlags().algorithms;
    rules_ = load_rules(choosing);
  }

  Study plan() {
    make_sites();
    const std::vector<std::string> collectives = axes_.contains("collective")
                                                     ? axes_.at("collective").values
                                                     : split_names(flags_.collectives);
    for (const std::string& name : collectives) add_points(parse_collective(name));
    check_tuning_used();
    if (study_.points.empty()) {
      fail(left_out_.empty() ? std::string("no points") : describe_left_out());
    }
    if (!left_out_.empty()) study_.notes.push_back(describe_left_out());
    return std::move(study_);
  }

 private:
  std::vector<std::string> values_of(const char* key, std::vector<std::string> otherwise) const {
    const auto found = axes_.find(key);
    return found == axes_.end() ? std::move(otherwise) : found->second.values;
  }

  void make_sites() {
    std::vector<Axis> axes = {{"topology", values_of("topology", flags_.topologies)}};
    for (const std::string& key : order_) {
      const bool is_site = key == "model" || !is_in(key, all_names);
      if (is_site) axes.push_back(axes_.at(key));
    }
    axes.push_back({"ranks", values_of("ranks", {std::to_string(flags_.ranks)})});
    for (const std::vector<NamedValue>& choice : combinations(axes)) add_site(choice);
  }

  int ranks_of(const std::string& text) const {
    const bool is_varied = axes_.contains("ranks");
    const std::size_t ranks = is_varied ? parse_size(text) : static_cast<std::size_t>(flags_.ranks);
    if (!is_varied && ranks == 0) return 0;
    if (ranks >= 1 && ranks <= static_cast<std::size_t>(maximum_hosts)) {
      return static_cast<int>(ranks);
    }
    fail(fmt::format("--{}{}: expected 1 to {}", is_varied ? "vary ranks=" : "ranks ", text,
                     maximum_hosts));
  }

  void add_site(const std::vector<NamedValue>& choice) {
    auto site = std::make_shared<Site>();
    ClusterFlags cluster = flags_.cluster;
    int ranks = 0;
    for (const auto& [name, value] : choice) {
      if (name == "topology") {
        cluster.topology = site->topology = value;
      } else if (name == "ranks") {
        ranks = ranks_of(value);
      } else {
        if (name == "model") {
          cluster.model = value;
        } else {
          cluster.changes.settings.push_back(name + "=" + value);
        }
        site->varied.push_back({name, value});
      }
    }
    if (flags_.resize) {
      if (ranks == 0) fail("--resize: expected --vary ranks=... or --ranks, which it follows");
      const auto& settings = cluster.changes.settings;
      for (std::string& setting : settings_for_ranks(cluster.topology, settings, ranks)) {
        cluster.changes.settings.push_back(std::move(setting));
      }
    }
    site->cluster = loaded(cluster, ranks, *site);
    site->conditions = understand(flags_.conditions, site->cluster.ranks);
    site->conditions.limit_seconds = flags_.limit_seconds;
    take_groups(*site);
    check_runnable(*site);
    site->topology_hash = topology_hash_of(*site);
    site->content = content_of(*site, cluster);
    study_.sites.push_back(std::move(site));
  }

  // Errors name --vary where the value comes from it.
  Cluster loaded(const ClusterFlags& cluster, int ranks, const Site& site) const {
    const auto explain = [&](std::string text) {
      for (const auto& [name, value] : site.varied) {
        const std::string setting = name + "=" + value;
        if (text.find("--set " + setting) == std::string::npos) continue;
        text = replaced(text, "--set " + setting, "--vary " + setting);
        if (name.find_first_of(".[") != std::string::npos) break;
        const std::string_view nearest = nearest_word(name, all_names);
        text += nearest.empty()
                    ? fmt::format("; beside such keys, --vary knows {}", axis_names_help)
                    : fmt::format("; --vary also knows '{}'", nearest);
        break;
      }
      return text;
    };
    try {
      return load_cluster(cluster, ranks);
    } catch (const ShapeError& error) {
      throw ShapeError(explain(error.what()));
    } catch (const Error& error) {
      const bool is_too_small = ranks > 0 && !flags_.resize && error.kind() == ErrorKind::usage;
      const std::string more =
          is_too_small && std::string_view(error.what()).find("has room") != std::string::npos
              ? ", or --resize"
              : "";
      std::string text = explain(error.what()) + more;
      if (axes_.contains("ranks")) text = replaced(text, "--ranks ", "--vary ranks=");
      throw Error(error.kind(), text, error.rank());
    }
  }

  void take_groups(Site& site) const {
    auto& groups = site.conditions.groups;
    check_members(flags_.members, site.cluster.ranks);
    if (!flags_.members.empty()) groups.push_back({"of the members", flags_.members});
    site.sizes = group_sizes(groups, site.cluster.ranks);
    site.ranks = site.sizes.front();
    for (const int size : site.sizes) check_counts(flags_.part_counts, size);
    site.shape = among(site.cluster.shape,
                       groups.empty() ? std::vector<int>{} : largest_group(groups).members);
  }

  // Whatever the engine or the noise would refuse.
  void check_runnable(const Site& site) const {
    Shape shape = site.cluster.shape;
    SimOptions options = site.cluster.options;
    disturb(shape, options.start_seconds, site.cluster.ranks, site.conditions.jitters, 0);
    make_simulated_world(site.cluster.engine, std::move(shape), site.cluster.ranks, options);
  }

  static std::string topology_hash_of(const Site& site) {
    ContentHash hash;
    hash.add(site.cluster.shape);
    if (is_readable(site.topology)) hash.add(read_file(site.topology));
    return hash.text();
  }

  std::string content_of(const Site& site, const ClusterFlags& cluster) const {
    ContentHash hash;
    hash.add(TUTTI_VERSION);
    hash.add(site.topology_hash);
    hash.add(cluster.model);
    hash.add(choose_engine(site.cluster.engine, site.cluster.shape, site.cluster.ranks,
                           site.cluster.options.model) == Engine::simgrid
                 ? "simgrid"
                 : "replay");
    hash.add(static_cast<double>(site.cluster.ranks));
    for (const double start : site.cluster.options.start_seconds) hash.add(start);
    const ConditionFlags& conditions = flags_.conditions;
    for (const std::string& jitter : conditions.jitters) hash.add(jitter);
    if (!conditions.jitters.empty()) {
      hash.add(static_cast<double>(conditions.repetitions));
      hash.add(std::to_string(conditions.seed));
    }
    hash.add(conditions.groups);
    hash.add(fmt::format("{}", fmt::join(flags_.members, " ")));
    hash.add(static_cast<double>(conditions.repeat));
    hash.add(conditions.why ? "why" : "");
    return hash.text();
  }

  // A flag that changes nothing is a mistake.
  void check_tuning_used() const {
    const auto check_one = [&](const char* name, int value, auto uses) {
      if (value == 0 && !axes_.contains(name)) return;
      for (const Point& point : study_.points) {
        if (point.job.choice || std::invoke(uses, point.job.algorithm)) return;
      }
      fail(fmt::format("--{}{}: no algorithm of the study uses it",
                       axes_.contains(name) ? "vary " : "", name));
    };
    check_one("segments", flags_.tuning.segments, &Algorithm::uses_segments);
    check_one("radix", flags_.tuning.radix, &Algorithm::uses_radix);
    check_one("group", flags_.tuning.group, &Algorithm::uses_group);
    check_one("inner", flags_.levels.inner.empty() ? 0 : 1, &Algorithm::has_levels);
    check_one("outer", flags_.levels.outer.empty() ? 0 : 1, &Algorithm::has_levels);
  }

  void add_points(Collective collective) {
    const std::vector<std::string> names =
        axes_.contains("algo") ? axes_.at("algo").values : split_names(flags_.algorithms);
    const bool is_ruled =
        names_all_ && std::any_of(rules_.begin(), rules_.end(),
                                  [&](const Rule& rule) { return rule.collective == collective; });
    const std::vector<const Algorithm*> algorithms =
        is_ruled ? std::vector<const Algorithm*>{} : algorithms_named(collective, names);
    const bool automatic = is_ruled || std::find(names.begin(), names.end(), "auto") != names.end();
    check_parts(collective, automatic);
    std::vector<Axis> axes;
    for (const std::string_view name : job_names) {
      const auto found = axes_.find(std::string(name));
      if (found != axes_.end()) axes.push_back(found->second);
      if (found == axes_.end() && name == "bytes") axes.push_back(parse_axis(default_sizes));
      // Without data, or with counts, sizes make no difference.
      const bool is_fixed = collective == Collective::barrier || !flags_.part_counts.empty();
      if (name == "bytes" && is_fixed) axes.back().values.resize(1);
    }
    const auto choices = combinations(axes);
    for (std::size_t site = 0; site < study_.sites.size(); ++site) {
      for (const auto& choice : choices) {
        add_jobs(collective, site, choice, algorithms, automatic);
      }
    }
  }

  void check_parts(Collective collective, bool automatic) const {
    if (flags_.part_counts.empty()) return;
    if (!has_parts(collective)) {
      fail(
          fmt::format("--counts: {} does not divide its buffer, expected allgather, "
                      "reduce_scatter, gather, scatter or alltoall",
                      name_of(collective)));
    }
    if (automatic) {
      fail("--counts: auto chooses among equal parts only; name algorithms with --algo");
    }
  }

  // Those of the collective; throws for a name that no collective has.
  std::vector<const Algorithm*> algorithms_named(Collective collective,
                                                 const std::vector<std::string>& names) const {
    std::vector<const Algorithm*> found;
    for (const std::string& name : names) {
      if (name == "auto") continue;
      if (name == "all") {
        for (const Algorithm* algorithm : algorithms_of(collective)) found.push_back(algorithm);
        continue;
      }
      const auto all = catalogue();
      const bool is_known = std::any_of(all.begin(), all.end(), [&](const Algorithm& one) {
        return one.name == name && one.collective != collective;
      });
      const std::vector<const Algorithm*> own = algorithms_of(collective);
      const bool is_own = std::any_of(own.begin(), own.end(),
                                      [&](const Algorithm* one) { return one->name == name; });
      // Other collectives of the study may have it.
      if (is_known && !is_own && names.size() > 1) continue;
      found.push_back(&find_algorithm(collective, name));
    }
    return found;
  }

  Job job_of(Collective collective, const Site& site, const std::vector<NamedValue>& choice) const {
    Job job;
    job.dtype = parse_dtype(flags_.dtype);
    job.op = parse_op(flags_.op);
    job.root = flags_.root;
    job.tuning = with_levels(flags_.tuning, collective, flags_.levels);
    job.part_counts = flags_.part_counts;
    std::size_t bytes = 0;
    const auto whole = [](const NamedValue& value) {
      const std::size_t number = parse_size(value.value);
      if (number <= 1'000'000) return static_cast<int>(number);
      fail(fmt::format("--vary {}={}: expected 0 to 1000000", value.name, value.value));
    };
    for (const NamedValue& value : choice) {
      if (value.name == "dtype") job.dtype = parse_dtype(value.value);
      if (value.name == "bytes") bytes = parse_size(value.value);
      if (value.name == "segments") job.tuning.segments = whole(value);
      if (value.name == "radix") job.tuning.radix = whole(value);
      if (value.name == "group") job.tuning.group = whole(value);
    }
    std::size_t unit = 1;
    for (const int size : site.sizes) {
      check_supported(collective, job.dtype, job.op, job.root, size);
      if (collective == Collective::alltoall) unit = std::lcm(unit, static_cast<std::size_t>(size));
    }
    job.count = bytes / bytes_of(job.dtype) / unit * unit;
    if (!job.part_counts.empty()) {
      job.count = std::accumulate(job.part_counts.begin(), job.part_counts.end(), std::size_t{0});
    }
    if (collective == Collective::barrier) job.count = 0;
    return job;
  }

  void add_jobs(Collective collective, std::size_t index, const std::vector<NamedValue>& choice,
                const std::vector<const Algorithm*>& algorithms, bool automatic) {
    const Site& site = *study_.sites[index];
    const Job job = job_of(collective, site, choice);
    Point point{.site = index, .job = job, .varied = {}, .key = {}};
    for (const NamedValue& value : choice) {
      if (value.name != "bytes") point.varied.push_back(value);
    }
    if (automatic) {
      if (site.sizes.size() > 1) {
        fail("--groups: auto chooses for one size; name algorithms with --algo");
      }
      point.job.choice =
          choose(collective, job.problem(site.ranks), cost_profile(site.shape, site.ranks), rules_);
      point.job.algorithm = point.job.choice->chosen.algorithm;
      point.job.tuning = point.job.choice->chosen.tuning;
      add(point);
    }
    point.job = job;
    for (const Algorithm* algorithm : algorithms) {
      point.job.algorithm = algorithm;
      point.job.tuning = job.tuning;
      // Of what it does not look at, all values are alike.
      if (!algorithm->uses_segments) point.job.tuning.segments = 0;
      if (!algorithm->uses_radix) point.job.tuning.radix = 0;
      if (!algorithm->uses_group) point.job.tuning.group = 0;
      if (!algorithm->has_levels()) point.job.tuning.inner = point.job.tuning.outer = nullptr;
      if (is_supported(site, point.job)) {
        add(point);
      } else {
        ++left_out_[std::string(algorithm->full_name)];
      }
    }
  }

  // By each number of ranks that run it.
  static bool is_supported(const Site& site, const Job& job) {
    if (!job.part_counts.empty()) {
      return supports_counts(*job.algorithm, job.part_counts, job.tuning);
    }
    return std::all_of(site.sizes.begin(), site.sizes.end(),
                       [&](int size) { return job.algorithm->supports(job.problem(size)); });
  }

  void add(Point& point) {
    if (study_.points.size() == most_points) {
      fail(fmt::format("--vary: more than {} points; vary less at once", most_points));
    }
    const Site& site = *study_.sites[point.site];
    const Job& job = point.job;
    ContentHash hash;
    hash.add(site.content);
    hash.add(job.name());
    hash.add(job.algorithm->full_name);
    hash.add(std::to_string(job.count));
    hash.add(name_of(job.dtype));
    hash.add(redop_name(job.algorithm->collective, job.op));
    hash.add(fmt::format("{} {} {} {}", job.root, job.tuning.segments, job.tuning.radix,
                         job.tuning.group));
    hash.add(fmt::format("{}", fmt::join(job.part_counts, " ")));
    for (const Algorithm* level : {job.tuning.inner, job.tuning.outer}) {
      hash.add(level == nullptr ? "" : level->full_name);
    }
    point.key = hash.text();
    const Problem problem = job.problem(site.ranks);
    const double messages = job.algorithm->steps(problem) * static_cast<double>(site.ranks);
    point.weight = 1e3 + messages * site.conditions.repetitions * site.conditions.repeat;
    study_.points.push_back(point);
  }

  std::string describe_left_out() const {
    std::vector<std::string> parts;
    for (const auto& [name, count] : left_out_) {
      parts.push_back(fmt::format("{} ({}, {})", name, counted(count, "point"), [&] {
        const auto all = catalogue();
        return std::find_if(all.begin(), all.end(),
                            [&](const Algorithm& one) { return one.full_name == name; })
            ->supported;
      }()));
    }
    return fmt::format("left out where not supported: {}", fmt::join(parts, ", "));
  }

  const StudyFlags& flags_;
  Rules rules_;
  bool names_all_ = false;  // Whether no algorithms are named.
  std::map<std::string, Axis> axes_;
  std::vector<std::string> order_;  // Keys of the axes, as typed.
  std::map<std::string, int> left_out_;
  Study study_;
};

}  // namespace

std::string Site::file_name() const {
  return std::filesystem::path(topology).filename().string();
}

Study plan_study(const StudyFlags& flags) {
  return Planner(flags).plan();
}

}  // namespace tutti
