#include "experiments/replay_plan.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "collectives/plan_check.hpp"
#include "collectives/plan_execute.hpp"
#include "collectives/plan_goal.hpp"
#include "collectives/plan_json.hpp"
#include "collectives/plan_msccl.hpp"
#include "experiments/command.hpp"
#include "experiments/files.hpp"
#include "experiments/sizes.hpp"

namespace tutti {
namespace {

constexpr int most_lanes = 64;

// A plan, and what an MSCCL file says of it beyond.
struct Source {
  Plan plan;
  std::optional<MscclPlan> msccl;

  const Plan& played() const { return msccl ? msccl->plan : plan; }
};

Source parse(const ReplayFlags& flags, const std::string& text, const CostModel& model) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const char begin = first == std::string::npos ? '\0' : text[first];
  if (begin == '<') {
    MscclOptions options{.root = flags.root, .model = model};
    if (!flags.bytes.empty()) options.bytes = parse_size(flags.bytes);
    if (!flags.bytes.empty() && options.bytes == 0) {
      throw Error(ErrorKind::usage,
                  fmt::format("--bytes {}: expected at least one byte", flags.bytes));
    }
    return {{}, parse_msccl(text, options)};
  }
  if (!flags.bytes.empty()) {
    throw Error(ErrorKind::usage, fmt::format("--bytes {}: found a file with sizes of its own, "
                                              "expected MSCCL XML",
                                              flags.bytes));
  }
  const bool is_json = begin == '{' || flags.file.ends_with(".json");
  return {is_json ? plan_from_json(text) : parse_goal(text, model), std::nullopt};
}

// Errors of the file begin with its name, and with the line where there is one.
Source read_source(const ReplayFlags& flags, const CostModel& model) {
  const std::string text = read_file(flags.file);
  try {
    Source source = parse(flags, text, model);
    check_matching(source.played());
    return source;
  } catch (const Error& error) {
    std::string_view what = error.what();
    constexpr std::string_view line = "line ";
    const bool has_line = what.starts_with(line);
    if (has_line) what.remove_prefix(line.size());
    throw Error(ErrorKind::usage, fmt::format("{}:{}{}", flags.file, has_line ? "" : " ", what),
                error.rank());
  }
}

// Every program of the rank: the first lane's here, the others' in tasks.
void execute_rank(const Plan& plan, Rank& rank) {
  const PlanProgram* own = nullptr;
  for (const PlanProgram& program : plan.programs) {
    if (program.rank != rank.index()) continue;
    if (program.lane == 0) {
      own = &program;
    } else {
      rank.spawn(
          [&program, &channel = rank.channel(program.lane)] { execute_plan(program, channel); });
    }
  }
  if (own != nullptr) execute_plan(*own, rank.channel());
}

int lanes_of(const Plan& plan) {
  int lanes = 1;
  for (const PlanProgram& program : plan.programs) lanes = std::max(lanes, program.lane + 1);
  if (lanes <= most_lanes) return lanes;
  throw Error(ErrorKind::usage,
              fmt::format("lane {}: expected 0 to {}", lanes - 1, most_lanes - 1));
}

double latest(const std::vector<double>& seconds) {
  return seconds.empty() ? 0.0 : *std::max_element(seconds.begin(), seconds.end());
}

std::string_view name_of(MscclVerdict::Status status) {
  switch (status) {
    case MscclVerdict::Status::proved:
      return "proved";
    case MscclVerdict::Status::wrong:
      return "wrong";
    case MscclVerdict::Status::unknown:
      break;
  }
  return "unknown";
}

// What a replay has found.
struct Replayed {
  const Plan& plan;
  const SimulatedWorld& world;
  double ideal_seconds = 0.0;
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

void print_json(const ReplayFlags& flags, const Replayed& replayed, const MscclPlan* msccl,
                const MscclVerdict& verdict, Output& output) {
  Json ends = Json::array();
  for (const double seconds : replayed.world.end_seconds()) {
    ends.push_back(microseconds_json(seconds));
  }
  Json json{{"file", flags.file}, {"ranks", replayed.plan.size}};
  if (msccl != nullptr) {
    json["algo"] = msccl->name;
    json["collective"] = msccl->collective;
    json["buffer_bytes"] = msccl->bytes;
    json["proof"] = {{"status", name_of(verdict.status)}, {"text", verdict.text}};
  }
  json["messages"] = replayed.messages;
  json["bytes"] = replayed.bytes;
  json["time_us"] = microseconds_json(replayed.world.seconds());
  json["no_contention_us"] = microseconds_json(replayed.ideal_seconds);
  json["rank_end_us"] = ends;
  json["engine"] = replayed.world.engine();
  json["model"] = replayed.world.describe();
  output.line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_text(const ReplayFlags& flags, const Replayed& replayed, const MscclPlan* msccl,
                const MscclVerdict& verdict, const std::string& cluster, Output& output) {
  output.print("# tutti replay: {} on {}", flags.file, cluster);
  output.print("# engine and model: {}", replayed.world.describe());
  output.print("ranks          {}", replayed.plan.size);
  output.print("messages       {}", replayed.messages);
  output.print("bytes          {}", replayed.bytes);
  if (msccl != nullptr) output.print("buffer         {} bytes a rank", msccl->bytes);
  output.print("time           {:.3f} us", replayed.world.seconds() * 1e6);
  output.print("no contention  {:.3f} us, every message at the best link's speed",
               replayed.ideal_seconds * 1e6);
  output.print("proof          {}", msccl != nullptr
                                        ? verdict.text
                                        : "none: the file does not say what it is to compute");
}

}  // namespace

bool replay_plan(const ReplayFlags& flags, Output& output) {
  // Where a file leaves an order open, it is the one of this cluster's best links.
  const Cluster cluster = load_cluster(flags.cluster, 0);
  const CostModel model = cost_model(cluster.shape, cluster.ranks);
  const Source source = read_source(flags, model);
  const Plan& plan = source.played();
  if (plan.size > cluster.ranks) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} ranks, but {} has {} hosts; try --set hosts={}", flags.file,
                            plan.size, flags.cluster.topology, cluster.ranks, plan.size));
  }
  const MscclPlan* const msccl = source.msccl ? &*source.msccl : nullptr;
  MscclVerdict verdict;
  if (msccl != nullptr) verdict = prove_msccl(*msccl);
  SimOptions options = cluster.options;
  options.lanes = lanes_of(plan);
  const auto world = make_simulated_world(cluster.engine, cluster.shape, plan.size, options);
  world->run([&](Rank& rank) { execute_rank(plan, rank); });

  Replayed replayed{plan, *world, latest(replay(plan, model))};
  for (const PlanVolume& volume : volumes(plan)) {
    replayed.messages += volume.messages_sent;
    replayed.bytes += volume.bytes_sent;
  }
  if (flags.json) {
    print_json(flags, replayed, msccl, verdict, output);
  } else {
    print_text(flags, replayed, msccl, verdict, cluster.shape.name, output);
  }
  return verdict.status != MscclVerdict::Status::wrong;
}

