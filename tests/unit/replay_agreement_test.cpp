// How far the replay's times are from closed forms and from SimGrid's: the table that it prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/plan.hpp"
#include "collectives/plan_check.hpp"
#include "collectives/run.hpp"
#include "sim/replay_world.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr LinkSpec cable{.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-6};
constexpr LinkSpec fast{.bandwidth_bytes_per_second = 100e9, .latency_seconds = 0.2e-6};

// The bounds that the engine is to meet. It shares links by the same rule as SimGrid's CM02, so
// that what differs is rounding, and SimGrid's solver, which stops at 1e-5 of a rate.
constexpr double closed_form_tolerance = 1e-9;
constexpr double exact_tolerance = 1e-6;
constexpr double uncontended_tolerance = 0.02;
constexpr double contended_tolerance = 0.10;

Block ghost(std::size_t bytes) {
  return {nullptr, bytes / 4, DType::float32};
}

template <typename Simulated>
double seconds_of(const Shape& shape, const Program& program, NetworkModel model) {
  Simulated world(shape, shape.size(), {.model = model});
  world.run(program);
  return world.seconds();
}

double deviation(double seconds, double reference_seconds) {
  return reference_seconds == 0.0 ? std::abs(seconds) : std::abs(seconds / reference_seconds - 1);
}

Program collective(Collective collective, const char* name, std::size_t bytes) {
  const Algorithm& algorithm = find_algorithm(collective, name);
  return [&algorithm, bytes](Rank& rank) {
    Arguments arguments{.output = ghost(bytes)};
    // In place, alltoall would copy what it sends first.
    if (algorithm.collective == Collective::alltoall) arguments.input = ghost(bytes);
    run(algorithm, rank.channel(), arguments);
  };
}

/// Ranks [first, last) send to rank 0 at once.
Program incast(int first, int last, std::size_t bytes) {
  return [=](Rank& rank) {
    Channel& channel = rank.channel();
    if (rank.index() >= first && rank.index() < last) channel.send(0, ghost(bytes));
    if (rank.index() != 0) return;
    std::vector<Request> requests;
    for (int from = first; from < last; ++from) {
      requests.push_back(channel.irecv(from, ghost(bytes)));
    }
    for (const Request request : requests) channel.wait(request);
  };
}

/// Flows of different sizes that begin at different times, so that rates change on the way.
Program staggered(std::size_t bytes) {
  return [=](Rank& rank) {
    Channel& channel = rank.channel();
    const int half = rank.size() / 2, index = rank.index();
    channel.charge({Work::Kind::compute, 7e-6 * (index % half), {}, {}});
    for (std::size_t step = 1; step <= 3; ++step) {
      const std::size_t size = bytes / step * static_cast<std::size_t>(1 + index % half);
      if (index < half) channel.send(index + half, ghost(size));
      if (index >= half) channel.recv(index - half, ghost(size));
    }
  };
}

struct Case {
  std::string what;
  Shape shape;
  Program program;
  double tolerance;
};

MachineSpec eight_devices(int nics) {
  return {.devices = 8, .nics = nics, .device = fast, .pcie = fast};
}

std::vector<Case> uncontended() {
  const HostSpec busy{.reduction_bytes_per_second = 4e9,
                      .send_overhead_seconds = 0.3e-6,
                      .receive_overhead_seconds = 0.4e-6};
  const Shape star_32 = build_shape(star({32, cable}), busy);
  const Shape tree = build_shape(fat_tree({.down = {4, 4}, .up = {1, 4}, .links = {cable}}));
  std::vector<Case> cases;
  for (const char* name : {"ring", "tree", "recursive_doubling", "rabenseifner"}) {
    cases.push_back({fmt::format("allreduce {}, star", name), star_32,
                     collective(Collective::allreduce, name, mebibyte), uncontended_tolerance});
  }
  cases.push_back({"allgather ring, star", star_32,
                   collective(Collective::allgather, "ring", mebibyte), uncontended_tolerance});
  cases.push_back({"broadcast binomial, star", star_32,
                   collective(Collective::broadcast, "binomial", mebibyte), uncontended_tolerance});
  cases.push_back({"allreduce ring, fat tree", tree,
                   collective(Collective::allreduce, "ring", mebibyte), uncontended_tolerance});
  cases.push_back({"allreduce ring, torus in rows",
                   build_shape(grid({.dimensions = {4, 4}, .links = {cable}})),
                   collective(Collective::allreduce, "ring", mebibyte), uncontended_tolerance});
  return cases;
}

