#include "collectives/catalogue.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>

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

TEST_P(EveryAlgorithm, IsNeverFasterThanTheLowerBound) {
  for (const CostModel& model :
       {CostModel{1, 0, 0}, CostModel{0, 1, 0}, CostModel{0, 0, 1}, CostModel{1, 1, 1}}) {
    for (int ranks = 1; ranks <= 33; ++ranks) {
      for (std::size_t count = 0; count <= 70; ++count) {
        const Problem problem{ranks, count, 4, 0, {}};
        if (!GetParam()->supports(problem)) continue;
        EXPECT_GE(GetParam()->seconds(problem, model) * (1 + 1e-12),
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
