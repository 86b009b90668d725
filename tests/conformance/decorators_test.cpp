// The decorators around every substrate's channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/checked.hpp"
#include "collectives/faulty.hpp"
#include "collectives/run.hpp"
#include "collectives/sub_channel.hpp"
#include "collectives/traced.hpp"
#include "collectives/waits.hpp"
#include "tests/conformance/cases.hpp"
#include "tests/conformance/substrates.hpp"
#include "tests/support/blocks.hpp"

namespace tutti {
namespace {

class AnyDecorated : public SubstrateTest {};
class DataDecorated : public SubstrateTest {};

INSTANTIATE_TEST_SUITE_P(On, AnyDecorated, testing::ValuesIn(all_substrates()), substrate_name);
INSTANTIATE_TEST_SUITE_P(On, DataDecorated, testing::ValuesIn(moving_substrates()), substrate_name);

constexpr int ranks = 5;
constexpr std::size_t count = 37;

TEST_P(AnyDecorated, TracedCountsTheBytesOfTheClosedForm) {
  const auto world = make(ranks);
  const std::vector<const Algorithm*> algorithms = supported_algorithms(ranks);
  auto* const sent = reinterpret_cast<std::uint64_t*>(
      world->allocate(algorithms.size() * ranks * sizeof(std::uint64_t)));
  world->run([&](Rank& rank) {
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      Traced traced(rank.channel());
      run(*algorithms[i], traced, ghost(supported_count(*algorithms[i], count, ranks)), Op::sum, 2);
      sent[i * ranks + static_cast<std::size_t>(rank.index())] = traced.total().bytes_sent;
    }
  });
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const Problem problem{.ranks = ranks,
                          .count = supported_count(*algorithms[i], count, ranks),
                          .element_bytes = 4,
                          .root = 2};
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t found = sent[i * ranks + static_cast<std::size_t>(rank)];
      const std::size_t formula = algorithms[i]->bytes_sent(problem, rank);
      const bool is_bound = algorithms[i]->form(problem) == Form::bound;
      EXPECT_TRUE(found == formula || (is_bound && found < formula))
          << algorithms[i]->full_name << ", rank " << rank << ": " << found << " sent, " << formula
          << " by the closed form";
    }
  }
}

TEST_P(AnyDecorated, WhatOneRankSentTheOtherReceived) {
  const auto world = make(2);
  auto* const traffic = reinterpret_cast<Traffic*>(world->allocate(2 * sizeof(Traffic)));
  world->run([&](Rank& rank) {
    Traced traced(rank.channel());
    for (const Algorithm* algorithm : supported_algorithms(2)) {
      run(*algorithm, traced, ghost(supported_count(*algorithm, count, 2)));
    }
    traffic[rank.index()] = traced.by_peer().at(static_cast<std::size_t>(1 - rank.index()));
  });
  EXPECT_GT(traffic[0].bytes_sent, 0U);
  EXPECT_EQ(traffic[0].bytes_sent, traffic[1].bytes_received);
  EXPECT_EQ(traffic[0].messages_sent, traffic[1].messages_received);
  EXPECT_EQ(traffic[1].bytes_sent, traffic[0].bytes_received);
  EXPECT_EQ(traffic[1].messages_sent, traffic[0].messages_received);
}

