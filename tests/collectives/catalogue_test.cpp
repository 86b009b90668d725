#include "collectives/catalogue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "collectives/choose.hpp"
#include "collectives/plan_check.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Plan plan_of(const Algorithm& algorithm, const Problem& problem) {
  return record(problem.ranks, [&](Channel& channel) {
    const Parts data({nullptr, problem.count, DType::float32}, problem.ranks);
    algorithm.execute(channel, {data, data, Op::sum, problem.root, problem.tuning});
  });
}

int roots_of(const Algorithm& algorithm, int ranks) {
  return is_rooted(algorithm.collective) ? ranks : 1;
}

// Calls `visit` for every rank count up to 17, every count up to 40 and every root.
template <typename Visit>
void sweep(const Algorithm& algorithm, const Visit& visit) {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (std::size_t count = 0; count <= 40; ++count) {
      for (int root = 0; root < roots_of(algorithm, ranks); ++root) {
        const Problem problem{ranks, count, 4, root, {}};
        if (!algorithm.supports(problem)) continue;
        SCOPED_TRACE(
            fmt::format("{} ranks {} count {} root {}", algorithm.full_name, ranks, count, root));
        visit(problem, plan_of(algorithm, problem));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <typename Value>
void expect_form(Form form, Value expected, Value found) {
  if (form == Form::exact) {
    EXPECT_EQ(found, expected);
  } else {
    EXPECT_LE(found, expected);
  }
}

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryAlgorithm, MatchesEverySendAndNeverDeadlocksUnderRendezvous) {
  sweep(*GetParam(), [](const Problem&, const Plan& plan) {
    EXPECT_NO_THROW(check_matching(plan));
    EXPECT_NO_THROW(replay(plan, CostModel{}));
  });
}

TEST_P(EveryAlgorithm, SendsTheBytesOfItsClosedFormOnEveryRank) {
  sweep(*GetParam(), [](const Problem& problem, const Plan& plan) {
    const std::vector<PlanVolume> moved = volumes(plan);
    for (int rank = 0; rank < problem.ranks; ++rank) {
      expect_form(GetParam()->form(problem), GetParam()->bytes_sent(problem, rank),
                  moved[static_cast<std::size_t>(rank)].bytes_sent);
    }
  });
}

TEST_P(EveryAlgorithm, TakesTheStepsOfItsClosedForm) {
  sweep(*GetParam(), [](const Problem& problem, const Plan& plan) {
    expect_form(GetParam()->form(problem), GetParam()->steps(problem), depth(plan));
  });
}

// The replay adds up what the closed form multiplies: the tolerance is that of the rounding of at
// most a few hundred additions.
TEST_P(EveryAlgorithm, TakesTheSecondsOfItsClosedForm) {
  const CostModel model{5e-6, 8e-11, 3e-10};
  sweep(*GetParam(), [&](const Problem& problem, const Plan& plan) {
    const std::vector<double> ends = replay(plan, model);
    const double found = *std::max_element(ends.begin(), ends.end());
    const double expected = GetParam()->seconds(problem, model);
    EXPECT_LE(found, expected * (1 + 1e-12));
    const bool is_exact = GetParam()->form(problem) == Form::exact;
    EXPECT_GE(found, is_exact ? expected * (1 - 1e-12) : 0);
  });
}

double replayed_seconds(const Plan& plan, const CostModel& model) {
  const std::vector<double> ends = replay(plan, model);
  return *std::max_element(ends.begin(), ends.end());
}

// Overheads of either end alone, of both, and such that they, the latency or the port decide.
constexpr CostModel busy_models[] = {
    {5e-6, 8e-11, 3e-10, 1e-6, 5e-7},
    {5e-6, 8e-11, 3e-10, 5e-7, 1e-6},
    {1e-6, 0, 0, 1e-4, 0},
    {1e-6, 0, 0, 0, 1e-4},
    {0, 0, 0, 1e-6, 1e-6},
    {1e-6, 1e-7, 0, 2e-6, 1e-6},
    {1e-6, 1e-7, 1e-6, 1e-6, 3e-6},
};

std::vector<Tuning> some_tunings(const Algorithm& algorithm) {
  std::vector<Tuning> tunings{{}};
  for (const int value : {1, 2, 3, 4, 8}) {
    if (algorithm.uses_segments) tunings.push_back({.segments = value});
    if (algorithm.uses_radix && value > 1) tunings.push_back({.radix = value});
    if (algorithm.uses_group) tunings.push_back({.group = value});
  }
  if (algorithm.has_levels()) {
    const Collective inner = inner_collective(algorithm.collective);
    const bool has_direct = algorithm.collective != Collective::broadcast;
    const Algorithm& many = find_algorithm(inner, has_direct ? "direct" : "knomial");
    for (const int group : {2, 4}) {
      tunings.push_back({.group = group, .inner = &many});
      tunings.push_back({.group = group, .outer = algorithms_of(algorithm.collective).back()});
    }
  }
  return tunings;
}

// As sweep(), with fewer counts and roots but more ranks and tunings.
template <typename Visit>
void tuned_sweep(const Algorithm& algorithm, const Visit& visit) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 33}) {
    const auto n = static_cast<std::size_t>(ranks);
    for (const std::size_t count : {std::size_t{0}, n - 1, 3 * n, 8 * n + 5}) {
      for (const int root : std::set{0, roots_of(algorithm, ranks) / 3}) {
        for (const Tuning& tuning : some_tunings(algorithm)) {
          const Problem problem{ranks, count, 4, root, tuning};
          if (!algorithm.supports(problem)) continue;
          SCOPED_TRACE(fmt::format("{} count {} root {} among {} ranks",
                                   describe(algorithm, tuning), count, root, ranks));
          visit(problem, plan_of(algorithm, problem));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(EveryAlgorithm, NeverTakesLongerThanPredictedWhereMessagesKeepRanksBusy) {
  tuned_sweep(*GetParam(), [](const Problem& problem, const Plan& plan) {
    EXPECT_GE(messages_of(*GetParam(), problem).sent, GetParam()->steps(problem));
    EXPECT_GE(messages_of(*GetParam(), problem).received, GetParam()->steps(problem));
    for (const CostModel& model : busy_models) {
      EXPECT_LE(replayed_seconds(plan, model),
                predicted_seconds(*GetParam(), problem, model) * (1 + 1e-9))
          << fmt::format("alpha {}, overheads {} and {}", model.alpha_seconds,
                         model.send_overhead_seconds, model.receive_overhead_seconds);
    }
  });
}

TEST_P(EveryAlgorithm, IsNeverFasterThanTheLowerBound) {
  for (const CostModel& model : {CostModel{1, 0, 0}, CostModel{0, 1, 0}, CostModel{0, 0, 1},
                                 CostModel{1, 1, 1}, CostModel{1, 1, 1, 2, 3}}) {
    for (int ranks = 1; ranks <= 33; ++ranks) {
      for (std::size_t count = 0; count <= 70; ++count) {
        const Problem problem{ranks, count, 4, 0, {}};
        if (!GetParam()->supports(problem)) continue;
        EXPECT_GE(predicted_seconds(*GetParam(), problem, model) * (1 + 1e-12),
                  lower_bound(GetParam()->collective, problem, model).seconds());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : catalogue()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

TEST(Ring, BytesPerRankAreTwoNMinusOneOverNOfTheBufferWhereNDivides) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  for (int ranks = 1; ranks <= 17; ++ranks) {
    const std::size_t count = static_cast<std::size_t>(ranks) * 12;
    for (const PlanVolume& volume : volumes(plan_of(ring, {ranks, count, 4, 0}))) {
      EXPECT_EQ(volume.bytes_sent, 2 * static_cast<std::size_t>(ranks - 1) * 12 * 4);
      EXPECT_EQ(volume.bytes_received, volume.bytes_sent);
    }
  }
}

TEST(Ring, BytesPerRankAreWithinOneElementPerPartOtherwise) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  for (int ranks = 2; ranks <= 17; ++ranks) {
    for (std::size_t count = 0; count <= 40; ++count) {
      for (const PlanVolume& volume : volumes(plan_of(ring, {ranks, count, 4, 0}))) {
        const double ideal = 2.0 * (ranks - 1) / ranks * static_cast<double>(count) * 4;
        EXPECT_LE(std::abs(static_cast<double>(volume.bytes_sent) - ideal), 2 * 4);
      }
    }
  }
}

// Where 2(P-1)a + 2(P-1)/P n b equals 2 log2 P (a + n b), for a = 5 us and 12.5 GB/s.
TEST(ClosedForm, RingBeatsTreeFromThePublishedSizes) {
  const CostModel model{5e-6, 1 / 12.5e9, 0};
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  const Algorithm& tree = find_algorithm(Collective::allreduce, "tree");
  struct Known {
    int ranks;
    double kilobytes;
  };
  for (const Known known : {Known{4, 50.0}, {8, 117.6}, {16, 224.5}, {32, 403.1}, {64, 710.3}}) {
    for (const double side : {0.99, 1.01}) {
      const auto count = static_cast<std::size_t>(side * known.kilobytes * 1000);
      const Problem problem{known.ranks, count, 1, 0};
      EXPECT_EQ(ring.seconds(problem, model) < tree.seconds(problem, model), side > 1)
          << known.ranks << " ranks, " << count << " bytes";
    }
  }
}

struct Named {
  Collective collective;
  const char* algorithm;
};

void expect_predicted(const Named& named, const Problem& problem, const CostModel& model) {
  const Algorithm& algorithm = find_algorithm(named.collective, named.algorithm);
  const double expected = predicted_seconds(algorithm, problem, model);
  EXPECT_NEAR(replayed_seconds(plan_of(algorithm, problem), model), expected, expected * 1e-12)
      << algorithm.full_name << " among " << problem.ranks;
}

// In every step some rank on the longest chain sends one message and another receives it.
TEST(Overheads, AreAPartOfAlphaWhereRanksSendOneMessageAtATime) {
  for (const Named& named : {Named{Collective::allreduce, "ring"},
                             {Collective::allreduce, "tree"},
                             {Collective::allreduce, "recursive_doubling"},
                             {Collective::allreduce, "rabenseifner"},
                             {Collective::allreduce, "ring_multi"},
                             {Collective::broadcast, "binomial"},
                             {Collective::broadcast, "scatter_ring"},
                             {Collective::allgather, "pat"},
                             {Collective::allgather, "neighbor_exchange"},
                             {Collective::reduce_scatter, "recursive_halving"},
                             {Collective::reduce_scatter, "pairwise"},
                             {Collective::reduce, "binomial"},
                             {Collective::gather, "binomial"},
                             {Collective::scatter, "binomial"},
                             {Collective::alltoall, "pairwise"},
                             {Collective::barrier, "dissemination"}}) {
    for (const int ranks : {1, 2, 4, 8, 32}) {
      const std::size_t count = named.collective == Collective::barrier ? 0 : 3 * 32;
      for (const CostModel& model : busy_models) expect_predicted(named, {ranks, count}, model);
    }
  }
}

// Latencies pass together, overheads one after the other; bytes are left out, since the closed
// forms count those that share a port and the replay does not.
TEST(Overheads, AreCountedForEachOfTheMessagesThatAreUnderWayAtOnce) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const Problem problem{.ranks = ranks, .count = 3 * static_cast<std::size_t>(ranks)};
    for (const CostModel& model : {CostModel{5, 0, 0, 2, 3}, {5, 0, 0, 3, 2}, {5, 0, 0, 9, 7}}) {
      expect_predicted({Collective::gather, "linear"}, problem, model);
      expect_predicted({Collective::scatter, "linear"}, problem, model);
    }
    for (const CostModel& model : {CostModel{0, 0, 0, 2, 3}, CostModel{0, 0, 0, 3, 2}}) {
      expect_predicted({Collective::allgather, "direct"}, problem, model);
      expect_predicted({Collective::alltoall, "linear"}, problem, model);
    }
    EXPECT_EQ(messages_of(find_algorithm(Collective::allreduce, "direct"), problem),
              (Messages{2 * (ranks - 1), 2 * (ranks - 1)}));
  }
  const Algorithm& knomial = find_algorithm(Collective::broadcast, "knomial");
  const Problem two_rounds{.ranks = 16, .count = 1, .tuning = {.radix = 4}};
  EXPECT_EQ(messages_of(knomial, two_rounds), (Messages{6, 2}));
  EXPECT_DOUBLE_EQ(predicted_seconds(knomial, two_rounds, CostModel{5, 0, 0, 2, 3}),
                   2 * 5 + 6 * 2 + 2 * 3);
}

TEST(Overheads, MakeManyMessagesAtOnceLoseToFewOnesInARow) {
  const Problem problem{.ranks = 64, .count = 64};
  const Algorithm& direct = find_algorithm(Collective::allreduce, "direct");
  const Algorithm& doubling = find_algorithm(Collective::allreduce, "recursive_doubling");
  const CostModel idle{5e-6, 8e-11, 0}, busy{5e-6, 8e-11, 0, 5e-7, 5e-7};
  EXPECT_LT(predicted_seconds(direct, problem, idle), predicted_seconds(doubling, problem, idle));
  EXPECT_GT(predicted_seconds(direct, problem, busy), predicted_seconds(doubling, problem, busy));
}

TEST(Overheads, OfTwoClassesOfLinksAreThoseOfAllMessages) {
  const Algorithm& hierarchical = find_algorithm(Collective::allreduce, "hierarchical");
  const Problem problem{.ranks = 16, .count = 1600, .tuning = {.group = 4}};
  const CostProfile idle{.outer = {5e-6, 8e-11, 0}, .inner = {1e-6, 2e-11, 0}, .group = 4};
  CostProfile busy = idle;
  for (CostModel* model : {&busy.outer, &busy.inner}) {
    model->send_overhead_seconds = 1e-7;
    model->receive_overhead_seconds = 3e-7;
  }
  const double overhead = hierarchical.steps(problem) * 4e-7;
  EXPECT_NEAR(predicted_seconds(hierarchical, problem, busy),
              predicted_seconds(hierarchical, problem, idle) + overhead, 1e-15);
}

TEST(Catalogue, UnknownNamesListTheValidOnes) {
  try {
    find_algorithm(Collective::broadcast, "rign");
    FAIL() << "an unknown name was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("'rign'"), HasSubstr("binomial, "), HasSubstr(", linear")));
  }
  EXPECT_THROW(parse_collective("all_reduce"), Error);
  EXPECT_THROW(parse_algorithms(Collective::allreduce, "ring,"), Error);
  EXPECT_THROW(parse_algorithms(Collective::allreduce, ""), Error);
}

TEST(Catalogue, AListOfNamesKeepsItsOrderAndNamesEachOnce) {
  const auto chosen = parse_algorithms(Collective::allreduce, "tree,ring,tree");
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0]->name, "tree");
  EXPECT_EQ(chosen[1]->name, "ring");
  EXPECT_EQ(parse_algorithms(Collective::allreduce, "all"), algorithms_of(Collective::allreduce));
}

TEST(Catalogue, BusBandwidthFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Collective::allreduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Collective::allgather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Collective::broadcast, 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(Collective::allreduce, 1), 0.0);
}

}  // namespace
}  // namespace tutti
