#include "sim/recorded_run.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "sim/replay_world.hpp"
#include "sim/simulated_rank.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

struct Setting {
  std::string name;
  Shape shape;
  SimOptions options;
};

/// Whose costs are all different from each other and from 0.
Setting star_with_overheads(NetworkModel model, std::size_t eager_bytes) {
  Shape shape = star_shape(17, 3e9, 7e-6, 5e9);
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    shape.hosts[host].send_overhead_seconds = 1e-7 + 1e-9 * static_cast<double>(host);
    shape.hosts[host].receive_overhead_seconds = 3e-7;
    shape.hosts[host].speed = host % 3 == 0 ? 0.5 : 1.0;
  }
  SimOptions options{.model = model, .eager_bytes = eager_bytes};
  options.start_seconds = {0.0, 2e-6, 0.0, 5e-5, 1e-6};
  return {"star, eager up to " + std::to_string(eager_bytes), std::move(shape), options};
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const NetworkModel model :
       {NetworkModel::exact, NetworkModel::alpha_beta, NetworkModel::window}) {
    for (const std::size_t eager_bytes : {0u, 64u, 1u << 20}) {
      all.push_back(star_with_overheads(model, eager_bytes));
    }
    Shape tree =
        build_shape(fat_tree({.down = {3, 3, 2}, .up = {1, 2, 2}, .links = {{1e9, 2e-6}}}));
    all.push_back({"fat tree", std::move(tree), {.model = model}});
  }
  return all;
}

Program program_of(const Algorithm& algorithm, std::size_t count) {
  return [&algorithm, count](Rank& rank) {
    const Block block{nullptr, count, DType::float32};
    Arguments arguments{.output = block, .op = Op::sum};
    if (algorithm.collective == Collective::alltoall) arguments.input = block;
    run(algorithm, rank.channel(), arguments);
  };
}

TEST(RecordedRun, EveryAlgorithmEndsAtTheTimesOfTheClockToTheBit) {
  for (const Setting& setting : settings()) {
    for (const int size : {1, 2, 3, 5, 8, 16}) {
      ReplayWorld world(setting.shape, size, setting.options);
      for (const Algorithm& algorithm : catalogue()) {
        const auto count = static_cast<std::size_t>(size) * 123;
        if (!algorithm.supports(Problem{size, count, 4, 0, {}})) continue;
        SCOPED_TRACE(setting.name + ", " + std::string(name_of(algorithm.collective)) + " " +
                     std::string(algorithm.name) + " of " + std::to_string(size));
        const Program program = program_of(algorithm, count);
        world.run(program);
        const std::vector<double> ends = world.end_seconds();
        const std::size_t messages = world.messages();
        Recording recording(setting.shape, setting.options, size);
        ASSERT_TRUE(recording.record(program));
        RecordedRun recorded(recording, setting.shape, setting.options, size);
        ASSERT_TRUE(recorded.run());
        std::vector<double> recorded_ends(ends.size());
        recorded.write_ends(recorded_ends);
        EXPECT_EQ(recorded_ends, ends);
        EXPECT_EQ(recorded.messages(), messages);
      }
    }
  }
}

/// Ranks send to random others in an order that both know, with pauses between.
Program random_program(std::uint64_t seed) {
  return [seed](Rank& rank) {
    std::mt19937_64 random(seed);
    std::vector<Request> open;
    for (int message = 0; message < 60; ++message) {
      const auto draw = [&random](int count) {
        return static_cast<int>(random() % static_cast<std::uint64_t>(count));
      };
      const int from = draw(rank.size());
      const int to = (from + 1 + draw(rank.size() - 1)) % rank.size();
      const Block block{nullptr, std::size_t{1} << draw(14), DType::float32};
      const bool is_reduced = draw(2) == 0;
      const double seconds = 1e-7 * draw(100);
      if (rank.index() == from) {
        dynamic_cast<SimulatedRank&>(rank).pause(seconds);
        open.push_back(rank.channel().isend(to, block));
      }
      if (rank.index() == to) {
        open.push_back(rank.channel().irecv(from, block, is_reduced ? Op::sum : Op::replace));
      }
      if (draw(4) > 0) continue;
      for (const Request request : open) rank.channel().wait(request);
      open.clear();
    }
    for (const Request request : open) rank.channel().wait(request);
  };
}

