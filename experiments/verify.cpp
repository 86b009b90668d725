#include "experiments/verify.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "collectives/group_world.hpp"
#include "collectives/run.hpp"
#include "exec/gloo_reference.hpp"
#include "experiments/trace_file.hpp"
#include "experiments/transport.hpp"
#include "experiments/verify_cases.hpp"

namespace tutti {

const char* const verify_help =
    R"(Columns of the rows, and their keys in JSON:
  exact             integer-valued data, for sum, product, min, max: bytes equal to the reference's
  gloo_bytes_equal  random data, sum: bytes equal to gloo's. Required for data movement, integers,
                    two ranks, and the gloo-ordered ring (ring_gloo) at any number of ranks; null
                    where gloo was not the reference
  max_error, bound  random data: the deviation from the reference of the element nearest to its
                    bound, and that bound, (N-1) eps sum|x|; 0 and 0 for data movement
  pass              exact, all ranks with the same bytes, and either equal to the reference or
                    within the bound
The reference is libtorch's c10d over gloo, in processes of their own; for what gloo lacks
(bfloat16, builds without libtorch) it is a serial fold from rank 0 up. A barrier moves no data and
has no reference: its ranks enter late, one after the other, and none may leave before the late one
has entered. Algorithms that do not support the number of ranks or the tuning have no row; a comment
names them and what they support.

The second table: bytes that each rank of a ring allreduce really sent, beside 2(N-1)T/N: equal
where N divides the count, else within one element for each of the 2(N-1) parts.

With --members 3,1,2 all of this happens among these ranks, in that order, and the others are idle.
With --counts 3,0,5,2 each rank has a part of so many elements: only the v-forms of allgather,
reduce_scatter, gather, scatter and alltoall (in which rank i sends the ((i + j) mod N)-th count,
from 0, to rank j) are checked, against the serial fold; those that need equal parts are left out.

JSON is one object: ranks, transport, seed, counts (alltoall rounds them up to equal parts), rows
(collective, algorithm, ranks, dtype, exact, gloo_bytes_equal, max_error, bound, ranks_agree,
reference, pass), left_out (collective, algorithm, supported), counters (algorithm, ranks, rank,
count, dtype, bytes_sent, bytes_received, expected_bytes, difference_elements, pass), pass; and
members and part_counts, where given.)";

namespace {

struct VerifyRow {
  const Algorithm* algorithm = nullptr;
  int ranks = 1;
  DType dtype = DType::float32;
  bool has_gloo = false;
  Deviation integers;
  Deviation random;

  bool ranks_agree() const { return integers.ranks_agree && random.ranks_agree; }

  bool is_barrier() const { return algorithm->collective == Collective::barrier; }
  bool is_against_gloo() const { return has_gloo && !is_barrier(); }
  const char* reference() const {
    return is_barrier() ? "none" : is_against_gloo() ? "gloo" : "serial";
  }

  // gloo folds in its own order, which matters to rounding only, and not between two ranks.
  bool needs_equal_bytes() const {
    const bool in_gloo_order = has_gloo && algorithm->name == "ring_gloo";
    return !reduces(algorithm->collective) || !is_floating(dtype) || ranks <= 2 || in_gloo_order;
  }

  bool passes() const {
    const bool close = random.bytes_equal || (!needs_equal_bytes() && random.within_bound);
    return integers.bytes_equal && close && ranks_agree();
  }
};

struct Counter {
  const Algorithm* algorithm = nullptr;
  int rank = 0;
  Problem problem;
  DType dtype = DType::float32;
  Traffic traffic;

  double expected_bytes() const {
    return 2.0 * (problem.ranks - 1) * static_cast<double>(problem.bytes()) / problem.ranks;
  }

  double difference_elements() const {
    return (static_cast<double>(traffic.bytes_sent) - expected_bytes()) /
           static_cast<double>(problem.element_bytes);
  }

