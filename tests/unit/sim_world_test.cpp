#include "sim/sim_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/local.hpp"
#include "collectives/run.hpp"
#include "collectives/traced.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

// Times are sums of at most thousands of terms below a second in double precision.
constexpr double rounding_seconds = 1e-12;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

Shape star(int hosts, std::optional<double> reduction = std::nullopt) {
  return star_shape(hosts, 12.5e9, 5e-6, reduction);
}

Block ghost(std::size_t bytes) {
  return {nullptr, bytes, DType::uint8};
}

double transfer_seconds(std::size_t bytes) {
  return 5e-6 + static_cast<double>(bytes) / 12.5e9;
}

/// Simulated seconds of `program` on a fresh world.
double seconds_of(const Shape& shape, int size, const Program& program, SimOptions options = {}) {
  SimWorld world(shape, size, options);
  world.run(program);
  return world.seconds();
}

/// Rank 0 sends `block` to rank 1.
Program one_message(Block block) {
  return [block](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, block);
    if (rank.index() == 1) rank.channel().recv(0, block);
  };
}

Program ring_allreduce(Block data) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  return [&ring, data](Rank& rank) { run(ring, rank.channel(), data); };
}

TEST(SimWorld, AMessageTakesLatencyPlusBytesOverBandwidth) {
  for (const std::size_t bytes : {1ul, 1000ul, mebibyte, 1024 * mebibyte, 1024 * 1024 * mebibyte}) {
    EXPECT_NEAR(seconds_of(star(2), 2, one_message(ghost(bytes))), transfer_seconds(bytes),
                rounding_seconds * (1 + transfer_seconds(bytes)))
        << bytes;
  }
}

TEST(SimWorld, AShapeWithoutLatencyTakesBytesOverBandwidth) {
  EXPECT_NEAR(seconds_of(star_shape(2, 1e9, 0.0), 2, one_message(ghost(1000))), 1e-6,
              rounding_seconds);
}

TEST(SimWorld, BothDirectionsOfACableAreIndependent) {
  const Program exchange = [](Rank& rank) {
    const int peer = 1 - rank.index();
    rank.channel().sendrecv(peer, ghost(mebibyte), peer, ghost(mebibyte));
  };
  EXPECT_NEAR(seconds_of(star(2), 2, exchange), transfer_seconds(mebibyte), rounding_seconds);
}

TEST(SimWorld, SevenSendersToOneReceiverTakeSevenTimesOneFlow) {
  const Program incast = [](Rank& rank) {
    Channel& channel = rank.channel();
    if (rank.index() > 0) return channel.send(0, ghost(mebibyte));
    std::vector<Request> requests;
    for (int from = 1; from < 8; ++from) requests.push_back(channel.irecv(from, ghost(mebibyte)));
    for (const Request request : requests) channel.wait(request);
  };
  EXPECT_NEAR(seconds_of(star(8), 8, incast), transfer_seconds(7 * mebibyte), rounding_seconds);
}

TEST(SimWorld, AMessageBeginsWhenBothEndsHavePostedIt) {
  const Program late = [](Rank& rank) {
    rank.channel().charge({Work::Kind::compute, rank.index() == 1 ? 3e-3 : 1e-3, {}, {}});
    one_message(ghost(mebibyte))(rank);
  };
  EXPECT_NEAR(seconds_of(star(2), 2, late), 3e-3 + transfer_seconds(mebibyte), rounding_seconds);
}

TEST(SimWorld, AnEagerMessageTravelsBeforeItsReceiverIsReady) {
  const Program late = [](Rank& rank) {
    if (rank.index() == 1) rank.channel().charge({Work::Kind::compute, 1.0, {}, {}});
    one_message(ghost(mebibyte))(rank);
  };
  EXPECT_NEAR(seconds_of(star(2), 2, late, {.eager_bytes = mebibyte}), 1.0, rounding_seconds);
  EXPECT_NEAR(seconds_of(star(2), 2, late, {.eager_bytes = mebibyte - 1}),
              1.0 + transfer_seconds(mebibyte), rounding_seconds);
}