TEST(RecordedRun, RandomMessagesEndAtTheTimesOfTheClockToTheBit) {
  for (const Setting& setting : settings()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(setting.name + ", seed " + std::to_string(seed));
      ReplayWorld world(setting.shape, 7, setting.options);
      world.run(random_program(seed));
      Recording recording(setting.shape, setting.options, 7);
      ASSERT_TRUE(recording.record(random_program(seed)));
      RecordedRun recorded(recording, setting.shape, setting.options, 7);
      ASSERT_TRUE(recorded.run());
      std::vector<double> ends(7);
      recorded.write_ends(ends);
      EXPECT_EQ(ends, world.end_seconds());
    }
  }
}

bool can_record(const Program& program, const Shape& shape = star_shape(4, 1e9, 1e-6)) {
  const SimOptions options{.lanes = 2};
  return Recording(shape, options, 4).record(program);
}

TEST(RecordedRun, WhatNeedsAClockRealDataOrSeveralTasksIsNotRecorded) {
  EXPECT_TRUE(can_record([](Rank& rank) {
    rank.channel().charge({Work::Kind::compute, 1.0, {}, {}});
  }));
  EXPECT_FALSE(can_record([](Rank& rank) { rank.channel().now(); }));
  EXPECT_FALSE(can_record([](Rank& rank) { rank.spawn([] {}); }));
  EXPECT_FALSE(can_record([](Rank& rank) { rank.channel(1); }));
  EXPECT_FALSE(can_record([](Rank&) { throw std::runtime_error("of its own"); }));
  std::byte data[4] = {};
  const Block real{data, 1, DType::float32};
  EXPECT_FALSE(can_record([&](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, real);
    if (rank.index() == 1) rank.channel().recv(0, real);
  }));
  EXPECT_FALSE(can_record([](Rank& rank) {
    rank.channel().isend((rank.index() + 1) % 4, {nullptr, 1, DType::int8});
  }));
}

TEST(RecordedRun, RanksThatShareCoresAreNotRecorded) {
  Shape shape = star_shape(2, 1e9, 1e-6);
  shape.placement = {0, 0, 1, 1};
  EXPECT_FALSE(can_record([](Rank&) {}, shape));
  for (Host& host : shape.hosts) host.cores = 2;
  EXPECT_TRUE(can_record([](Rank&) {}, shape));
}

/// What run_repeatable() throws is what run() throws.
void expect_same_error(const SimOptions& options, const Program& program) {
  ReplayWorld world(star_shape(3, 1e9, 1e-6), 3, options);
  std::string of_run, of_repeatable;
  try {
    world.run(program);
  } catch (const std::exception& error) {
    of_run = error.what();
  }
  try {
    world.run_repeatable(program);
  } catch (const std::exception& error) {
    of_repeatable = error.what();
  }
  EXPECT_NE(of_run, "");
  EXPECT_EQ(of_repeatable, of_run);
}

TEST(RecordedRun, WhatGoesWrongIsToldAsByTheClock) {
  const auto block = [](std::size_t count) { return Block{nullptr, count, DType::int8}; };
  for (const NetworkModel model : {NetworkModel::exact, NetworkModel::alpha_beta}) {
    SimOptions options{.model = model};
    expect_same_error(options, [&](Rank& rank) {  // A deadlock.
      rank.channel().send((rank.index() + 1) % 3, block(8));
      rank.channel().recv((rank.index() + 2) % 3, block(8));
    });
    expect_same_error(options, [&](Rank& rank) {  // Ends that do not agree.
      if (rank.index() == 0) rank.channel().send(1, block(8));
      if (rank.index() == 1) rank.channel().recv(0, block(9));
    });
    expect_same_error(options, [&](Rank& rank) {  // A deadline.
      rank.channel().set_deadline(1e-3);
      if (rank.index() == 0) rank.channel().send(1, block(std::size_t{1} << 30));
      if (rank.index() == 1) rank.channel().recv(0, block(std::size_t{1} << 30));
    });
    options.eager_bytes = 64;
    expect_same_error(options, [&](Rank& rank) {  // A message that nobody receives.
      if (rank.index() == 0) rank.channel().send(1, block(8));
    });
  }
}

TEST(RecordedRun, AWorldRunsRepeatableProgramsAgain) {
  ReplayWorld world(star_shape(4, 1e9, 1e-6), 4, {.model = NetworkModel::exact});
  const Program program = program_of(find_algorithm(Collective::allreduce, "ring"), 4000);
  world.run_repeatable(program);
  const double seconds = world.seconds();
  EXPECT_GT(seconds, 0.0);
  world.run_repeatable(program);
  EXPECT_EQ(world.seconds(), seconds);
  EXPECT_EQ(world.messages(), 4u * 6u);
}

}  // namespace
}  // namespace tutti
