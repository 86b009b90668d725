#include "tests/conformance/cases.hpp"

#include <fmt/format.h>

#include "collectives/run.hpp"

namespace tutti {
namespace {

// What the table of collectives/run.hpp gives for one rank; what matters only at the root is there
// on every rank.
std::size_t input_count(const CaseSpec& spec, int rank, int size) {
  const Collective collective = spec.algorithm->collective;
  const bool is_part = collective == Collective::allgather || collective == Collective::gather;
  const Block whole{nullptr, spec.count, spec.dtype};
  return is_part && !spec.in_place ? whole.part(rank, size).count : spec.count;
}

bool has_part_as_output(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::scatter;
}

std::size_t output_count(const CaseSpec& spec, int rank, int size) {
  const bool is_part = has_part_as_output(spec.algorithm->collective) && !spec.in_place;
  const Block whole{nullptr, spec.count, spec.dtype};
  return is_part ? whole.part(rank, size).count : spec.count;
}

}  // namespace

std::vector<const Algorithm*> supported_algorithms(int ranks) {
  std::vector<const Algorithm*> supported;
  for (const Algorithm& algorithm : catalogue()) {
    const std::size_t count = supported_count(algorithm, 1, ranks);
    if (algorithm.supports({.ranks = ranks, .count = count})) supported.push_back(&algorithm);
  }
  return supported;
}

std::size_t supported_count(const Algorithm& algorithm, std::size_t count, int ranks) {
  if (algorithm.collective != Collective::alltoall) return count;
  const auto size = static_cast<std::size_t>(ranks);
  return (count + size - 1) / size * size;
}

std::string CaseSpec::describe() const {
  const Levels levels = levels_of(*algorithm, tuning);
  return fmt::format(
      "{} of {} {}, op {}, root {}, {} place, segments {}, radix {}, group {}, levels {}",
      algorithm->full_name, count, name_of(dtype), name_of(op), root, in_place ? "in" : "out of",
      tuning.segments, tuning.radix, tuning.group,
      levels.inner == nullptr ? "none"
                              : fmt::format("{} x {}", levels.inner->name, levels.outer->name));
}

Case allocate_case(World& world, const CaseSpec& spec) {
  Case allocated{spec, {}, {}};
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::size_t in = input_count(spec, rank, world.size());
    const std::size_t out = output_count(spec, rank, world.size());
    allocated.inputs.push_back(world.allocate_block(in, spec.dtype));
    allocated.outputs.push_back(spec.in_place ? allocated.inputs.back()
                                              : world.allocate_block(out, spec.dtype));
  }
  return allocated;
}

void fill_inputs(const Case& filled, const std::function<void(Block, std::mt19937_64&)>& fill,
                 std::mt19937_64& random) {
  for (const Block& input : filled.inputs) fill(input, random);
}

void run_case(const Case& run, Channel& channel) {
  const auto rank = static_cast<std::size_t>(channel.rank());
  tutti::run(*run.spec.algorithm, channel,
             {.input = run.inputs.at(rank),
              .output = run.outputs.at(rank),
              .op = run.spec.op,
              .root = run.spec.root,
              .tuning = run.spec.tuning,
              .count = run.spec.count});
}

void run_cases(World& world, const std::vector<Case>& cases) {
  world.run([&](Rank& rank) {
    for (const Case& each : cases) run_case(each, rank.channel());
  });
}

Block result_of(const Case& done, int rank) {
  const Block output = done.outputs.at(static_cast<std::size_t>(rank));
  switch (done.spec.algorithm->collective) {
    case Collective::reduce_scatter:
    case Collective::scatter:
      return done.spec.in_place ? output.part(rank, static_cast<int>(done.outputs.size())) : output;
    case Collective::reduce:
    case Collective::gather:
      return rank == done.spec.root ? output : output.slice(0, 0);
    case Collective::barrier:
      return output.slice(0, 0);
    default:
      return output;
  }
}

bool is_same_everywhere(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::broadcast ||
         collective == Collective::allgather;
}

}  // namespace tutti
