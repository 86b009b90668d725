#include <algorithm>
#include <utility>

#include "collectives/goal_plan.hpp"
#include "collectives/goal_schedule.hpp"
#include "collectives/msccl_accesses.hpp"
#include "collectives/msccl_file.hpp"
#include "collectives/msccl_graph.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/plan_msccl.hpp"

namespace tutti {
namespace {

using Kind = PlanEvent::Kind;

constexpr std::size_t default_bytes = std::size_t{1} << 20;
constexpr std::size_t most_bytes = std::size_t{1} << 40;
constexpr std::size_t most_proof_bytes = std::size_t{1} << 31;

std::size_t chunk_bytes_of(const MscclFile& file, std::size_t bytes) {
  if (bytes == 0) return (default_bytes + file.chunks - 1) / file.chunks;
  if (bytes % file.chunks == 0 && bytes <= most_bytes) return bytes / file.chunks;
  throw Error(ErrorKind::usage,
              fmt::format("line {}: found nchunksperloop=\"{}\" for {} bytes, expected a size that "
                          "it divides, such as {}",
                          file.line, file.chunks, bytes,
                          (std::min(bytes, most_bytes) / file.chunks + 1) * file.chunks));
}

std::optional<Promise> promise_of(const MscclFile& file, std::size_t chunk_bytes, int root) {
  const std::optional<Collective> collective = collective_of(file);
  if (!collective) return std::nullopt;
  Promise promise;
  promise.collective = *collective;
  promise.ranks = static_cast<int>(file.gpus.size());
  promise.count = file.chunks;
  promise.element_bytes = chunk_bytes;
  promise.root = root;
  promise.out_of_place = !file.in_place;
  promise.unit = "chunk";
  if (root >= 0 && root < promise.ranks) return promise;
  throw Error(ErrorKind::usage, fmt::format("root {}: expected 0 to {}", root, promise.ranks - 1));
}

// The graph with the conflicts as requirements, so that nothing is overwritten under way.
GoalGraph with_conflicts(GoalGraph graph, const std::vector<MscclConflict>& conflicts) {
  for (const MscclConflict& conflict : conflicts) {
    std::vector<std::size_t>& required = graph.operations[conflict.after].requires_end;
    if (std::find(required.begin(), required.end(), conflict.before) != required.end()) continue;
    required.push_back(conflict.before);
  }
  return graph;
}

// Steps whose sends others must wait for, because they overwrite what is sent.
std::vector<bool> overwritten_steps(const MscclGraph& graph,
                                    const std::vector<MscclConflict>& conflicts) {
  std::vector<bool> steps(graph.steps.empty() ? 0 : graph.steps.back() + 1, false);
  for (const MscclConflict& conflict : conflicts) {
    if (graph.events[conflict.before].kind == Kind::send) {
      steps[graph.steps[conflict.before]] = true;
    }
  }
  return steps;
}

// Every rank begins with its Scratches: that of the file, and that of its fused steps.
void add_scratches(Plan& plan, const MscclFile& file, const MscclGraph& graph,
                   std::size_t chunk_bytes) {
  for (PlanProgram& program : plan.programs) {
    const auto rank = static_cast<std::size_t>(program.rank);
    if (program.events.empty()) continue;
    std::vector<PlanEvent> scratches;
    for (const std::size_t chunks :
         {file.gpus[rank].scratch_chunks, graph.temporary_chunks[rank]}) {
      PlanEvent event;
      event.kind = Kind::work;
      event.work = Work::Kind::scratch;
      event.address = {MscclGraph::scratch_buffer - static_cast<int>(scratches.size()), 0};
      event.count = chunks * chunk_bytes;
      event.dtype = DType::uint8;
      event.step = 1;
      scratches.push_back(event);
    }
    if (scratches[0].count + scratches[1].count == 0) continue;
    program.events.insert(program.events.begin(), scratches.begin(), scratches.end());
  }
}

class Importer {
 public:
  Importer(const MscclFile& file, const MscclOptions& options)
      : file_(file), model_(options.model), chunk_bytes_(chunk_bytes_of(file, options.bytes)) {}

