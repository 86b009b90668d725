#include "sim/replay_world.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/faulty.hpp"
#include "collectives/run.hpp"
#include "collectives/traced.hpp"
#include "sim/fault.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

using testing::HasSubstr;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
// Times are sums of at most thousands of terms below a second in double precision.
constexpr double rounding_seconds = 1e-12;

Shape star(int hosts) {
  return star_shape(hosts, 12.5e9, 5e-6, 4e9);
}

Block ghost(std::size_t bytes) {
  return {nullptr, bytes, DType::uint8};
}

/// How a run ended, in words.
std::string ending_of(SimulatedWorld& world, const Program& program) {
  try {
    world.run(program);
  } catch (const Error& error) {
    return fmt::format("{}, rank {}: {}", name_of(error.kind()), error.rank(), error.what());
  } catch (const ContractError& error) {
    return fmt::format("contract: {}", error.what());
  }
  return fmt::format("success after {:.12f} s", world.seconds());
}

/// The replay ends as SimGrid does; returns how.
std::string same_ending(int size, const Program& program, const SimOptions& options = {}) {
  SimWorld reference(star(size), size, options);
  ReplayWorld world(star(size), size, options);
  const std::string expected = ending_of(reference, program);
  EXPECT_EQ(ending_of(world, program), expected);
  return expected;
}

void compute(Channel& channel, double seconds) {
  channel.charge({Work::Kind::compute, seconds, {}, {}});
}

TEST(ReplayWorld, FailuresOfProgramsAreThoseOfSimGrid) {
  same_ending(3, [](Rank& rank) {
    if (rank.index() == 2) throw Error(ErrorKind::mismatch, "a reason");
    rank.channel().recv(2, ghost(1));
  });
  same_ending(2, [](Rank& rank) { rank.channel(7); });
  same_ending(2, [](Rank& rank) {
    if (rank.index() == 1) rank.spawn([] { throw Error(ErrorKind::usage, "a task's reason"); });
  });
  EXPECT_THAT(same_ending(3,
                          [](Rank& rank) {
                            compute(rank.channel(), 3.0 - rank.index());
                            throw Error(ErrorKind::system, "late or early");
                          }),
              HasSubstr("rank 2"));
}

TEST(ReplayWorld, AnyOtherExceptionNamesItsRank) {
  ReplayWorld world(star(2), 2);
  EXPECT_THAT(ending_of(world,
                        [](Rank& rank) {
                          if (rank.index() == 1) throw std::runtime_error("out of luck");
                        }),
              HasSubstr("rank 1 failed: out of luck"));
  EXPECT_THAT(ending_of(world,
                        [](Rank& rank) {
                          if (rank.index() == 1) throw 42;
                        }),
              HasSubstr("rank 1"));
}

TEST(ReplayWorld, MismatchesAndDeadlocksAreToldAsBySimGrid) {
  same_ending(2, [](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(100));
    if (rank.index() == 1) rank.channel().recv(0, ghost(200));
  });
  same_ending(2, [](Rank& rank) {
    const char* const name = rank.index() == 0 ? "ring" : "tree";
    run(find_algorithm(Collective::allreduce, name), rank.channel(),
        Block{nullptr, 64, DType::float32});
  });
  same_ending(3, [](Rank& rank) { rank.channel().recv((rank.index() + 1) % 3, ghost(40)); });
  same_ending(100, [](Rank& rank) { rank.channel().recv((rank.index() + 1) % 100, ghost(40)); });
  same_ending(2, [](Rank& rank) {
    if (rank.index() == 1) rank.channel().recv(0, ghost(40));
  });
  const Program unreceived = [](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(40));
  };
  same_ending(2, unreceived);
  same_ending(2, unreceived, {.eager_bytes = 64});
}