Command add_replay(CLI::App& app) {
  const auto flags = std::make_shared<ReplayFlags>();
  app.add_option("FILE", flags->file, "A plan: GOAL, MSCCL XML, or JSON of tutti explain")
      ->required();
  add_cluster(app, flags->cluster);
  app.add_option(
      "--bytes", flags->bytes,
      "Size of an MSCCL file's buffer (binary K, M, G); default: about 1M, whole chunks");
  app.add_option("-r,--root", flags->root, "Root of an MSCCL file's rooted collective")
      ->capture_default_str();
  app.add_flag("--json", flags->json, "Print JSON");
  app.footer(std::string(R"(
Simulates the messages of a plan, one rank a host. GOAL (LogGOPSim, ATLAHS) has a graph of
dependencies a rank, which becomes one sequence of posts and waits: all dependencies are kept; what
the text leaves open happens in the order in which this cluster's best links would complete it.
A message of 0 bytes becomes one of 1; cpus and nics are ignored; calc takes its time.

MSCCL XML (msccl-tools, TACCL, RCCL) is executed as MSCCL does: the steps of a threadblock in order,
those of different ones where depid and deps say so. The proof says whether every rank ends with
what the file's coll promises, for every input and in whatever order threadblocks execute; exit code
1 where it does not. Input and output share their memory where inplace is 1. --bytes is the size of
the larger of the two, which nchunksperloop cuts. Threadblocks run beside each other and sends are
buffered, so that messages may compete, or overlap, that tutti's own algorithms send one after the
other.

JSON keys: file, ranks, messages, bytes, time_us (until the last rank is done), no_contention_us
(every message at the best link's speed), rank_end_us (by rank), engine, model; of an MSCCL file
also algo, collective, buffer_bytes, proof (status: proved, wrong, or unknown where coll is custom;
text).

Examples:
  tutti explain allreduce ring --ranks 8 --export goal > ring.goal
  tutti replay ring.goal --topology topologies/star.yaml
  tutti explain allreduce ring --ranks 8 --export msccl > ring.xml
  tutti replay ring.xml --topology topologies/star.yaml --bytes 64M
  tutti replay trace.goal --topology topologies/star.yaml --set hosts=32 --json)") +
             "\n" + exit_codes);
  return [flags](Output& output) { return replay_plan(*flags, output); };
}

}  // namespace tutti