TEST(SimWorld, EagerAndRendezvousMessagesOfAPairKeepTheirOrder) {
  SimWorld world(star(2), 2, {.eager_bytes = 4});
  const Block results = world.allocate_block(6, DType::int32);
  world.run([&](Rank& rank) {
    std::array<std::int32_t, 6> values = {10, 11, 12, 13, 14, 15};
    const Block all{reinterpret_cast<std::byte*>(values.data()), 6, DType::int32};
    // Long, short, short, long: the receiver posts half of them before the sender does.
    const std::array<Block, 4> sent = {all.slice(0, 2), all.slice(2, 1), all.slice(3, 1),
                                       all.slice(4, 2)};
    Channel& channel = rank.channel();
    channel.charge({Work::Kind::compute, rank.index() == 0 ? 1e-6 : 0.0, {}, {}});
    std::vector<Request> requests;
    std::size_t first = 0;
    for (std::size_t index = 0; index < sent.size(); ++index) {
      if (index == 2) channel.charge({Work::Kind::compute, rank.index() * 1.0, {}, {}});
      const Block in = results.slice(first, sent[index].count);
      first += in.count;
      requests.push_back(rank.index() == 0 ? channel.isend(1, sent[index]) : channel.irecv(0, in));
    }
    for (const Request request : requests) channel.wait(request);
  });
  const auto* const received = reinterpret_cast<const std::int32_t*>(results.data);
  EXPECT_EQ(std::vector(received, received + 6), (std::vector{10, 11, 12, 13, 14, 15}));
}

TEST(SimWorld, ASenderMayOverwriteItsBlockOnceItsWaitHasReturned) {
  SimWorld world(star(2), 2, {.eager_bytes = 64});
  const Block results = world.allocate_block(4, DType::int32);
  world.run([&](Rank& rank) {
    std::int32_t value = 0;
    const Block out{reinterpret_cast<std::byte*>(&value), 1, DType::int32};
    for (; value < 4; ++value) {
      if (rank.index() == 0) rank.channel().send(1, out);
      if (rank.index() == 1) {
        rank.channel().recv(0, results.slice(static_cast<std::size_t>(value), 1));
      }
    }
  });
  const auto* const received = reinterpret_cast<const std::int32_t*>(results.data);
  EXPECT_EQ(std::vector(received, received + 4), (std::vector{0, 1, 2, 3}));
}

TEST(SimWorld, AReductionIsChargedOnceToTheRankThatReceives) {
  SimWorld world(star(2, 1e9), 2);
  world.run([](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(mebibyte));
    if (rank.index() == 1) rank.channel().recv(0, ghost(mebibyte), Op::sum);
  });
  EXPECT_NEAR(world.end_seconds()[0], transfer_seconds(mebibyte), rounding_seconds);
  EXPECT_NEAR(world.end_seconds()[1], transfer_seconds(mebibyte) + 1048576e-9, rounding_seconds);
}

TEST(SimWorld, CopiesAndScalingAreChargedAtReductionSpeedAndComputeAtItsSeconds) {
  const Program work = [](Rank& rank) {
    const Block block = ghost(1000000);
    rank.channel().charge({Work::Kind::copy, 0.0, block, block});
    rank.channel().charge({Work::Kind::scale, 0.0, block, {}});
    rank.channel().charge({Work::Kind::compute, 0.5, {}, {}});
  };
  EXPECT_NEAR(seconds_of(star(2, 1e9), 1, work), 0.502, rounding_seconds);
  EXPECT_NEAR(seconds_of(star(2), 1, work), 0.5, rounding_seconds);
}

TEST(SimWorld, MemoryForIntermediateResultsTakesNoTime) {
  const Program program = [](Rank& rank) {
    const Scratch scratch(rank.channel(), Block{nullptr, mebibyte, DType::uint8});
  };
  EXPECT_EQ(seconds_of(star(1, 1e9), 1, program), 0.0);
}

TEST(SimWorld, TasksRunBesideTheProgramAndAreJoined) {
  const Program overlap = [](Rank& rank) {
    Channel& other = rank.channel(1);
    rank.spawn([&rank, &other] {
      const int peer = 1 - rank.index();
      other.sendrecv(peer, ghost(mebibyte), peer, ghost(mebibyte));
    });
    rank.spawn([&rank] { rank.spawn([] {}); });
    rank.channel().charge({Work::Kind::compute, 20e-6, {}, {}});
  };
  EXPECT_NEAR(seconds_of(star(2), 2, overlap, {.lanes = 2}), transfer_seconds(mebibyte),
              rounding_seconds);
}

