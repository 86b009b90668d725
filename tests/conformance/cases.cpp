#include "tests/conformance/cases.hpp"

#include <fmt/format.h>

#include "collectives/run.hpp"

namespace tutti {
namespace {

// What the table of collectives/run.hpp gives for one rank.
std::size_t input_count(const CaseSpec& spec, int rank, int size) {
  const bool is_part = spec.algorithm->collective == Collective::allgather && !spec.in_place;
  const Block whole{nullptr, spec.count, spec.dtype};
  return is_part ? whole.part(rank, size).count : spec.count;
}

std::size_t output_count(const CaseSpec& spec, int rank, int size) {
  const bool is_part = spec.algorithm->collective == Collective::reduce_scatter && !spec.in_place;
  const Block whole{nullptr, spec.count, spec.dtype};
  return is_part ? whole.part(rank, size).count : spec.count;
}

}  // namespace

std::string CaseSpec::describe() const {
  return fmt::format("{} of {} {}, op {}, root {}, {} place", algorithm->full_name, count,
                     name_of(dtype), name_of(op), root, in_place ? "in" : "out of");
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
              .root = run.spec.root});
}

void run_cases(World& world, const std::vector<Case>& cases) {
  world.run([&](Rank& rank) {
    for (const Case& each : cases) run_case(each, rank.channel());
  });
}

Block result_of(const Case& done, int rank) {
  const Block output = done.outputs.at(static_cast<std::size_t>(rank));
  const bool is_part = done.spec.algorithm->collective == Collective::reduce_scatter;
  if (!is_part || !done.spec.in_place) return output;
  return output.part(rank, static_cast<int>(done.outputs.size()));
}

bool is_same_everywhere(Collective collective) {
  return collective != Collective::reduce_scatter;
}

}  // namespace tutti