  bool passes() const {
    const bool divides = problem.count % static_cast<std::size_t>(problem.ranks) == 0;
    const double allowed = divides ? 0.0 : 2.0 * (problem.ranks - 1);
    return traffic.bytes_sent == algorithm->bytes_sent(problem, rank) &&
           std::abs(difference_elements()) <= allowed;
  }
};

std::vector<DType> parse_dtypes(const std::string& names) {
  if (names == "all") return {all_dtypes().begin(), all_dtypes().end()};
  std::vector<DType> dtypes;
  std::istringstream stream(names);
  for (std::string name; std::getline(stream, name, ',');) dtypes.push_back(parse_dtype(name));
  if (dtypes.empty()) dtypes.push_back(parse_dtype(names));
  return dtypes;
}

// One rank after the other enters late. Whether nobody left before it came.
bool holds_back(World& world, const Algorithm& barrier, const Tuning& tuning,
                const TraceFile& trace) {
  constexpr double late_seconds = 1e-3;
  const auto size = static_cast<std::size_t>(world.size());
  std::byte* const entered = world.allocate(size);
  std::byte* const seen = world.allocate(size * size);
  world.run([&](Rank& rank) {
    TracedRank traced(rank.channel(), trace);
    const auto index = static_cast<std::size_t>(rank.index());
    for (std::size_t late = 0; late < size; ++late) {
      if (index == late) {
        // Late by either clock, the simulated or the wall's.
        rank.channel().charge({Work::Kind::compute, late_seconds, {}, {}});
        std::this_thread::sleep_for(std::chrono::duration<double>(late_seconds));
        entered[late] = std::byte{1};
      }
      run(barrier, traced.channel(), {.tuning = tuning});
      seen[index * size + late] = entered[late];
    }
  });
  return std::count(seen, seen + size * size, std::byte{1}) == std::ptrdiff_t(size * size);
}

Arguments arguments_of(const Case& one, int rank, Block block, const Tuning& tuning) {
  Arguments arguments{.output = block,
                      .op = one.op,
                      .root = one.root,
                      .tuning = tuning,
                      .counts = one.division().counts_of(rank)};
  if (one.collective == Collective::alltoall) arguments.source_counts = arguments.counts;
  return arguments;
}

// Runs the cases of `row`'s algorithm and writes down how far it is off. Ranks may wait
// `limit_seconds` for each case.
void verify_algorithm(World& world, const Tuning& tuning, const std::vector<Case>& cases,
                      const TraceFile& trace, double limit_seconds, VerifyRow& row) {
  const Algorithm& algorithm = *row.algorithm;
  if (row.is_barrier()) {
    row.integers.bytes_equal = holds_back(world, algorithm, tuning, trace);
    return;
  }
  world.run([&](Rank& rank) {
    TracedRank traced(rank.channel(), trace);
    for (const Case& one : cases) {
      if (!one.is_for(algorithm)) continue;
      const Block block = one.found[static_cast<std::size_t>(rank.index())];
      one.fill(rank.index(), block);
      rank.channel().set_deadline(rank.channel().now() + limit_seconds);
      run(algorithm, traced.channel(), arguments_of(one, rank.index(), block, tuning));
    }
  });
  for (const Case& one : cases) {
    if (one.is_for(algorithm)) (one.is_random() ? row.random : row.integers).merge(compare(one));
  }
}

// What each rank sends in a ring allreduce of a count that N divides, and of one that it does not.
std::vector<Counter> count_bytes(World& world, const Algorithm& algorithm, DType dtype) {
  const auto size = static_cast<std::size_t>(world.size());
  auto* const traffic = reinterpret_cast<Traffic*>(world.allocate(size * sizeof(Traffic)));
  std::vector<Counter> counters;
  for (const std::size_t count : {size * 65'536, size * 65'536 + 1}) {
    std::vector<Block> blocks;
    for (std::size_t rank = 0; rank < size; ++rank) {
      blocks.push_back(world.allocate_block(count, dtype));
    }
    world.run([&](Rank& rank) {
      const auto index = static_cast<std::size_t>(rank.index());
      Traced traced(rank.channel());
      run(algorithm, traced, blocks[index]);
      traffic[index] = traced.total();
    });
    for (int rank = 0; rank < world.size(); ++rank) {
      counters.push_back({&algorithm, rank, Problem{world.size(), count, bytes_of(dtype), 0}, dtype,
                          traffic[rank]});
    }
  }
  return counters;
}

struct Report {
  std::vector<VerifyRow> rows;
  std::vector<const Algorithm*> left_out;
  std::vector<Counter> counters;