// Rank 0 is late for rank 1, which is therefore late for rank 2.
TEST_P(DataDecorated, WaitsAddsUpWhatEachRankWaitsForItsPeers) {
  constexpr int chain = 3;
  constexpr double late_seconds = 0.05;
  const auto world = make(chain);
  auto* const waited = reinterpret_cast<double*>(world->allocate(chain * chain * sizeof(double)));
  world->run([&](Rank& rank) {
    Waits waits(rank.channel());
    const int index = rank.index();
    if (index == 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(late_seconds));
      waits.charge({Work::Kind::compute, late_seconds, {}, {}});
    }
    if (index > 0) waits.recv(index - 1, ghost(1));
    if (index < chain - 1) waits.send(index + 1, ghost(1));
    std::copy(waits.by_peer().begin(), waits.by_peer().end(), waited + chain * index);
  });
  std::vector<std::vector<double>> by_rank;
  for (int i = 0; i < chain; ++i)
    by_rank.emplace_back(waited + chain * i, waited + chain * (i + 1));
  const WaitReport report = report_waits(by_rank, std::vector<double>(chain, 10.0));
  // How late a rank starts to wait is the system's business, where time is not the simulator's.
  if (GetParam().end_seconds != nullptr) {
    EXPECT_EQ(report.straggler, 0);
  }
  for (int rank = 1; rank < chain; ++rank) {
    const RankWaits& waits = report.ranks[static_cast<std::size_t>(rank)];
    EXPECT_EQ(waits.peer, rank - 1);
    EXPECT_GT(waits.peer_seconds, 0.0);
    EXPECT_DOUBLE_EQ(waits.share, waits.seconds / 10.0);
  }
}

TEST(WaitReport, NobodyIsAStragglerWhereAllWaitAboutAsLong) {
  const WaitReport report =
      report_waits({{0.0, 1.0, 2.0}, {2.0, 0.0, 2.0}, {1.5, 2.5, 0.0}}, {10.0, 10.0, 0.0});
  EXPECT_EQ(report.straggler, -1);
  EXPECT_EQ(report.ranks[0].peer, 2);
  EXPECT_DOUBLE_EQ(report.ranks[0].peer_seconds, 2.0);
  EXPECT_DOUBLE_EQ(report.ranks[1].share, 0.4);
  EXPECT_DOUBLE_EQ(report.ranks[2].share, 0.0);
}

TEST(WaitReport, OfOneRankHasNoStraggler) {
  const WaitReport report = report_waits({{0.0}}, {1.0});
  EXPECT_EQ(report.straggler, -1);
  EXPECT_EQ(report.ranks[0].peer, -1);
}

// A case of every algorithm with random data.
std::vector<Case> random_cases(World& world, std::uint64_t seed) {
  std::vector<Case> cases;
  std::mt19937_64 random(seed);
  for (const Algorithm* algorithm : supported_algorithms(ranks)) {
    const std::size_t supported = supported_count(*algorithm, count, ranks);
    cases.push_back(allocate_case(world, {.algorithm = algorithm, .count = supported, .root = 1}));
    fill_inputs(cases.back(), fill_random, random);
  }
  return cases;
}

TEST_P(AnyDecorated, NoAlgorithmBreaksTheContractThatCheckedChecks) {
  const auto world = make(ranks);
  const std::vector<Case> cases = random_cases(*world, test_seed(1));
  EXPECT_NO_THROW(world->run([&](Rank& rank) {
    Checked checked(rank.channel());
    for (const Case& each : cases) run_case(each, checked);
  }));
}

// What `misuse` throws on rank 0; rank 1 receives `messages` of one element.
Note note_of_misuse(World& world, int messages,
                    const std::function<void(Channel&, Block block, Note&)>& misuse) {
  Note* const notes = allocate_notes(world);
  const Block blocks = world.allocate_block(2, DType::float32);
  world.run([&](Rank& rank) {
    if (rank.index() == 0) {
      Checked checked(rank.channel());
      misuse(checked, blocks.part(0, 2), notes[0]);
    } else {
      for (int i = 0; i < messages; ++i) rank.channel().recv(0, blocks.part(1, 2));
    }
  });
  return notes[0];
}

TEST_P(AnyDecorated, CheckedRefusesToWaitTwice) {
  const auto world = make(2);
  const Note note = note_of_misuse(*world, 1, [](Channel& channel, Block block, Note& seen) {
    const Request request = channel.isend(1, block);
    channel.wait(request);
    note_error(seen, [&] { channel.wait(request); });
  });
  EXPECT_TRUE(note.is_contract_error);
}

