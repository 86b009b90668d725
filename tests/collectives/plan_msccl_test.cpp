#include "collectives/plan_msccl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/plan_check.hpp"
#include "collectives/plan_of.hpp"
#include "collectives/run.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

constexpr CostModel models[] = {
    {.alpha_seconds = 1.0}, {5e-6, 8e-11, 0.0}, {1e-6, 1e-8, 1e-9}, {.beta_seconds_per_byte = 1.0}};

double latest(const std::vector<double>& seconds) {
  return *std::max_element(seconds.begin(), seconds.end());
}

std::string msccl_of(const Algorithm& algorithm, const Problem& problem) {
  return to_msccl(plan_of(algorithm, problem), algorithm.collective, problem.bytes(),
                  algorithm.full_name);
}

std::string refusal(const Algorithm& algorithm, const Problem& problem) {
  try {
    msccl_of(algorithm, problem);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

class Msccl : public testing::TestWithParam<const Algorithm*> {};

TEST_P(Msccl, RoundTripsKeepVolumesAndProof) {
  for (const int ranks : {1, 2, 3, 4, 6, 8, 13}) {
    const Problem problem{
        .ranks = ranks, .count = static_cast<std::size_t>(4 * ranks), .root = ranks - 1};
    if (!GetParam()->supports(problem)) continue;
    SCOPED_TRACE(fmt::format("{} ranks", ranks));
    const Plan plan = plan_of(*GetParam(), problem);
    const std::string text = msccl_of(*GetParam(), problem);
    for (const CostModel& model : models) {
      const MscclPlan imported =
          parse_msccl(text, {.bytes = problem.bytes(), .root = problem.root, .model = model});
      EXPECT_EQ(volumes(imported.plan), volumes(plan));
      const MscclVerdict verdict = prove_msccl(imported);
      EXPECT_EQ(verdict.text, fmt::format("proved: {}, in place", name_of(GetParam()->collective)));
      // Reductions of one rank, which do not overlap, may come in another order.
      if (model.gamma_seconds_per_byte > 0.0) continue;
      // Waits that no chunk forces are gone; additions may be rounded differently.
      EXPECT_LE(latest(replay(imported.plan, model)), latest(replay(plan, model)) * (1 + 1e-12));
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Msccl, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Collective collective :
                                {Collective::allreduce, Collective::broadcast,
                                 Collective::allgather, Collective::reduce_scatter}) {
                             for (const Algorithm* one : algorithms_of(collective)) {
                               all.push_back(one);
                             }
                           }
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

// A step of one chunk that goes to the same place; `dependency` is that of depid and deps.
std::string step_line(int step, std::string_view type, int chunk, std::pair<int, int> dependency,
                      bool is_awaited) {
  return fmt::format(
      "      <step s=\"{0}\" type=\"{1}\" srcbuf=\"i\" srcoff=\"{2}\" dstbuf=\"i\" dstoff=\"{2}\" "
      "cnt=\"1\" depid=\"{3}\" deps=\"{4}\" hasdep=\"{5}\" />\n",
      step, type, chunk, dependency.first, dependency.second, is_awaited ? 1 : 0);
}

TEST(MscclText, TheRingIsTheOneOfTheFormatsExample) {
  const auto gpu = [](int id, int other) {
    return fmt::format("  <gpu id=\"{}\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">\n", id) +
           fmt::format("    <tb id=\"0\" send=\"{}\" recv=\"-1\" chan=\"0\">\n", other) +
           step_line(0, "s", other, {-1, -1}, true) + step_line(1, "s", id, {1, 0}, false) +
           "    </tb>\n" +
           fmt::format("    <tb id=\"1\" send=\"-1\" recv=\"{}\" chan=\"0\">\n", other) +
           step_line(0, "rrc", id, {-1, -1}, true) + step_line(1, "r", other, {0, 0}, false) +
           "    </tb>\n  </gpu>\n";
  };
  const std::string head =
      "<algo name=\"allreduce_ring\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" "
      "ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">\n";
  EXPECT_EQ(msccl_of(find_algorithm(Collective::allreduce, "ring"), {.ranks = 2, .count = 6}),
            head + gpu(0, 1) + gpu(1, 0) + "</algo>\n");
}

TEST(MscclText, WhatTheFormatCannotSayIsRefused) {
  const auto find = [](Collective collective, std::string_view name) -> const Algorithm& {
    return find_algorithm(collective, name);
  };
  EXPECT_THAT(refusal(find(Collective::alltoall, "pairwise"), {.ranks = 2, .count = 4}),
              HasSubstr("found alltoall, expected allreduce, broadcast"));
  EXPECT_THAT(refusal(find(Collective::allgather, "ring"), {.ranks = 3, .count = 7}),
              HasSubstr("found 7 chunks among 3 ranks, expected equal parts"));
  EXPECT_THAT(refusal(find(Collective::allreduce, "ring"), {.ranks = 3, .count = 100'000}),
              HasSubstr("found 100000 chunks of 4 bytes"));
  const Plan ghosts = record(2, [](Channel& channel) {
    run(find_algorithm(Collective::allreduce, "ring"), channel, {nullptr, 4, DType::float32});
  });
  try {
    to_msccl(ghosts, Collective::allreduce, 16, "ghosts");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("found at step 1 of rank 0 a ghost"));
  }
}

}  // namespace
}  // namespace tutti