TEST(SimWorld, GhostsTakeExactlyTheTimeOfRealBlocks) {
  for (const Algorithm& algorithm : catalogue()) {
    for (const std::size_t count : {1ul, 13ul, 1002ul}) {
      if (!algorithm.supports({.ranks = 6, .count = count})) continue;
      SimWorld real(star(6, 3e9), 6), haunted(star(6, 3e9), 6);
      const Block data = real.allocate_block(count * 6, DType::float32);
      real.run([&](Rank& rank) {
        const std::size_t first = count * static_cast<std::size_t>(rank.index());
        run(algorithm, rank.channel(), data.slice(first, count));
      });
      haunted.run([&](Rank& rank) {
        run(algorithm, rank.channel(), Block{nullptr, count, DType::float32});
      });
      EXPECT_EQ(real.end_seconds(), haunted.end_seconds()) << algorithm.full_name << " " << count;
    }
  }
}

/// All trace records of one run, by rank, as JSON.
std::string trace_of(const Algorithm& algorithm, std::uint64_t seed) {
  constexpr std::size_t bytes_per_rank = 1 << 16;
  SimWorld world(star(6, 3e9), 6, {.seed = seed});
  std::byte* const text = world.allocate(6 * bytes_per_rank);
  world.run([&](Rank& rank) {
    std::string lines;
    Traced traced(rank.channel(),
                  [&](const TraceRecord& record) { lines += record.to_json() + "\n"; });
    rank.channel().charge({Work::Kind::compute, 1e-9 * double(rank.random()() % 100000), {}, {}});
    run(algorithm, traced, Block{nullptr, 1002, DType::float32});
    check(lines.size() < bytes_per_rank, "the trace of rank {} is too long", rank.index());
    std::memcpy(text + bytes_per_rank * static_cast<std::size_t>(rank.index()), lines.data(),
                lines.size());
  });
  std::string all;
  for (std::size_t rank = 0; rank < 6; ++rank) {
    all += reinterpret_cast<const char*>(text + rank * bytes_per_rank);
  }
  return all;
}

TEST(SimWorld, TheSameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  for (const Algorithm& algorithm : catalogue()) {
    const std::string trace = trace_of(algorithm, 1);
    EXPECT_GT(trace.size(), 1000u);
    EXPECT_EQ(trace, trace_of(algorithm, 1)) << algorithm.full_name;
    EXPECT_NE(trace, trace_of(algorithm, 2)) << algorithm.full_name;
  }
}

TEST(SimWorld, AWorldRunsSeveralProgramsEachFromTimeZero) {
  SimWorld world(star(2), 2);
  for (const std::size_t bytes : {mebibyte, 2 * mebibyte}) {
    world.run(one_message(ghost(bytes)));
    EXPECT_NEAR(world.seconds(), transfer_seconds(bytes), rounding_seconds);
  }
}

TEST(SimWorld, AllocatedMemoryIsZeroedAlignedAndAtTheSameAddressForAll) {
  SimWorld world(star(3), 3);
  EXPECT_NE(world.allocate(0), nullptr);
  const Block data = world.allocate_block(3, DType::int64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.data) % 128, 0u);
  auto* const values = reinterpret_cast<std::int64_t*>(data.data);
  EXPECT_EQ(std::accumulate(values, values + 3, std::int64_t{0}), 0);
  world.run([&](Rank& rank) { values[rank.index()] = rank.index() + 1; });
  EXPECT_EQ(std::accumulate(values, values + 3, std::int64_t{0}), 6);
}

TEST(SimWorld, LargeSimulationsNeedNoMemoryForGhosts) {
  constexpr std::size_t count = std::size_t{1} << 40;
  const double seconds = seconds_of(star(4), 4, ring_allreduce({nullptr, count, DType::float32}));
  const CostModel model{5e-6, 1 / 12.5e9, 0.0};
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  EXPECT_NEAR(seconds / ring.seconds({4, count, 4, 0}, model), 1.0, 1e-12);
}

