#include "experiments/emulate.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "collectives/error.hpp"
#include "emulation/emulated_network.hpp"
#include "emulation/emulation_plan.hpp"
#include "emulation/probe.hpp"
#include "emulation/ranks.hpp"
#include "experiments/transport.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

// A link that is slower than the shape says by more than this is no emulation of it.
constexpr double refused_share = 0.8;
constexpr double doubtful_share = 0.95;
// A machine that does something else at the moment gets another chance.
constexpr int most_probes = 5;
constexpr double busy_share = 0.9;
// In less, the processors' times of 10 ms say little.
constexpr double shortest_judged_ticks = 100.0;

void say(std::string_view text) {
  std::fprintf(stderr, "tutti: %s\n", shorten_words(text).c_str());
}

// The route of two ranks, and what the shape says of it.
struct Pair {
  int from = 0;
  int to = 0;
  std::size_t links = 0;
  double latency_seconds = 0.0;
  double bandwidth_bytes_per_second = 0.0;
};

std::vector<Pair> pairs_between_hosts(const Shape& shape, const EmulationPlan& plan) {
  std::vector<Pair> pairs;
  for (int from = 0; from < plan.ranks(); ++from) {
    for (int to = 0; to < plan.ranks(); ++to) {
      if (shape.host_of(from) == shape.host_of(to)) continue;
      const Route route = shape.route_of_ranks(from, to);
      pairs.push_back({from, to, route.size(), shape.latency_seconds(route),
                       shape.bandwidth_bytes_per_second(route)});
    }
  }
  return pairs;
}

void judge(const Pair& pair, const ProbeResult& found) {
  const double share = found.bandwidth_bytes_per_second / pair.bandwidth_bytes_per_second;
  const std::string text = fmt::format(
      "rank {} to rank {}: {:.1f} us, {:.4g} MB/s of payload (in the topology {:.1f} us, {:.4g} "
      "MB/s)",
      pair.from, pair.to, found.latency_seconds * 1e6, found.bandwidth_bytes_per_second * 1e-6,
      pair.latency_seconds * 1e6, pair.bandwidth_bytes_per_second * 1e-6);
  if (share < refused_share) {
    throw Error(ErrorKind::system,
                fmt::format("the links are faster than this machine can emulate: {}; slow them "
                            "down with --set, or try a larger --mtu",
                            text));
  }
  say(text);
  if (share < doubtful_share) {
    warn(
        fmt::format("the link is {:.0f} % slower than the topology says: this machine hardly keeps "
                    "up",
                    (1.0 - share) * 100.0));
  }
  if (found.latency_seconds < pair.latency_seconds) {
    warn(fmt::format("latency is not emulated: a message is {:.1f} us earlier than on the topology",
                     (pair.latency_seconds - found.latency_seconds) * 1e6));
  }
}

ProbeResult best_probe(const EmulatedNetwork& network, const Pair& pair) {
  const std::vector<int>& nodes = network.plan().node_of_rank;
  ProbeResult best;
  for (int attempt = 0; attempt < most_probes; ++attempt) {
    const ProbeResult found =
        probe(network, nodes[static_cast<std::size_t>(pair.from)],
              nodes[static_cast<std::size_t>(pair.to)], pair.bandwidth_bytes_per_second);
    if (found.bandwidth_bytes_per_second > best.bandwidth_bytes_per_second) best = found;
    if (best.bandwidth_bytes_per_second >= doubtful_share * pair.bandwidth_bytes_per_second) break;
  }
  return best;
}

// The pair that asks most of the machine, and the one with the longest route.
void probe_pairs(const EmulatedNetwork& network, const Shape& shape) {
  const std::vector<Pair> pairs = pairs_between_hosts(shape, network.plan());
  if (pairs.empty()) return;
  const Pair fastest =
      *std::max_element(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
        return std::pair(a.bandwidth_bytes_per_second, a.links) <
               std::pair(b.bandwidth_bytes_per_second, b.links);
      });
  const Pair longest = *std::max_element(
      pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.links < b.links; });
  const auto try_pair = [&](const Pair& pair) { judge(pair, best_probe(network, pair)); };
  try_pair(fastest);
  if (longest.links > fastest.links) try_pair(longest);
}

struct ProcessorTime {
  double busy = 0.0;
  double all = 0.0;
};

// Since the machine's start; empty where it does not tell.
std::optional<ProcessorTime> processor_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  ProcessorTime time;
  // user, nice, system, idle, iowait, irq, softirq, steal
  constexpr int fields = 8, idle = 3, waiting = 4;
  for (int field = 0; field < fields; ++field) {
    double ticks = 0.0;
    file >> ticks;
    time.all += ticks;
    if (field != idle && field != waiting) time.busy += ticks;
  }
  if (!file) return std::nullopt;
  return time;
}

void warn_if_busy(const std::optional<ProcessorTime>& begin) {
  const std::optional<ProcessorTime> end = processor_time();
  if (!begin || !end || end->all - begin->all < shortest_judged_ticks) return;
  const double share = (end->busy - begin->busy) / (end->all - begin->all);
  if (share < busy_share) return;
  warn(
      fmt::format("the processors were busy for {:.0f} % of the time: what was measured may be "
                  "theirs and not the network's; try fewer ranks or slower links",
                  share * 100.0));
}

std::vector<std::string> command_of(const EmulateFlags& flags) {
  if (flags.is_program) return flags.command;
  std::error_code failure;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  if (failure) {
    throw Error(ErrorKind::system,
                fmt::format("cannot find this program's file: {}", failure.message()));
  }
  std::vector<std::string> command = {self, "rank"};
  command.insert(command.end(), flags.command.begin(), flags.command.end());
  return command;
}

}  // namespace

int emulate(const EmulateFlags& flags, Output& output) {
  const Shape shape = load_topology(flags.topology, flags.changes, PlatformUse::imported);
  const int ranks = flags.ranks == 0 ? shape.size() : flags.ranks;
  if (ranks > most_real_ranks) {
    throw Error(ErrorKind::usage, fmt::format("{} ranks are too many processes for one machine, at "
                                              "most {}; use --ranks",
                                              ranks, most_real_ranks));
  }
  const EmulationPlan plan = plan_emulation(shape, {.ranks = ranks, .mtu_bytes = flags.mtu_bytes});
  if (flags.plan_only) {
    std::string text = to_text(plan);
    text.pop_back();
    output.line(text);
    return 0;
  }
  if (flags.command.empty()) {
    throw Error(ErrorKind::usage,
                "no command to run; give one after --, such as '-- bench allreduce'");
  }
  const EmulatedNetwork network(plan);
  say(fmt::format("{}: {} on {} and {}, MTU {}", plan.title, counted(ranks, "rank"),
                  counted(static_cast<long long>(plan.nodes.size()), "namespace"),
                  counted(static_cast<long long>(plan.cables.size()), "cable"), plan.mtu_bytes));
  for (const std::string& omission : plan.omissions) say(omission);
  probe_pairs(network, shape);
  const std::optional<ProcessorTime> begin = processor_time();
  const RanksOutcome outcome = run_ranks(network, command_of(flags));
  for (const std::string& note : outcome.notes) say(note);
  warn_if_busy(begin);
  return outcome.exit_code;
}

}  // namespace tutti