TEST(ReplayWorld, RequestsThatAreMisusedAreProgrammerErrors) {
  same_ending(2, [](Rank& rank) {
    if (rank.index() == 0) rank.channel().isend(1, ghost(40));
    if (rank.index() == 1) rank.channel().recv(0, ghost(40));
  });
  ReplayWorld world(star(2), 2);
  EXPECT_THAT(ending_of(world,
                        [](Rank& rank) {
                          if (rank.index() == 0) return rank.channel().send(1, ghost(40));
                          const Request request = rank.channel().irecv(0, ghost(40));
                          rank.channel().wait(request);
                          rank.channel().wait(request);
                        }),
              HasSubstr("which is not open"));
}

TEST(ReplayWorld, DeadlinesEndAsInSimGrid) {
  EXPECT_THAT(same_ending(2,
                          [](Rank& rank) {
                            Channel& channel = rank.channel();
                            if (rank.index() == 0) return compute(channel, 9.0);
                            compute(channel, 0.5);
                            channel.set_deadline(2.0);
                            channel.recv(0, ghost(40));
                          }),
              HasSubstr("rank 1 waited 1.500 s"));
  same_ending(2, [](Rank& rank) {
    rank.channel().set_deadline(1.0);
    if (rank.index() == 0) rank.channel().send(1, ghost(40));
    if (rank.index() == 1) compute(rank.channel(), 9.0);
  });
  const Program interrupted = [](Rank& rank) {
    if (rank.index() == 1) rank.channel().set_deadline(1.0);
    if (rank.index() == 0) rank.channel().send(1, ghost(std::size_t{1} << 40));
    if (rank.index() == 1) rank.channel().recv(0, ghost(std::size_t{1} << 40));
  };
  const std::string ending = same_ending(2, interrupted);
  ReplayWorld exact(star(2), 2, {.model = NetworkModel::exact});
  EXPECT_EQ(ending_of(exact, interrupted), ending);
  same_ending(2, [](Rank& rank) {
    Channel& channel = rank.channel();
    if (rank.index() == 0) {
      channel.send(1, ghost(40));
      return compute(channel, 9.0);
    }
    const Request first = channel.irecv(0, ghost(40)), second = channel.irecv(0, ghost(50));
    compute(channel, 1.0);
    channel.set_deadline(0.5);
    channel.wait(first);
    channel.wait(second);
  });
}

TEST(ReplayWorld, APeerOfARankThatHasGivenUpIsTold) {
  const Program program = [](Rank& rank) {
    if (rank.index() == 0) return rank.channel().send(1, ghost(std::size_t{1} << 40));
    rank.channel().set_deadline(1.0);
    EXPECT_THROW(rank.channel().recv(0, ghost(std::size_t{1} << 40)), Error);
  };
  EXPECT_THAT(same_ending(2, program), HasSubstr("rank 1 (a point outside any collective), which "
                                                 "has given up"));
}

/// A ring allreduce on 4 ranks where rank 2 has the fault.
Program faulty_ring(Fault fault, double deadline = no_deadline) {
  return [=](Rank& rank) {
    Faulty channel(rank.channel(), rank.index() == 2 ? std::vector{fault} : std::vector<Fault>{},
                   simulated_faults(rank));
    channel.set_deadline(deadline);
    run(find_algorithm(Collective::allreduce, "ring"), channel, ghost(4000));
  };
}

TEST(ReplayWorld, FaultsHaveTheEffectThatTheyHaveInSimGrid) {
  same_ending(4, faulty_ring({Fault::Kind::delay, 3, 0.25}));
  same_ending(4, faulty_ring({Fault::Kind::stall, 3, 0.0}, 1.0));
  same_ending(4, faulty_ring({Fault::Kind::stall, 3, 0.0}));
  same_ending(4, faulty_ring({Fault::Kind::kill, 3, 0.0}));
  EXPECT_THAT(same_ending(2,
                          [](Rank& rank) {
                            if (rank.index() == 0) return;
                            rank.spawn([&rank] { rank.channel(1).recv(0, ghost(40)); });
                            rank.spawn([] {});
                            compute(rank.channel(), 1.0);
                            simulated_faults(rank)({Fault::Kind::kill, 0, 0.0});
                          },
                          {.lanes = 2}),
              HasSubstr("rank 1 was killed"));
}