  bool passes() const {
    for (const VerifyRow& row : rows) {
      if (!row.passes()) return false;
    }
    for (const Counter& counter : counters) {
      if (!counter.passes()) return false;
    }
    return true;
  }
};

std::vector<Collective> collectives_of(std::span<const Algorithm> algorithms) {
  std::set<Collective> found;
  for (const Algorithm& algorithm : algorithms) found.insert(algorithm.collective);
  return {found.begin(), found.end()};
}

// The flags name levels for all collectives at once: what one does not know is for another.
std::optional<Tuning> tuning_for(const Algorithm& algorithm, const VerifyFlags& flags) {
  if (!algorithm.has_levels()) return flags.tuning;
  try {
    return with_levels(flags.tuning, algorithm.collective, flags.levels);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// How many take part.
int size_of(const VerifyFlags& flags) {
  return flags.members.empty() ? flags.ranks : static_cast<int>(flags.members.size());
}

bool is_supported(const Algorithm& algorithm, const VerifyFlags& flags) {
  const std::optional<Tuning> tuning = tuning_for(algorithm, flags);
  if (!tuning) return false;
  if (!flags.part_counts.empty()) return supports_counts(algorithm, flags.part_counts, *tuning);
  // Of any count that the ranks divide, as alltoall needs.
  const int ranks = size_of(flags);
  return algorithm.supports(
      {.ranks = ranks, .count = static_cast<std::size_t>(ranks), .tuning = *tuning});
}

// A world of ranks, and those of them that take part.
struct Ranks {
  Ranks(const VerifyFlags& flags, Transport transport)
      : all(make_world(transport, flags.ranks, flags.world)),
        world(among(*all, flags.members, group)) {}

  std::unique_ptr<World> all;
  std::optional<GroupWorld> group;
  World& world;
};

// Names that no collective knows are a mistake.
void check_levels(std::span<const Algorithm> algorithms, const VerifyFlags& flags) {
  const bool is_known = std::any_of(
      algorithms.begin(), algorithms.end(),
      [&](const Algorithm& each) { return each.has_levels() && tuning_for(each, flags); });
  if (!is_known) with_levels(flags.tuning, Collective::allreduce, flags.levels);
}

std::vector<const Algorithm*> left_out_of(std::span<const Algorithm> algorithms,
                                          const VerifyFlags& flags) {
  std::vector<const Algorithm*> left_out;
  for (const Algorithm& algorithm : algorithms) {
    if (!is_supported(algorithm, flags)) left_out.push_back(&algorithm);
  }
  return left_out;
}

// Memory is short most likely where the reference's inputs and results are.
std::vector<Case> make_cases_or_explain(World& world, const std::vector<Collective>& collectives,
                                        const VerifyFlags& flags, DType dtype, bool use_gloo,
                                        double timeout_seconds) {
  try {
    return make_cases(world, collectives, flags.part_counts, dtype, flags.seed, use_gloo,
                      timeout_seconds);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::system,
                fmt::format("cannot allocate memory for the reference's data: {} among {}",
                            name_of(dtype), counted(world.size(), "rank")));
  }
}

using OnRow = std::function<void(const VerifyRow&)>;

Report examine(const VerifyFlags& flags, Transport transport, const std::vector<DType>& dtypes,
               std::span<const Algorithm> algorithms, const OnRow& on_row) {
  // Real ranks have a limit of their own, for each wait.
  const bool is_simulated = transport == Transport::sim;
  const double limit_seconds = is_simulated ? flags.world.timeout_seconds : no_deadline;
  // Simulated time is not gloo's.
  const double gloo_seconds =
      is_simulated ? WorldFlags{}.timeout_seconds : flags.world.timeout_seconds;
  TraceFile trace("");
  Report report;
  report.left_out = left_out_of(algorithms, flags);
  StatusLine status;
  for (const DType dtype : dtypes) {
    const bool use_gloo = gloo_available() && gloo_supports(dtype) && flags.part_counts.empty();
    const Ranks ranks(flags, transport);
    status.show(fmt::format("{}: computing the reference", name_of(dtype)));
    const std::vector<Case> cases = make_cases_or_explain(ranks.world, collectives_of(algorithms),
                                                          flags, dtype, use_gloo, gloo_seconds);
    if (!trace.is_open()) trace.open(flags.trace);
    for (const Algorithm& algorithm : algorithms) {
      if (!is_supported(algorithm, flags)) continue;
      status.show(fmt::format("{}: checking {}", name_of(dtype), algorithm.full_name));
      report.rows.push_back({&algorithm, size_of(flags), dtype, use_gloo, {}, {}});
      verify_algorithm(ranks.world, *tuning_for(algorithm, flags), cases, trace, limit_seconds,
                       report.rows.back());
      status.clear();
      on_row(report.rows.back());
    }
  }
  const Ranks ranks(flags, transport);
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.collective != Collective::allreduce || algorithm.name != "ring") continue;
    report.counters = count_bytes(ranks.world, algorithm, dtypes.front());
  }
  return report;
}

