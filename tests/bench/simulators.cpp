// What simulating costs: the replay's targets, and SimGrid with and without the binding.
//
//   simulators            all cases
//   simulators CASE ...   some, such as "ring-1024-exact"
//
// Each case runs in a process of its own, so that its peak memory is its own, on one core. Times
// are of the simulation alone, not of building the shape.
//
// Measured on a 2-core virtual machine that did nothing else:
//
//   replay, ring on 1,024 ranks        10.4 M messages/s exact, 4.2 with links on the tree, 59 MB
//   replay, ring on 4,096 ranks        3.3 s exact, 9 s with links, below 0.9 GB
//   replay, recursive doubling 65,536  0.6 s exact, 1 s with links, below 0.3 GB
//   replay, tree on 1,048,576 ranks    2 s exact, 1.1 GB
//   SimGrid, ring on 512 ranks         9 % over plain S4U
//
// An all-to-all whose flows are all under way at once and end apart is the worst case for links:
// each end may change the rates of all flows that are as fast or faster.
//
// Half of a recorded message's time is its recording, half what gives it its time. As fibers, which
// programs that look at the clock still are, the ring on 1,024 ranks is replayed at 3.1 M
// messages/s exact and 2.0 with links; most of that are cache misses of the stacks and channels of
// the ranks.
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/parts.hpp"
#include "collectives/run.hpp"
#include "process/shared_memory.hpp"
#include "sim/replay_world.hpp"
#include "sim/shape_zone.hpp"
#include "sim/sim_world.hpp"
#include "sim/simgrid_compat.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

constexpr double bandwidth = 12.5e9;
constexpr double latency_seconds = 5e-6;
constexpr std::size_t megabyte_elements = 250'000;  // Of float32.

struct Case {
  std::string name;
  double messages = 0.0;
  std::function<double()> simulate;  ///< Returns the seconds that it took.
};

