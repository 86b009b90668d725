#include "collectives/catalogue.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "collectives/linear.hpp"
#include "collectives/recursive.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

constexpr std::array<Collective, 4> collectives = {Collective::allreduce, Collective::broadcast,
                                                   Collective::allgather,
                                                   Collective::reduce_scatter};

// Building blocks of the closed forms. An empty buffer travels nowhere and costs nothing.

double message_seconds(std::size_t bytes, const CostModel& model) {
  return model.alpha_seconds + static_cast<double>(bytes) * model.beta_seconds_per_byte;
}

double reduction_seconds(std::size_t bytes, const CostModel& model) {
  return static_cast<double>(bytes) * model.gamma_seconds_per_byte;
}

int steps_unless_empty(const Problem& problem, int steps) {
  return problem.count == 0 ? 0 : steps;
}

// `hops` messages one after the other, each of `bytes`, `folds` of which are reduced.
double chain_seconds(int hops, int folds, std::size_t bytes, const CostModel& model) {
  if (bytes == 0) return 0.0;
  return hops * message_seconds(bytes, model) + folds * reduction_seconds(bytes, model);
}

// Bytes of one part of the buffer; any dtype of that size is divided in the same way.
std::size_t part_bytes(const Problem& problem, int index, Partition partition) {
  const DType dtype = problem.element_bytes == 8   ? DType::int64
                      : problem.element_bytes == 4 ? DType::int32
                      : problem.element_bytes == 2 ? DType::float16
                                                   : DType::int8;
  return Block{nullptr, problem.count, dtype}.part(index, problem.ranks, partition).bytes();
}

// The first part is the largest, and the chain of messages that carries it is the longest.
std::size_t largest_part_bytes(const Problem& problem, Partition partition) {
  return part_bytes(problem, 0, partition);
}

template <Partition partition>
double ring_allreduce_seconds(const Problem& problem, const CostModel& model) {
  const int hops = problem.ranks - 1;
  return chain_seconds(2 * hops, hops, largest_part_bytes(problem, partition), model);
}

std::size_t reduce_scatter_ring_bytes(const Problem& problem, int rank) {
  return problem.bytes() - part_bytes(problem, rank, Partition::balanced);
}

std::size_t allgather_ring_bytes(const Problem& problem, int rank) {
  return problem.bytes() - part_bytes(problem, rank + 1, Partition::balanced);
}

std::size_t allreduce_ring_bytes(const Problem& problem, int rank) {
  return reduce_scatter_ring_bytes(problem, rank) + allgather_ring_bytes(problem, rank);
}

std::size_t allreduce_ring_gloo_bytes(const Problem& problem, int rank) {
  return 2 * problem.bytes() - part_bytes(problem, rank, Partition::gloo) -
         part_bytes(problem, rank - 1, Partition::gloo);
}

int ring_steps(const Problem& problem) {
  return steps_unless_empty(problem, problem.ranks - 1);
}
int two_rings_steps(const Problem& problem) {
  return 2 * ring_steps(problem);
}

// Children of a rank in the binomial tree of broadcast_binomial: one for each round after its own.
int binomial_children(const Problem& problem, int rank) {
  const int v = (rank - problem.root + problem.ranks) % problem.ranks;
  if (v == 0) return ceil_log2(problem.ranks);
  const int first = floor_log2(v) + 1;
  const int within = problem.ranks - v;  // v + 2^k < N for 2^k < within
  return std::max(0, ceil_log2(within) - first);
}

std::size_t broadcast_binomial_bytes(const Problem& problem, int rank) {
  return static_cast<std::size_t>(binomial_children(problem, rank)) * problem.bytes();
}

std::size_t allreduce_tree_bytes(const Problem& problem, int rank) {
  return broadcast_binomial_bytes(problem, rank) + (rank == 0 ? 0 : problem.bytes());
}

int binomial_steps(const Problem& problem) {
  return steps_unless_empty(problem, ceil_log2(problem.ranks));
}

int recursive_doubling_steps(const Problem& problem) {
  const int rounds = floor_log2(problem.ranks);
  return steps_unless_empty(problem, rounds + ((1 << rounds) < problem.ranks ? 2 : 0));
}

std::size_t recursive_doubling_bytes(const Problem& problem, int rank) {
  const int rounds = floor_log2(problem.ranks);
  const int surplus = problem.ranks - (1 << rounds);
  const bool paired = rank < 2 * surplus;
  const int messages = paired && rank % 2 == 0 ? 1 : rounds + (paired ? 1 : 0);
  return static_cast<std::size_t>(messages) * problem.bytes();
}