TEST(ReplayWorld, AFailureUnwindsAllRanksAndTheWorldCanRunAgain) {
  ReplayWorld world(star(8), 8);
  int alive = 0;
  struct Counted {
    int& count;
    explicit Counted(int& of) : count(of) { ++count; }
    ~Counted() { --count; }
  };
  EXPECT_THROW(world.run([&](Rank& rank) {
    const Counted counted(alive);
    compute(rank.channel(), 1.0);
    if (rank.index() == 5) throw std::runtime_error("once");
    rank.channel().recv(5, ghost(1));
  }),
               Error);
  EXPECT_EQ(alive, 0);
  world.run([](Rank& rank) { compute(rank.channel(), 1.0); });
  EXPECT_DOUBLE_EQ(world.seconds(), 1.0);
}

TEST(ReplayWorld, ARankMayCommunicateWhileItHandlesAnException) {
  ReplayWorld world(star(4), 4);
  world.run([](Rank& rank) {
    const int peer = rank.index() ^ 1;
    for (int i = 0; i < 3; ++i) {
      try {
        throw std::runtime_error(std::to_string(rank.index()));
      } catch (const std::runtime_error& error) {
        rank.channel().sendrecv(peer, ghost(10), peer, ghost(10));
        EXPECT_EQ(error.what(), std::to_string(rank.index()));
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    }
  });
}

TEST(ReplayWorld, GhostsTakeExactlyTheTimeOfRealBlocks) {
  for (const NetworkModel model : {NetworkModel::alpha_beta, NetworkModel::exact}) {
    for (const Algorithm& algorithm : catalogue()) {
      for (const std::size_t count : {1ul, 13ul, 1002ul}) {
        if (!algorithm.supports({.ranks = 6, .count = count})) continue;
        ReplayWorld real(star(6), 6, {.model = model}), haunted(star(6), 6, {.model = model});
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
}

/// All trace records of one run in the order of their times, as JSON.
std::string trace_of(const Algorithm& algorithm, std::uint64_t seed) {
  const Shape shape = build_shape(
      leaf_spine({.leaves = 3,
                  .spines = 1,
                  .hosts_per_leaf = 2,
                  .host = {.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-6},
                  .spine = {.bandwidth_bytes_per_second = 7e9, .latency_seconds = 1.3e-6}}),
      {.reduction_bytes_per_second = 3e9});
  ReplayWorld world(shape, 6, {.seed = seed});
  std::string lines;
  world.run([&](Rank& rank) {
    Traced traced(rank.channel(),
                  [&](const TraceRecord& record) { lines += record.to_json() + "\n"; });
    compute(rank.channel(), 1e-9 * static_cast<double>(rank.random()() % 100000));
    run(algorithm, traced, Block{nullptr, 100200, DType::float32});
  });
  return lines;
}

TEST(ReplayWorld, TheSameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.supports({.ranks = 6, .count = 100200})) continue;
    const std::string trace = trace_of(algorithm, 1);
    EXPECT_EQ(trace, trace_of(algorithm, 1)) << algorithm.full_name;
    EXPECT_NE(trace, trace_of(algorithm, 2)) << algorithm.full_name;
  }
}

TEST(ReplayWorld, RanksOfOneHostShareItsCores) {
  const HostSpec host{
      .cores = 2, .reduction_bytes_per_second = 1e9, .loopback = LinkSpec{100e9, 0.2e-6}};
  const Placement three{.kind = Placement::Kind::list, .hosts = {0, 0, 0}};
  const Shape shape = build_shape(tutti::star({2, {10e9, 1e-6}}), host, three);
  for (const int late : {0, 1}) {
    const Program program = [late](Rank& rank) {
      compute(rank.channel(), 1e-4 * late * rank.index());
      rank.channel().charge({Work::Kind::reduce, 0.0, ghost(mebibyte), ghost(mebibyte)});
    };
    SimWorld reference(shape, 3);
    ReplayWorld world(shape, 3);
    reference.run(program);
    world.run(program);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_NEAR(world.end_seconds()[rank], reference.end_seconds()[rank], rounding_seconds);
    }
  }
}

TEST(ReplayWorld, StartsAndTasksAreThoseOfSimGrid) {
  same_ending(2,
              [](Rank& rank) {
                Channel& other = rank.channel(1);
                rank.spawn([&rank, &other] {
                  const int peer = 1 - rank.index();
                  other.sendrecv(peer, ghost(mebibyte), peer, ghost(mebibyte));
                });
                rank.spawn([&rank] { rank.spawn([] {}); });
                compute(rank.channel(), 20e-6);
              },
              {.lanes = 2, .start_seconds = {0.0, 3e-6}});
}

TEST(ReplayWorld, WhatIsObservedIsWhatSimGridDoes) {
  const LinkSpec cable{.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-6};
  const Shape shape = build_shape(
      leaf_spine({.leaves = 2, .spines = 1, .hosts_per_leaf = 4, .host = cable, .spine = cable}));
  const Algorithm& algorithm = find_algorithm(Collective::allreduce, "recursive_doubling");
  const Program program = [&](Rank& rank) { run(algorithm, rank.channel(), ghost(mebibyte)); };
  SimWorld reference(shape, 8, {.observe = Observe::messages});
  ReplayWorld world(shape, 8, {.observe = Observe::messages});
  reference.run(program);
  world.run(program);
  const Observation &a = reference.observation(), &b = world.observation();
  ASSERT_EQ(b.messages.size(), 24u);
  EXPECT_EQ(a.messages.size(), b.messages.size());
  EXPECT_EQ(a.blocks.size(), b.blocks.size());
  ASSERT_EQ(a.links.size(), b.links.size());
  for (std::size_t link = 0; link < a.links.size(); ++link) {
    EXPECT_EQ(a.links[link].bytes, b.links[link].bytes);
    EXPECT_EQ(a.links[link].most_flows, b.links[link].most_flows);
    EXPECT_NEAR(a.links[link].busy_seconds, b.links[link].busy_seconds, rounding_seconds);
    const double capacity = shape.links[link].bandwidth_bytes_per_second * world.seconds();
    EXPECT_LE(b.links[link].bytes, capacity);
  }
  for (std::size_t rank = 0; rank < 8; ++rank) {
    ASSERT_EQ(a.waits[rank].size(), b.waits[rank].size());
    for (std::size_t peer = 0; peer < a.waits[rank].size(); ++peer) {
      EXPECT_EQ(a.waits[rank][peer].peer, b.waits[rank][peer].peer);
      EXPECT_NEAR(a.waits[rank][peer].seconds, b.waits[rank][peer].seconds, rounding_seconds);
    }
  }
}

TEST(ReplayWorld, WhatOnlySimGridCanDoIsRefused) {
  EXPECT_THROW(ReplayWorld(star(2), 2, {.model = NetworkModel::lv08}), Error);
  Shape platform = star(2);
  platform.platform_file = "a.xml";
  EXPECT_THROW(ReplayWorld(platform, 2), Error);
  EXPECT_THROW(ReplayWorld(star(2), 3), Error);
  EXPECT_THROW(ReplayWorld(star(2), 0), Error);
  ReplayWorld world(star(2), 2);
  EXPECT_THROW(world.run([&](Rank&) { world.allocate(1); }), ContractError);
}

TEST(ReplayWorld, SixtyFiveThousandRanksTakeTheirClosedForm) {
  constexpr int size = 1 << 16;
  ReplayWorld world(star_shape(size, 10e9, 1e-6), size);
  const Algorithm& tree = find_algorithm(Collective::allreduce, "tree");
  world.run([&](Rank& rank) { run(tree, rank.channel(), ghost(1000)); });
  EXPECT_NEAR(world.seconds(), 2 * 16 * (1e-6 + 1000 / 10e9), rounding_seconds);
  EXPECT_EQ(world.messages(), 2u * (size - 1));
}

TEST(ReplayWorld, TheDescriptionNamesEngineAndModel) {
  const ReplayWorld links(star(2), 2);
  EXPECT_EQ(links.describe(), "replay, links shared by flows, exact alpha-beta, rendezvous");
  EXPECT_EQ(links.engine(), "replay");
}

}  // namespace
}  // namespace tutti
