#include "experiments/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>

#include "collectives/bruck.hpp"
#include "experiments/measure.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

constexpr std::size_t smallest_bytes = 64;
constexpr int warmups = 3;
constexpr int rounds = 15;
constexpr int chain = 4;  // Messages in a row in each round.

// Solves for the columns in `used`; the others are 0.
Eigen::VectorXd solve(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& target,
                      const std::vector<int>& used) {
  const Eigen::MatrixXd part = matrix(Eigen::all, used);
  Eigen::VectorXd result = Eigen::VectorXd::Zero(matrix.cols());
  result(used) = part.colPivHouseholderQr().solve(target);
  return result;
}

// Non-negative least squares of three unknowns: the best of all subsets without a negative one.
Eigen::VectorXd solve_non_negative(const Eigen::MatrixXd& matrix, const Eigen::VectorXd& target) {
  Eigen::VectorXd best = Eigen::VectorXd::Zero(matrix.cols());
  for (unsigned mask = 1; mask < 1u << matrix.cols(); ++mask) {
    std::vector<int> used;
    for (int column = 0; column < matrix.cols(); ++column) {
      if (mask >> column & 1u) used.push_back(column);
    }
    const Eigen::VectorXd candidate = solve(matrix, target, used);
    if (candidate.minCoeff() < 0.0) continue;
    const double error = (matrix * candidate - target).norm();
    if (error < (matrix * best - target).norm()) best = candidate;
  }
  return best;
}

// One chain of messages, as the load asks of this rank.
void communicate(Channel& channel, Block out, Block in, Op op, Load load) {
  const int rank = channel.rank(), peer = rank ^ 1;
  for (int i = 0; i < chain; ++i) {
    if (load == Load::full && peer < channel.size()) channel.sendrecv(peer, out, peer, in, op);
    if (load == Load::alone && rank < 2) {
      rank == i % 2 ? channel.send(peer, out) : channel.recv(peer, in, op);
    }
  }
}

}  // namespace

CostModel fit_cost_model(std::span<const MessageTime> messages) {
  const auto size = static_cast<Eigen::Index>(messages.size());
  Eigen::MatrixXd matrix(size, 3);
  const Eigen::VectorXd target = Eigen::VectorXd::Ones(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const MessageTime& message = messages[static_cast<std::size_t>(i)];
    const auto bytes = static_cast<double>(message.bytes);
    matrix.row(i) << 1.0, bytes, message.reduced ? bytes : 0.0;
    matrix.row(i) /= message.seconds;
  }
  // Columns of like size, so that the rank decision of the solver does not depend on units.
  const Eigen::RowVectorXd scale = matrix.colwise().norm().cwiseMax(1e-300);
  const Eigen::MatrixXd scaled = matrix.array().rowwise() / scale.array();
  const Eigen::VectorXd result =
      solve_non_negative(scaled, target).cwiseQuotient(scale.transpose());
  return {result(0), result(1), result(2)};
}

std::vector<MessageTime> measure_messages(World& world, DType dtype, Op op, Load load,
                                          std::size_t largest_bytes) {
  std::vector<MessageTime> messages;
  for (std::size_t bytes = smallest_bytes; bytes <= std::max(largest_bytes, 16 * smallest_bytes);
       bytes *= 4) {
    for (const bool reduced : {false, true}) messages.push_back({bytes, reduced, 0.0});
  }
  const auto size = static_cast<std::size_t>(world.size());
  const std::size_t block_bytes = messages.back().bytes;
  std::byte* const data = world.allocate(2 * block_bytes * size);
  auto* const seconds =
      reinterpret_cast<double*>(world.allocate(messages.size() * rounds * size * sizeof(double)));
  // Those of a rank lie together.
  const auto time_of = [&](std::size_t rank, std::size_t message, int round) -> double& {
    return seconds[(rank * messages.size() + message) * rounds + static_cast<std::size_t>(round)];
  };
  world.run([&](Rank& rank) {
    const auto index = static_cast<std::size_t>(rank.index());
    Channel& channel = rank.channel();
    std::byte* const own = data + 2 * block_bytes * index;
    std::fill_n(own, 2 * block_bytes, std::byte{0});
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const std::size_t count = messages[m].bytes / bytes_of(dtype);
      const Op each = messages[m].reduced ? op : Op::replace;
      for (int round = -warmups; round < rounds; ++round) {
        barrier_dissemination(channel);
        const double start = channel.now();
        communicate(channel, Block{own, count, dtype}, Block{own + block_bytes, count, dtype}, each,
                    load);
        if (round >= 0) time_of(index, m, round) = channel.now() - start;
      }
    }
  });
  for (std::size_t rank = 0; rank < size; ++rank) {
    world.fetch(static_cast<int>(rank), reinterpret_cast<std::byte*>(&time_of(rank, 0, 0)),
                messages.size() * rounds * sizeof(double));
  }
  for (std::size_t m = 0; m < messages.size(); ++m) {
    std::vector<double> slowest(rounds);
    for (int round = 0; round < rounds; ++round) {
      double& longest = slowest[static_cast<std::size_t>(round)];
      for (std::size_t rank = 0; rank < size; ++rank) {
        longest = std::max(longest, time_of(rank, m, round));
      }
    }
    messages[m].seconds = timing_of(std::move(slowest)).p50_seconds / chain;
  }
  return messages;
}

MachineModel measure_machine(World& world, DType dtype, Op op, std::size_t largest_bytes) {
  const auto fit = [&](Load load) {
    return fit_cost_model(measure_messages(world, dtype, op, load, largest_bytes));
  };
  const CostModel alone = fit(Load::alone), full = fit(Load::full);
  return {{full.alpha_seconds, alone.beta_seconds_per_byte, full.gamma_seconds_per_byte},
          full.beta_seconds_per_byte};
}

Shape shape_of(const MachineModel& machine, int ranks) {
  // A fitted beta may be 0, a shape's bandwidth not be infinite.
  const double beta = std::max(machine.cost.beta_seconds_per_byte, 1e-15);
  const double gamma = machine.cost.gamma_seconds_per_byte;
  Shape shape = star_shape(ranks, 1 / beta, machine.cost.alpha_seconds,
                           gamma > 0.0 ? std::optional(1 / gamma) : std::nullopt);
  if (machine.loaded_beta_seconds_per_byte <= beta) return shape;
  const double total = ranks / machine.loaded_beta_seconds_per_byte;
  const int medium = static_cast<int>(shape.links.size());
  const int middle = ranks;
  shape.links.push_back({.name = "medium",
                         .link_class = "medium",
                         .from = middle,
                         .to = middle,
                         .bandwidth_bytes_per_second = total,
                         .opposite = medium});
  shape.route = [star = shape.route, medium](int from, int to) {
    Route route = star(from, to);
    route.push_back(medium);
    return route;
  };
  shape.name += fmt::format(" that share {:.4g} GB/s", total / 1e9);
  return shape;
}

}  // namespace tutti