double recursive_doubling_seconds(const Problem& problem, const CostModel& model) {
  const int rounds = floor_log2(problem.ranks);
  const bool has_surplus = (1 << rounds) < problem.ranks;
  return chain_seconds(rounds + (has_surplus ? 2 : 0), rounds + (has_surplus ? 1 : 0),
                       problem.bytes(), model);
}

std::size_t broadcast_linear_bytes(const Problem& problem, int rank) {
  return rank == problem.root ? static_cast<std::size_t>(problem.ranks - 1) * problem.bytes() : 0;
}

std::size_t allreduce_naive_bytes(const Problem& problem, int rank) {
  return rank == 0 ? static_cast<std::size_t>(problem.ranks - 1) * problem.bytes()
                   : problem.bytes();
}

constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 2005";
constexpr std::string_view patarasuk = "Patarasuk, Yuan, JPDC 2009";

constexpr std::array algorithms = {
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring",
        .full_name = "allreduce_ring",
        .execute = [](Channel& c, Block data, Op op, int) { allreduce_ring(c, data, op); },
        .steps = two_rings_steps,
        .bytes_sent = allreduce_ring_bytes,
        .seconds = ring_allreduce_seconds<Partition::balanced>,
        .steps_formula = "2(N-1)",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "2(N-1)a + 2(N-1)/N n b + (N-1)/N n g",
        .source = patarasuk,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "ring_gloo",
        .full_name = "allreduce_ring_gloo",
        .execute = [](Channel& c, Block data, Op op,
                      int) { allreduce_ring(c, data, op, gloo_ring_order); },
        .steps = two_rings_steps,
        .bytes_sent = allreduce_ring_gloo_bytes,
        .seconds = ring_allreduce_seconds<Partition::gloo>,
        .steps_formula = "2(N-1)",
        .bytes_formula = "2n, less two of gloo's chunks",
        .seconds_formula = "2(N-1)a + 2(N-1) c b + (N-1) c g, c bytes in gloo's first chunk",
        .source = "gloo/allreduce.cc, the order of its ring",
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "tree",
        .full_name = "allreduce_tree",
        .execute = [](Channel& c, Block data, Op op, int) { allreduce_tree(c, data, op); },
        .steps = [](const Problem& p) { return 2 * binomial_steps(p); },
        .bytes_sent =
            [](const Problem& p, int rank) {
              return allreduce_tree_bytes({p.ranks, p.count, p.element_bytes, 0}, rank);
            },
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(2 * ceil_log2(p.ranks), ceil_log2(p.ranks), p.bytes(), m);
            },
        .steps_formula = "2L",
        .bytes_formula = "L n",
        .seconds_formula = "2L a + 2L n b + L n g",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "recursive_doubling",
        .full_name = "allreduce_recursive_doubling",
        .execute = [](Channel& c, Block data, Op op,
                      int) { allreduce_recursive_doubling(c, data, op); },
        .steps = recursive_doubling_steps,
        .bytes_sent = recursive_doubling_bytes,
        .seconds = recursive_doubling_seconds,
        .steps_formula = "log2 N, or floor(log2 N) + 2",
        .bytes_formula = "log2 N n, or (floor(log2 N) + 1) n",
        .seconds_formula = "log2 N (a + n b + n g), or 2(a + n b) + n g more",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::allreduce,
        .name = "naive",
        .full_name = "allreduce_naive",
        .execute = [](Channel& c, Block data, Op op, int) { allreduce_naive(c, data, op); },
        .steps = two_rings_steps,
        .bytes_sent = allreduce_naive_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(2 * (p.ranks - 1), p.ranks - 1, p.bytes(), m);
            },
        .steps_formula = "2(N-1)",
        .bytes_formula = "(N-1) n",
        .seconds_formula = "2(N-1)a + 2(N-1) n b + (N-1) n g",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "binomial",
        .full_name = "broadcast_binomial",
        .execute = [](Channel& c, Block data, Op, int root) { broadcast_binomial(c, data, root); },
        .steps = binomial_steps,
        .bytes_sent = broadcast_binomial_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(ceil_log2(p.ranks), 0, p.bytes(), m);
            },
        .steps_formula = "L",
        .bytes_formula = "L n",
        .seconds_formula = "L a + L n b",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "linear",
        .full_name = "broadcast_linear",
        .execute = [](Channel& c, Block data, Op, int root) { broadcast_linear(c, data, root); },
        .steps = ring_steps,
        .bytes_sent = broadcast_linear_bytes,
        .seconds = [](const Problem& p,
                      const CostModel& m) { return chain_seconds(p.ranks - 1, 0, p.bytes(), m); },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1) n",
        .seconds_formula = "(N-1)a + (N-1) n b",
        .source = "the baseline",
    },
    Algorithm{
        .collective = Collective::allgather,
        .name = "ring",
        .full_name = "allgather_ring",
        .execute = [](Channel& c, Block data, Op, int) { allgather_ring(c, data); },
        .steps = ring_steps,
        .bytes_sent = allgather_ring_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, 0, largest_part_bytes(p, Partition::balanced), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n b",
        .source = patarasuk,
    },
    Algorithm{
        .collective = Collective::reduce_scatter,
        .name = "ring",
        .full_name = "reduce_scatter_ring",
        .execute = [](Channel& c, Block data, Op op, int) { reduce_scatter_ring(c, data, op); },
        .steps = ring_steps,
        .bytes_sent = reduce_scatter_ring_bytes,
        .seconds =
            [](const Problem& p, const CostModel& m) {
              return chain_seconds(p.ranks - 1, p.ranks - 1,
                                   largest_part_bytes(p, Partition::balanced), m);
            },
        .steps_formula = "N-1",
        .bytes_formula = "(N-1)/N n",
        .seconds_formula = "(N-1)a + (N-1)/N n b + (N-1)/N n g",
        .source = patarasuk,
    },
};

}  // namespace