TEST(SimWorld, RingAllreduceTakesItsClosedFormWithAndWithoutReductionCost) {
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  for (const double gamma : {0.0, 1 / 4e9}) {
    const std::optional<double> reduction = gamma > 0 ? std::optional(1 / gamma) : std::nullopt;
    for (const int size : {1, 2, 3, 5, 8, 16}) {
      const Problem problem{size, 240000, 4, 0};
      const double seconds = seconds_of(star(size, reduction), size,
                                        ring_allreduce({nullptr, problem.count, DType::float32}));
      EXPECT_NEAR(seconds, ring.seconds(problem, {5e-6, 1 / 12.5e9, gamma}), rounding_seconds)
          << size << " ranks, gamma " << gamma;
    }
  }
}

/// Bus bandwidth in GB/s of a ring allreduce of `bytes`.
double ring_bus_bandwidth(int size, std::size_t bytes) {
  const double seconds =
      seconds_of(star(size), size, ring_allreduce({nullptr, bytes / 4, DType::float32}));
  return static_cast<double>(bytes) / seconds / 1e9 *
         bus_bandwidth_factor(Collective::allreduce, size);
}

TEST(SimWorld, RingAllreduceHasTheKnownBusBandwidths) {
  // The known values have two decimals.
  EXPECT_NEAR(ring_bus_bandwidth(2, mebibyte), 11.17, 0.005);
  EXPECT_NEAR(ring_bus_bandwidth(4, mebibyte), 10.09, 0.005);
  EXPECT_NEAR(ring_bus_bandwidth(8, mebibyte), 8.46, 0.005);
  EXPECT_NEAR(ring_bus_bandwidth(16, mebibyte), 6.40, 0.005);
  for (const int size : {2, 4, 8, 16}) {
    EXPECT_NEAR(ring_bus_bandwidth(size, 1024 * mebibyte), 12.5, 0.05) << size;
  }
}

TEST(SimWorld, AMeasuredRingMovesRealData) {
  constexpr int size = 4;
  SimWorld world(star(size), size);
  std::vector<Block> blocks;
  for (int rank = 0; rank < size; ++rank) {
    blocks.push_back(world.allocate_block(10, DType::int32));
    auto* const values = reinterpret_cast<std::int32_t*>(blocks.back().data);
    for (int index = 0; index < 10; ++index) values[index] = 100 * rank + index;
  }
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  world.run([&](Rank& rank) {
    run(ring, rank.channel(), blocks[static_cast<std::size_t>(rank.index())]);
  });
  for (const Block& block : blocks) {
    const auto* const values = reinterpret_cast<const std::int32_t*>(block.data);
    for (int index = 0; index < 10; ++index) EXPECT_EQ(values[index], 600 + 4 * index);
  }
}

TEST(SimWorld, Lv08CorrectsLatencyAndBandwidth) {
  const double seconds =
      seconds_of(star(2), 2, one_message(ghost(1000)), {.model = NetworkModel::lv08});
  // SimGrid's documented factors; the window (4 MiB in a round trip) does not bound this flow.
  EXPECT_NEAR(seconds, 13.01 * 5e-6 + 1000 / (0.97 * 12.5e9), 1e-10);
}

TEST(SimWorld, MemoryAskedForInsideARunIsRefused) {
  SimWorld world(star(2), 2);
  EXPECT_THROW(world.run([&](Rank&) { world.allocate(1); }), ContractError);
}

TEST(SimWorld, TheDescriptionNamesModelAndProtocol) {
  const SimWorld exact(star(2), 2);
  EXPECT_EQ(exact.describe().substr(0, 8), "SimGrid ");
  EXPECT_NE(exact.describe().find("CM02, exact alpha-beta, rendezvous"), std::string::npos);
  const SimWorld fitted(star(2), 2, {.model = NetworkModel::lv08, .eager_bytes = 4096});
  EXPECT_NE(fitted.describe().find("LV08"), std::string::npos);
  EXPECT_NE(fitted.describe().find("eager up to 4096 bytes"), std::string::npos);
  EXPECT_EQ(parse_network_model("lv08"), NetworkModel::lv08);
  EXPECT_THROW(parse_network_model("lv09"), Error);
}

}  // namespace
}  // namespace tutti