TEST_P(AnyDecorated, CheckedRefusesToWaitOutOfPostingOrder) {
  const auto world = make(2);
  const Note note = note_of_misuse(*world, 2, [](Channel& channel, Block block, Note& seen) {
    const Request first = channel.isend(1, block);
    const Request second = channel.isend(1, block);
    note_error(seen, [&] { channel.wait(second); });
    channel.wait(first);
    channel.wait(second);
  });
  EXPECT_TRUE(note.is_contract_error);
}

TEST_P(AnyDecorated, CheckedRefusesToReceiveIntoABlockThatIsBeingSent) {
  const auto world = make(2);
  const Note note = note_of_misuse(*world, 1, [](Channel& channel, Block block, Note& seen) {
    const Request sent = channel.isend(1, block);
    note_error(seen, [&] { channel.irecv(1, block); });
    channel.wait(sent);
  });
  EXPECT_TRUE(note.is_contract_error);
}

TEST_P(AnyDecorated, CheckedSeesABlockThatChangedWhileItWasBeingSent) {
  const auto world = make(2);
  const Note note = note_of_misuse(*world, 1, [](Channel& channel, Block block, Note& seen) {
    const Request sent = channel.isend(1, block);
    set_element(block, 0, 1.0);
    note_error(seen, [&] { channel.wait(sent); });
  });
  EXPECT_TRUE(note.is_contract_error);
}

TEST_P(DataDecorated, RandomDelaysChangeNoBit) {
  const std::uint64_t seed = test_seed(2);
  const auto world = make(ranks);
  const std::vector<Case> undisturbed = random_cases(*world, seed);
  const std::vector<Case> delayed = random_cases(*world, seed);
  run_cases(*world, undisturbed);
  world->run([&](Rank& rank) {
    // Of the two clocks, a simulated one moves with the charge, a real one with the sleep.
    const auto pause = [&](const Fault& fault) {
      rank.channel().charge(Work{Work::Kind::compute, fault.seconds, {}, {}});
      std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
    };
    const auto rank_seed = seed + static_cast<std::uint64_t>(rank.index());
    Faulty faulty(rank.channel(), random_delays(rank_seed, 10, 60, 2e-3), pause);
    for (const Case& each : delayed) run_case(each, faulty);
  });
  for (std::size_t i = 0; i < delayed.size(); ++i) {
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_TRUE(same_bits(result_of(undisturbed[i], rank), result_of(delayed[i], rank)))
          << delayed[i].spec.describe();
    }
  }
}

TEST_P(DataDecorated, GroupsOfRanksWorkSideBySideUnderEveryDecorator) {
  const auto world = make(ranks);
  const Block data = world->allocate_block(ranks * count, DType::float32);
  for (std::size_t i = 0; i < data.count; ++i) {
    set_element(data, i, static_cast<double>(1 << (i / count)));
  }
  world->run([&](Rank& rank) {
    const bool is_even = rank.index() % 2 == 0;
    SubChannel group(rank.channel(), is_even ? std::vector<int>{4, 0, 2} : std::vector<int>{3, 1});
    Traced traced(group);
    Checked checked(traced);
    run(find_algorithm(Collective::allreduce, "ring"), checked, data.part(rank.index(), ranks));
  });
  for (std::size_t i = 0; i < data.count; ++i) {
    EXPECT_EQ(element(data, i), i / count % 2 == 0 ? 1 + 4 + 16 : 2 + 8) << i;
  }
}

TEST_P(AnyDecorated, ADecoratorSharesTheProgressOfWhatItDecorates) {
  const auto world = make(2);
  Note* const notes = allocate_notes(*world);
  world->run([&](Rank& rank) {
    Traced traced(rank.channel());
    Checked checked(traced);
    const Operation operation(checked, {"broadcast_linear", 1, DType::float32}, 2);
    checked.next_step();
    notes[rank.index()].set = rank.channel().progress().where() == "step 1 of 2";
  });
  EXPECT_TRUE(notes[0].set && notes[1].set);
}

}  // namespace
}  // namespace tutti
