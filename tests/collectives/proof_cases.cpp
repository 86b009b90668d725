#include "tests/collectives/proof_cases.hpp"

#include <fmt/ranges.h>

#include <numeric>
#include <string_view>

#include "collectives/run.hpp"

namespace tutti {
namespace {

constexpr int most_with_everything = 64;
constexpr int most_with_every_root = 16;

std::vector<Tuning> tunings_of(const Algorithm& algorithm, int ranks) {
  const bool few = ranks <= most_with_everything;
  std::vector<Tuning> tunings = {{}};
  if (algorithm.uses_segments) {
    for (const int segments : {1, 2, 3, 4}) {
      if (few || segments == 1 || segments == 3) tunings.push_back({.segments = segments});
    }
  }
  if (algorithm.uses_radix) {
    for (const int radix : {2, 3, 4, 5}) {
      if (few || radix == 2 || radix == 5) tunings.push_back({.radix = radix});
    }
  }
  if (algorithm.uses_group) {
    for (int group = 1; group <= ranks; ++group) {
      if (ranks % group != 0) continue;
      if (few || group == 2 || group == ranks / 2) tunings.push_back({.group = group});
    }
  }
  return tunings;
}

std::vector<int> level_groups(int ranks) {
  if (ranks == 24) return {4, 6};
  if (ranks == 36) return {6};
  if (ranks == 64) return {8};
  std::vector<int> groups;
  for (int group = 1; group <= ranks && ranks <= 16; ++group) {
    if (ranks % group == 0) groups.push_back(group);
  }
  return groups;
}

std::vector<std::size_t> totals_of(const Algorithm& algorithm, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  if (algorithm.collective == Collective::barrier) return {0};
  const bool is_alltoall = algorithm.collective == Collective::alltoall;
  if (ranks > most_with_everything) return {is_alltoall ? 2 * n : n + 1};
  if (is_alltoall) return {0, n, 3 * n};
  // With pieces of several elements and of none where parts are cut again.
  return {0, 1, n - 1, n, algorithm.uses_segments ? 4 * n + 3 : 2 * n + 3};
}

std::vector<int> roots_of(const Algorithm& algorithm, int ranks) {
  if (!is_rooted(algorithm.collective)) return {0};
  if (ranks > most_with_every_root) return {0, 2 * ranks / 3};
  std::vector<int> roots(static_cast<std::size_t>(ranks));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

// Parts of 0 to 3 elements, and all elements in one part.
std::vector<std::vector<std::size_t>> uneven_parts_of(const Algorithm& algorithm, int ranks) {
  const Collective collective = algorithm.collective;
  const bool has_parts = collective == Collective::allgather || collective == Collective::gather ||
                         collective == Collective::scatter ||
                         collective == Collective::reduce_scatter;
  if (!has_parts || algorithm.parts != PartSizes::any) return {};
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::size_t> mixed(n), lonely(n, 0);
  for (std::size_t i = 0; i < n; ++i) mixed[i] = (i * i + 1) % 4;
  lonely[n / 2] = 3;
  return {mixed, lonely};
}

}  // namespace

std::string ProofCase::describe() const {
  const Tuning& tuning = problem.tuning;
  const auto name_of_level = [](const Algorithm* level) {
    return level != nullptr ? level->name : std::string_view("default");
  };
  return fmt::format(
      "{} ranks, {} elements, root {}, {} segments, radix {}, group {}, {} x {}, {}", problem.ranks,
      problem.count, problem.root, tuning.segments, tuning.radix, tuning.group,
      name_of_level(tuning.inner), name_of_level(tuning.outer),
      counts.empty() ? "equal parts" : fmt::format("parts of {}", fmt::join(counts, " ")));
}

std::vector<int> proof_ranks() {
  std::vector<int> ranks(most_with_everything);
  std::iota(ranks.begin(), ranks.end(), 1);
  for (const int many : {96, 100, 127, 128, 129, 255, 256, 384, 511, 512}) ranks.push_back(many);
  return ranks;
}

std::vector<Tuning> level_tunings(const Algorithm& algorithm, int ranks) {
  std::vector<Tuning> tunings;
  if (!algorithm.has_levels()) return tunings;
  for (const int group : level_groups(ranks)) {
    for (const Algorithm* inner : algorithms_of(inner_collective(algorithm.collective))) {
      for (const Algorithm* outer : algorithms_of(algorithm.collective)) {
        const Tuning tuning{.group = group, .inner = inner, .outer = outer};
        if (algorithm.supports({.ranks = ranks, .tuning = tuning})) tunings.push_back(tuning);
      }
    }
  }
  return tunings;
}

std::vector<ProofCase> proof_cases(const Algorithm& algorithm, int ranks) {
  std::vector<ProofCase> cases;
  for (const int root : roots_of(algorithm, ranks)) {
    for (const Tuning& tuning : tunings_of(algorithm, ranks)) {
      for (const std::size_t total : totals_of(algorithm, ranks)) {
        const Problem problem{ranks, total, 4, root, tuning};
        if (algorithm.supports(problem)) cases.push_back({problem});
      }
      for (const auto& parts : uneven_parts_of(algorithm, ranks)) {
        const Problem problem{ranks, sum_of(parts), 4, root, tuning};
        if (algorithm.supports(problem)) cases.push_back({problem, parts});
      }
    }
  }
  const auto n = static_cast<std::size_t>(ranks);
  for (const Tuning& tuning : level_tunings(algorithm, ranks)) {
    const int root = is_rooted(algorithm.collective) ? 2 * ranks / 3 : 0;
    for (const std::size_t total : {n, 2 * n + 3}) {
      cases.push_back({{ranks, total, 4, root, tuning}});
    }
    for (const auto& parts : uneven_parts_of(algorithm, ranks)) {
      cases.push_back({{ranks, sum_of(parts), 4, root, tuning}, parts});
    }
  }
  return cases;
}

Plan plan_to_prove(const Algorithm& algorithm, const ProofCase& proof_case) {
  const Problem& problem = proof_case.problem;
  PlanWorld world(problem.ranks);
  const Block data = world.allocate_block(problem.count, DType::float32);
  const Block source = world.allocate_block(problem.count, DType::float32);
  Arguments arguments{
      .output = data, .root = problem.root, .tuning = problem.tuning, .counts = proof_case.counts};
  if (algorithm.collective == Collective::alltoall) arguments.input = source;
  return world.record([&](Rank& rank) { run(algorithm, rank.channel(), arguments); });
}

Promise promise_of(const Algorithm& algorithm, const ProofCase& proof_case) {
  return {.collective = algorithm.collective,
          .ranks = proof_case.problem.ranks,
          .count = proof_case.problem.count,
          .root = proof_case.problem.root,
          .counts = proof_case.counts,
          .out_of_place = algorithm.collective == Collective::alltoall};
}

void prove(const Algorithm& algorithm, const ProofCase& proof_case) {
  prove(plan_to_prove(algorithm, proof_case), promise_of(algorithm, proof_case));
}

std::vector<FoldTree> fold_trees(const Algorithm& algorithm, const ProofCase& proof_case) {
  return fold_trees(plan_to_prove(algorithm, proof_case), promise_of(algorithm, proof_case));
}

}  // namespace tutti