  std::size_t chunk_bytes() const { return chunk_bytes_; }

  // Into `imported`: the plan, and what is known about races.
  void import(MscclPlan& imported) {
    imported.plan = plan();
    imported.race = std::move(race_);
    imported.knows_race = knows_race_;
  }

 private:
  Plan plan() {
    std::vector<bool> overwritten;
    if (std::optional<Plan> plan = build({}, overwritten)) return std::move(*plan);
    std::optional<Plan> plan = build(overwritten, overwritten);
    check(plan.has_value(), "msccl: copies do not break the deadlock");
    return std::move(*plan);
  }

  // None where a send that is overwritten can never end; these are in `overwritten` then.
  std::optional<Plan> build(const std::vector<bool>& staged, std::vector<bool>& overwritten) {
    MscclGraph graph = graph_of(file_, chunk_bytes_, model_.gamma_seconds_per_byte, staged);
    const GoalSchedule buffered = schedule_goal(graph.graph, model_);
    MscclAccesses accesses = accesses_of(graph, buffered, chunk_bytes_);
    race_ = std::move(accesses.race);
    knows_race_ = accesses.knows_race;
    graph.graph = with_conflicts(std::move(graph.graph), accesses.conflicts);
    try {
      const GoalSchedule schedule = schedule_goal(graph.graph, model_);
      Plan plan = plan_of_schedule(graph.graph, schedule, graph.events);
      add_scratches(plan, file_, graph, chunk_bytes_);
      return plan;
    } catch (const Error&) {
      overwritten = overwritten_steps(graph, accesses.conflicts);
      return std::nullopt;
    }
  }

  const MscclFile& file_;
  CostModel model_;
  std::size_t chunk_bytes_;
  std::string race_;
  bool knows_race_ = true;
};

// What the symbols of the proof take at most.
double proof_bytes(const MscclPlan& imported) {
  const Promise& promise = *imported.promise;
  double symbols = static_cast<double>(promise.ranks) * static_cast<double>(promise.count);
  for (const PlanVolume& volume : volumes(imported.plan)) {
    symbols += static_cast<double>(volume.bytes_reduced / promise.element_bytes);
  }
  return symbols * (64.0 + promise.ranks / 8.0);
}

}  // namespace

MscclPlan parse_msccl(std::string_view text, const MscclOptions& options) {
  const MscclFile file = parse_msccl_file(text);
  Importer importer(file, options);
  MscclPlan imported;
  imported.name = file.name;
  imported.collective = file.collective;
  imported.promise = promise_of(file, importer.chunk_bytes(), options.root);
  imported.bytes = importer.chunk_bytes() * file.chunks;
  importer.import(imported);
  return imported;
}

MscclVerdict prove_msccl(const MscclPlan& imported) {
  using Status = MscclVerdict::Status;
  if (!imported.race.empty()) return {Status::wrong, "wrong: " + imported.race};
  if (!imported.promise) {
    return {Status::unknown,
            fmt::format("not proved: '{}' promises nothing that could be", imported.collective)};
  }
  if (!imported.knows_race) {
    return {Status::unknown, "not proved: too many steps are ordered by way of other ranks only"};
  }
  if (proof_bytes(imported) > static_cast<double>(most_proof_bytes)) {
    return {Status::unknown, "not proved: too many ranks, chunks and reductions for 2 GiB"};
  }
  Promise promise = *imported.promise;
  promise.same_folds = false;
  try {
    prove(imported.plan, promise);
  } catch (const Error& error) {
    std::string_view why = error.what();
    if (why.starts_with("proof: ")) why.remove_prefix(7);
    return {Status::wrong, fmt::format("wrong: {}", why)};
  }
  std::string text = fmt::format("proved: {}, {}", name_of(promise.collective),
                                 promise.out_of_place ? "out of place" : "in place");
  promise.same_folds = true;
  try {
    prove(imported.plan, promise);
  } catch (const Error&) {
    text += "; the last bits may differ, since not all ranks add in the same order";
  }
  return {Status::proved, text};
}

}  // namespace tutti
