#include "experiments/replay_plan.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "collectives/plan_check.hpp"
#include "collectives/plan_execute.hpp"
#include "collectives/plan_goal.hpp"
#include "collectives/plan_json.hpp"
#include "experiments/command.hpp"
#include "experiments/files.hpp"

namespace tutti {
namespace {

constexpr int most_lanes = 64;

// Errors of the file begin with its name.
template <typename Read>
Plan read_plan(const std::string& name, const Read& read) {
  try {
    return read(read_file(name));
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(name) != std::string_view::npos) throw;
    throw Error(ErrorKind::usage, fmt::format("{}: {}", name, error.what()), error.rank());
  }
}

Plan plan_from(const std::string& name, const CostModel& model) {
  const bool is_json = name.ends_with(".json");
  return read_plan(name, [&](const std::string& text) {
    Plan plan = is_json ? plan_from_json(text) : parse_goal(text, model);
    check_matching(plan);
    return plan;
  });
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

}  // namespace

void replay_plan(const ReplayFlags& flags, Output& output) {
  // Where a GOAL text leaves an order open, it is the one of this cluster's best links.
  const Cluster cluster = load_cluster(flags.cluster, 0);
  const CostModel model = cost_model(cluster.shape, cluster.ranks);
  const Plan plan = plan_from(flags.file, model);
  if (plan.size > cluster.ranks) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} ranks, but {} has {} hosts; try --set hosts={}", flags.file,
                            plan.size, flags.cluster.topology, cluster.ranks, plan.size));
  }
  SimOptions options = cluster.options;
  options.lanes = lanes_of(plan);
  SimWorld world(cluster.shape, plan.size, options);
  world.run([&](Rank& rank) { execute_rank(plan, rank); });

  std::size_t messages = 0, bytes = 0;
  for (const PlanVolume& volume : volumes(plan)) {
    messages += volume.messages_sent;
    bytes += volume.bytes_sent;
  }
  const double ideal = latest(replay(plan, model));
  if (flags.json) {
    Json ends = Json::array();
    for (const double seconds : world.end_seconds()) ends.push_back(microseconds_json(seconds));
    return output.line(Json{
        {"file", flags.file},
        {"ranks", plan.size},
        {"messages", messages},
        {"bytes", bytes},
        {"time_us", microseconds_json(world.seconds())},
        {"no_contention_us", microseconds_json(ideal)},
        {"rank_end_us", ends},
        {"engine", "simgrid"},
        {"model",
         world.describe()}}.dump());
  }
  output.print("# tutti replay: {} on {}", flags.file, cluster.shape.name);
  output.print("# engine and model: {}", world.describe());
  output.print("ranks          {}", plan.size);
  output.print("messages       {}", messages);
  output.print("bytes          {}", bytes);
  output.print("time           {:.3f} us", world.seconds() * 1e6);
  output.print("no contention  {:.3f} us, every message at the best link's speed", ideal * 1e6);
}

Command add_replay(CLI::App& app) {
  const auto flags = std::make_shared<ReplayFlags>();
  app.add_option("FILE", flags->file, "A plan as GOAL text, or as JSON if it ends in .json")
      ->required();
  app.add_option("--topology", flags->cluster.topology, "The cluster's shape, a YAML file")
      ->required();
  app.add_option("--set", flags->cluster.settings, "KEY=VALUE in place of the file's")
      ->allow_extra_args(false);
  app.add_option("--model", flags->cluster.model, "Network model: alpha_beta or lv08")
      ->capture_default_str();
  app.add_flag("--json", flags->json, "Print JSON");
  app.footer(std::string(R"(
Simulates the messages of a plan, one rank a host. GOAL (LogGOPSim, ATLAHS) has a graph of
dependencies a rank, which becomes one sequence of posts and waits: all dependencies are kept; what
the text leaves open happens in the order in which this cluster's best links would complete it.
A message of 0 bytes becomes one of 1; cpus and nics are ignored; calc takes its time.

JSON keys: file, ranks, messages, bytes, time_us (until the last rank is done), no_contention_us
(every message at the best link's speed), rank_end_us (by rank), engine, model.

Examples:
  tutti explain allreduce ring --ranks 8 --export goal > ring.goal
  tutti replay ring.goal --topology topologies/star.yaml
  tutti replay trace.goal --topology topologies/star.yaml --set hosts=32 --json)") +
             "\n" + exit_codes);
  return [flags](Output& output) {
    replay_plan(*flags, output);
    return true;
  };
}

}  // namespace tutti