std::vector<Case> contended() {
  const Shape oversubscribed = build_shape(
      leaf_spine({.leaves = 4, .spines = 1, .hosts_per_leaf = 8, .host = cable, .spine = cable}));
  const Shape shared_nic = build_shape(compose(star({4, cable}), machine(eight_devices(1))));
  const Shape torus = build_shape(grid({.dimensions = {4, 4, 2}, .links = {cable}}));
  const Shape two_rates = build_shape(
      leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 6, .host = cable, .spine = cable}));
  const auto of = [](const char* name) {
    return collective(Collective::allreduce, name, 4 * mebibyte);
  };
  std::vector<Case> cases;
  for (const char* name : {"recursive_doubling", "ring", "rabenseifner"}) {
    cases.push_back({fmt::format("allreduce {}, leaf-spine 8:1", name), oversubscribed, of(name),
                     contended_tolerance});
    cases.push_back({fmt::format("allreduce {}, 8 devices a NIC", name), shared_nic, of(name),
                     contended_tolerance});
    cases.push_back(
        {fmt::format("allreduce {}, torus 4x4x2", name), torus, of(name), contended_tolerance});
  }
  cases.push_back({"alltoall linear, leaf-spine 8:1", oversubscribed,
                   collective(Collective::alltoall, "linear", mebibyte), contended_tolerance});
  cases.push_back({"incast of 16, leaf-spine 8:1", oversubscribed, incast(8, 24, mebibyte),
                   contended_tolerance});
  cases.push_back({"incast near and far, leaf-spine", oversubscribed, incast(1, 24, mebibyte),
                   contended_tolerance});
  cases.push_back(
      {"staggered flows, leaf-spine 3:1", two_rates, staggered(mebibyte), contended_tolerance});
  return cases;
}

/// The replay by `model`, SimGrid by `reference_model`.
void compare(const std::vector<Case>& cases, NetworkModel model, NetworkModel reference_model,
             double tolerance) {
  fmt::print("{:<36} {:>14} {:>14} {:>10}\n", "pattern", "simgrid us", "replay us", "deviation");
  for (const Case& one : cases) {
    const double reference = seconds_of<SimWorld>(one.shape, one.program, reference_model);
    const double seconds = seconds_of<ReplayWorld>(one.shape, one.program, model);
    fmt::print("{:<36} {:>14.4f} {:>14.4f} {:>10.1e}\n", one.what, reference * 1e6, seconds * 1e6,
               deviation(seconds, reference));
    EXPECT_LE(deviation(seconds, reference), std::min(tolerance, one.tolerance)) << one.what;
  }
}

TEST(ReplayAgreement, ExactEqualsTheClosedFormsThatAreExact) {
  const Shape shape = star_shape(16, 10e9, 1e-6, 4e9);
  const CostModel model{1e-6, 1 / 10e9, 1 / 4e9};
  int compared = 0;
  double largest = 0.0;
  for (const Algorithm& algorithm : catalogue()) {
    const Problem problem{16, mebibyte / 4, 4, 0};
    if (!algorithm.supports(problem) || algorithm.form(problem) != Form::exact) continue;
    const Program program = collective(algorithm.collective, algorithm.name.data(), mebibyte);
    const double seconds = seconds_of<ReplayWorld>(shape, program, NetworkModel::exact);
    const double expected = algorithm.seconds(problem, model);
    EXPECT_LE(deviation(seconds, expected), closed_form_tolerance) << algorithm.full_name;
    largest = std::max(largest, deviation(seconds, expected));
    ++compared;
  }
  fmt::print("{} closed forms, largest deviation {:.1e}\n", compared, largest);
  EXPECT_GT(compared, 10);
}

TEST(ReplayAgreement, ExactEqualsThePlansReplayForEveryAlgorithm) {
  constexpr int size = 12;
  const Shape shape = star_shape(size, 10e9, 1e-6, 4e9);
  const CostModel model{1e-6, 1 / 10e9, 1 / 4e9};
  for (const Algorithm& algorithm : catalogue()) {
    if (!algorithm.supports({size, 3000, 4, 0})) continue;
    ReplayWorld world(shape, size, {.model = NetworkModel::exact});
    world.run([&](Rank& rank) { run(algorithm, rank.channel(), ghost(12000)); });
    const std::vector<double> expected = replay(
        record(size, [&](Channel& channel) { run(algorithm, channel, ghost(12000)); }), model);
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
      EXPECT_LE(deviation(world.end_seconds()[rank], expected[rank]), closed_form_tolerance)
          << algorithm.full_name << ", rank " << rank;
    }
  }
}

TEST(ReplayAgreement, ExactEqualsSimGridWithoutContention) {
  compare(uncontended(), NetworkModel::exact, NetworkModel::alpha_beta, exact_tolerance);
}

TEST(ReplayAgreement, LinksAreNearSimGridWhereNoFlowsMeet) {
  compare(uncontended(), NetworkModel::alpha_beta, NetworkModel::alpha_beta, uncontended_tolerance);
}

TEST(ReplayAgreement, LinksAreNearSimGridWhereFlowsShareLinks) {
  compare(contended(), NetworkModel::alpha_beta, NetworkModel::alpha_beta, contended_tolerance);
}

TEST(ReplayAgreement, AWindowLimitsFlowsAsInSimGrid) {
  const LinkSpec far{.bandwidth_bytes_per_second = 10e9, .latency_seconds = 1e-3};
  const Shape wide = build_shape(star({8, far}));
  std::vector<Case> cases;
  for (const char* name : {"ring", "tree"}) {
    cases.push_back({fmt::format("allreduce {}, star of 1 ms", name), wide,
                     collective(Collective::allreduce, name, 64 * mebibyte), contended_tolerance});
  }
  compare(cases, NetworkModel::window, NetworkModel::window, uncontended_tolerance);
}

}  // namespace
}  // namespace tutti