std::span<const Collective> all_collectives() {
  return collectives;
}

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::allgather:
      return "allgather";
    case Collective::reduce_scatter:
      return "reduce_scatter";
  }
  return "unknown";
}

Collective parse_collective(std::string_view name) {
  std::vector<std::string_view> valid;
  for (const Collective collective : collectives) {
    if (name_of(collective) == name) return collective;
    valid.push_back(name_of(collective));
  }
  throw Error(ErrorKind::usage, fmt::format("unknown collective '{}', expected one of {}", name,
                                            fmt::join(valid, ", ")));
}

std::span<const Algorithm> catalogue() {
  return algorithms;
}

std::vector<const Algorithm*> algorithms_of(Collective collective) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.collective == collective) found.push_back(&algorithm);
  }
  return found;
}

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
  std::vector<std::string_view> valid;
  for (const Algorithm* algorithm : algorithms_of(collective)) {
    if (algorithm->name == name) return *algorithm;
    valid.push_back(algorithm->name);
  }
  throw Error(ErrorKind::usage, fmt::format("unknown algorithm '{}' for {}, expected one of {}",
                                            name, name_of(collective), fmt::join(valid, ", ")));
}

std::vector<const Algorithm*> parse_algorithms(Collective collective, std::string_view names) {
  if (names == "all") return algorithms_of(collective);
  std::vector<const Algorithm*> chosen;
  while (true) {
    const std::size_t comma = names.find(',');
    const Algorithm* algorithm = &find_algorithm(collective, names.substr(0, comma));
    if (std::find(chosen.begin(), chosen.end(), algorithm) == chosen.end()) {
      chosen.push_back(algorithm);
    }
    if (comma == std::string_view::npos) return chosen;
    names.remove_prefix(comma + 1);
  }
}

LowerBound lower_bound(Collective collective, const Problem& problem, const CostModel& model) {
  if (problem.ranks == 1 || problem.count == 0) return {};
  const double n = static_cast<double>(problem.bytes());
  const double share = n * (problem.ranks - 1) / problem.ranks;
  const double received = collective == Collective::allreduce   ? 2 * share
                          : collective == Collective::broadcast ? n
                                                                : share;
  const double reduced = reduces(collective) ? share : 0.0;
  return {ceil_log2(problem.ranks) * model.alpha_seconds,
          received * model.beta_seconds_per_byte + reduced * model.gamma_seconds_per_byte};
}

double bus_bandwidth_factor(Collective collective, int ranks) {
  if (ranks <= 1) return 0.0;
  const double share = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * share;
    case Collective::broadcast:
      return 1.0;
    case Collective::allgather:
    case Collective::reduce_scatter:
      return share;
  }
  return 0.0;
}

}  // namespace tutti