template <typename Action>
double timed(const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename Simulated>
double run_allreduce(Shape shape, int size, const char* name, std::size_t count,
                     NetworkModel model) {
  const Algorithm& algorithm = find_algorithm(Collective::allreduce, name);
  Simulated world(std::move(shape), size, {.model = model});
  return timed([&] {
    world.run_repeatable([&](Rank& rank) {
      run(algorithm, rank.channel(), Block{nullptr, count, DType::float32});
    });
  });
}

Shape fat_tree_1024() {
  return build_shape(fat_tree({.down = {16, 8, 8}, .up = {1, 8, 8}, .links = {{bandwidth, 1e-6}}}));
}

/// An all-to-all on the ranks of a fat tree that begin a little after one another, in no order: all
/// flows are connected by links that are full, and hardly two of them end at once.
double run_staggered_alltoall(const char* name, int size) {
  const Algorithm& algorithm = find_algorithm(Collective::alltoall, name);
  SimOptions options{.model = NetworkModel::alpha_beta};
  for (int rank = 0; rank < size; ++rank) {
    options.start_seconds.push_back(rank * 37 % size * 1.7e-7);
  }
  ReplayWorld world(fat_tree_1024(), size, std::move(options));
  return timed([&] {
    world.run_repeatable([&](Rank& rank) {
      const Block block{nullptr, std::size_t{1} << 18, DType::float32};
      run(algorithm, rank.channel(), Arguments{.input = block, .output = block});
    });
  });
}

Shape star_of(int hosts) {
  return star_shape(hosts, bandwidth, latency_seconds);
}

double ring_messages(int size) {
  return 2.0 * (size - 1) * size;
}

/// The messages of a ring allreduce by S4U alone, mailboxes looked up once and SimGrid set up
/// alike: what the binding is compared with. With SimGrid's own precision of 1 ns instead of 1 fs
/// some messages would end together that do not, and cost less.
void plain_s4u_ring(const Shape& shape, int size, std::size_t elements) {
  using namespace simgrid::s4u;
  Engine::set_config("contexts/factory", std::string("raw"));
  Engine engine("plain");
  Engine::set_config("contexts/stack-size", 1024);
  Engine::set_config(simgrid_compat::timing_precision_key, 1e-15);
  Engine::set_config("network/model", std::string("CM02"));
  Engine::set_config("network/crosstraffic", false);
  Engine::set_config("network/latency-factor", 1.0);
  Engine::set_config("network/bandwidth-factor", 1.0);
  Engine::set_config("network/weight-S", 0.0);
  Engine::set_config("network/TCP-gamma", 1e300);
  const ShapeZone& zone = ShapeZone::create(shape, static_cast<std::size_t>(size));
  std::vector<Mailbox*> mailboxes;
  for (int rank = 0; rank < size; ++rank) {
    mailboxes.push_back(Mailbox::by_name(std::to_string(rank)));
  }
  for (int rank = 0; rank < size; ++rank) {
    simgrid_compat::create_actor(std::to_string(rank), zone.host_of(rank), [=, &mailboxes] {
      Mailbox* const out = mailboxes[static_cast<std::size_t>((rank + 1) % size)];
      Mailbox* const in = mailboxes[static_cast<std::size_t>(rank)];
      const Parts parts(Block{nullptr, elements, DType::float32}, size);
      int payload = 0;
      int* received = nullptr;
      for (int step = 1; step <= 2 * (size - 1); ++step) {
        const int part = step < size ? rank - step : rank - (step - size);
        const CommPtr sent = out->put_async(&payload, parts[part].bytes());
        in->get_async<int>(&received)->wait();
        sent->wait();
      }
    });
  }
  engine.run();
}

std::vector<Case> cases() {
  const auto replay = run_allreduce<ReplayWorld>;
  constexpr auto exact = NetworkModel::exact, links = NetworkModel::alpha_beta;
  return {
      {"ring-1024-exact", ring_messages(1024),
       [=] { return replay(star_of(1024), 1024, "ring", megabyte_elements, exact); }},
      {"ring-1024-links-fat-tree", ring_messages(1024),
       [=] { return replay(fat_tree_1024(), 1024, "ring", megabyte_elements, links); }},
      {"ring-4096-exact", ring_messages(4096),
       [=] { return replay(star_of(4096), 4096, "ring", megabyte_elements, exact); }},
      {"ring-4096-links", ring_messages(4096),
       [=] { return replay(star_of(4096), 4096, "ring", megabyte_elements, links); }},
      {"recursive-doubling-65536-exact", 16.0 * 65536,
       [=] { return replay(star_of(65536), 65536, "recursive_doubling", 1000, exact); }},
      {"recursive-doubling-65536-links", 16.0 * 65536,
       [=] { return replay(star_of(65536), 65536, "recursive_doubling", 1000, links); }},
      {"tree-1048576-exact", 2.0 * 1048575,
       [=] { return replay(star_of(1 << 20), 1 << 20, "tree", 1000, exact); }},
      {"tree-1048576-links", 2.0 * 1048575,
       [=] { return replay(star_of(1 << 20), 1 << 20, "tree", 1000, links); }},
      {"pairwise-256-staggered-links", 256.0 * 255,
       [] { return run_staggered_alltoall("pairwise", 256); }},
      {"linear-128-staggered-links", 128.0 * 127,
       [] { return run_staggered_alltoall("linear", 128); }},
      {"bruck-1024-staggered-links", 1024.0 * 10,
       [] { return run_staggered_alltoall("bruck", 1024); }},
      {"pairwise-1024-staggered-links", 1024.0 * 1023,
       [] { return run_staggered_alltoall("pairwise", 1024); }},
      {"simgrid-ring-512", ring_messages(512),
       [] {
         return run_allreduce<SimWorld>(star_of(512), 512, "ring", megabyte_elements,
                                        NetworkModel::alpha_beta);
       }},
      {"plain-s4u-ring-512", ring_messages(512),
       [] {
         const Shape shape = star_of(512);
         return timed([&] { plain_s4u_ring(shape, 512, megabyte_elements); });
       }},
  };
}

struct Result {
  double seconds = 0.0;
  double peak_megabytes = 0.0;
};

/// In a process of its own, on one core.
Result measure_apart(const Case& one) {
  const SharedMapping shared(sizeof(Result), SharedMapping::Pages::reserved);
  auto& result = *reinterpret_cast<Result*>(shared.data());
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(sched_getcpu(), &core);
    sched_setaffinity(0, sizeof core, &core);
    result.seconds = one.simulate();
    rusage own{}, children{};
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    result.peak_megabytes = static_cast<double>(std::max(own.ru_maxrss, children.ru_maxrss)) / 1024;
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return result;
}

void print(const Case& one, const Result& result) {
  fmt::print("{:<32} {:>10.0f} {:>9.3f} {:>10.2f} {:>9.0f}\n", one.name, one.messages,
             result.seconds, one.messages / result.seconds / 1e6, result.peak_megabytes);
  std::fflush(stdout);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// What the binding costs: runs of the two cases alternate.
void compare(const Case& bound, const Case& plain) {
  constexpr int runs = 5;
  std::vector<double> bound_seconds, plain_seconds;
  for (int run = 0; run < runs; ++run) {
    bound_seconds.push_back(measure_apart(bound).seconds);
    plain_seconds.push_back(measure_apart(plain).seconds);
  }
  const double bound_median = median_of(bound_seconds), plain_median = median_of(plain_seconds);
  fmt::print("{} over {}: {:+.1f} %, medians of {} alternating runs\n", bound.name, plain.name,
             (bound_median / plain_median - 1) * 100, runs);
}

}  // namespace
}  // namespace tutti

int main(int count, char** words) {
  const std::vector<std::string> chosen(words + 1, words + count);
  const auto is_wanted = [&chosen](const tutti::Case& one) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), one.name) != chosen.end();
  };
  fmt::print("{:<32} {:>10} {:>9} {:>10} {:>9}\n", "case", "messages", "seconds", "M msgs/s",
             "peak MB");
  std::fflush(stdout);
  const std::vector<tutti::Case> cases = tutti::cases();
  for (const tutti::Case& one : cases) {
    if (is_wanted(one)) tutti::print(one, tutti::measure_apart(one));
  }
  const tutti::Case& bound = cases[cases.size() - 2];
  const tutti::Case& plain = cases.back();
  if (is_wanted(bound) && is_wanted(plain)) tutti::compare(bound, plain);
}