Json to_json(const VerifyRow& row) {
  return {
      {"collective", name_of(row.algorithm->collective)},
      {"algorithm", row.algorithm->name},
      {"ranks", row.ranks},
      {"dtype", name_of(row.dtype)},
      {"exact", row.integers.bytes_equal},
      {"gloo_bytes_equal", row.is_against_gloo() ? Json(row.random.bytes_equal) : Json(nullptr)},
      {"max_error", row.random.error},
      {"bound", row.random.bound},
      {"ranks_agree", row.ranks_agree()},
      {"reference", row.reference()},
      {"pass", row.passes()},
  };
}

Json to_json(const Counter& counter) {
  return {
      {"algorithm", counter.algorithm->full_name},
      {"ranks", counter.problem.ranks},
      {"rank", counter.rank},
      {"count", counter.problem.count},
      {"dtype", name_of(counter.dtype)},
      {"bytes_sent", counter.traffic.bytes_sent},
      {"bytes_received", counter.traffic.bytes_received},
      {"expected_bytes", counter.expected_bytes()},
      {"difference_elements", counter.difference_elements()},
      {"pass", counter.passes()},
  };
}

void print_json(const VerifyFlags& flags, const Report& report, Output& output) {
  Json json = {{"ranks", size_of(flags)},   {"transport", flags.transport},
               {"seed", flags.seed},        {"counts", verify_counts(flags.part_counts)},
               {"rows", Json::array()},     {"left_out", Json::array()},
               {"counters", Json::array()}, {"pass", report.passes()}};
  if (!flags.members.empty()) json["members"] = flags.members;
  if (!flags.part_counts.empty()) json["part_counts"] = flags.part_counts;
  for (const VerifyRow& row : report.rows) json["rows"].push_back(to_json(row));
  for (const Algorithm* algorithm : report.left_out) {
    json["left_out"].push_back({{"collective", name_of(algorithm->collective)},
                                {"algorithm", algorithm->name},
                                {"supported", algorithm->supported}});
  }
  for (const Counter& counter : report.counters) json["counters"].push_back(to_json(counter));
  output.line(json.dump(2));
}

const char* yes_or_no(bool value) {
  return value ? "yes" : "no";
}
const char* verdict(bool passes) {
  return passes ? "PASS" : "FAIL";
}

constexpr auto layout = "{:<14} {:<26} {:<8} {:>9} {:>5} {:>10} {:>9} {:>9}  {}";

void print_header(const VerifyFlags& flags, std::span<const Algorithm> algorithms, Output& output) {
  output.print("# tutti verify: {}, transport {}, seed {}, elements {}",
               counted(size_of(flags), "rank"), flags.transport, flags.seed,
               fmt::join(verify_counts(flags.part_counts), " "));
  if (!flags.members.empty()) {
    output.print("# among ranks {} of {}", fmt::join(flags.members, " "), flags.ranks);
  }
  if (!flags.part_counts.empty()) {
    output.print("# v-forms only, with counts {}; gloo has none: the reference is a serial fold",
                 fmt::join(flags.part_counts, " "));
  }
  output.line("# exact: integer-valued data, sum product min max; the rest: random data, sum");
  if (!gloo_available()) {
    output.line("# this build has no libtorch: the reference is a serial fold, not gloo");
  }
  const std::string left_out =
      describe_left_out(left_out_of(algorithms, flags), size_of(flags), !flags.part_counts.empty());
  if (!left_out.empty()) output.print("# {}", left_out);
  output.print(layout, "collective", "algorithm", "dtype", "reference", "exact", "gloo bytes",
               "max error", "bound", "result");
}

void print_row(const VerifyRow& row, Output& output) {
  output.print(layout, name_of(row.algorithm->collective), row.algorithm->name, name_of(row.dtype),
               row.reference(), yes_or_no(row.integers.bytes_equal),
               row.is_against_gloo() ? yes_or_no(row.random.bytes_equal) : "n/a",
               fmt::format("{:.2g}", row.random.error), fmt::format("{:.2g}", row.random.bound),
               verdict(row.passes()));
}

void print_rest(const Report& report, Output& output) {
  if (!report.counters.empty()) {
    output.line("");
    output.line("# bytes that each rank of a ring allreduce sent, counted, beside 2(N-1)T/N");
    constexpr auto columns = "{:>4} {:>10} {:>8} {:>12} {:>14} {:>22}  {}";
    output.print(columns, "rank", "elements", "dtype", "bytes sent", "2(N-1)T/N",
                 "difference (elements)", "result");
    for (const Counter& counter : report.counters) {
      output.print(columns, counter.rank, counter.problem.count, name_of(counter.dtype),
                   counter.traffic.bytes_sent, fmt::format("{:.1f}", counter.expected_bytes()),
                   fmt::format("{:.2f}", counter.difference_elements()), verdict(counter.passes()));
    }
  }
  output.print("# {}", report.passes() ? "all rows pass" : "FAILED");
}

// Counts make a difference where the buffer has parts.
std::vector<Algorithm> examined(std::span<const Algorithm> algorithms, const VerifyFlags& flags) {
  std::vector<Algorithm> chosen;
  for (const Algorithm& algorithm : algorithms) {
    if (flags.part_counts.empty() || has_parts(algorithm.collective)) chosen.push_back(algorithm);
  }
  return chosen;
}

}  // namespace

bool verify(const VerifyFlags& flags, Output& output, std::span<const Algorithm> given) {
  check_not_joined("verify");
  check_ranks(flags.ranks, most_real_ranks);
  check_counts(flags.part_counts, check_members(flags.members, flags.ranks));
  const std::vector<Algorithm> algorithms = examined(given, flags);
  const Transport transport =
      parse_transport(flags.transport, {Transport::shm, Transport::tcp, Transport::sim});
  const std::vector<DType> dtypes = parse_dtypes(flags.dtype);
  if (!flags.levels.empty()) check_levels(algorithms, flags);
  if (!flags.json) print_header(flags, algorithms, output);
  const Report report = examine(flags, transport, dtypes, algorithms, [&](const VerifyRow& row) {
    if (!flags.json) print_row(row, output);
  });
  if (flags.json) {
    print_json(flags, report, output);
  } else {
    print_rest(report, output);
  }
  return report.passes();
}

}  // namespace tutti
