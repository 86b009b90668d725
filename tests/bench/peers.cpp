// Tutti against what else runs collectives on one machine: Open MPI, MPICH and gloo, and against a
// bare probe of the memory. See --help.
#include <fmt/format.h>
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectives/bruck.hpp"
#include "collectives/run.hpp"
#include "exec/fork_world.hpp"
#include "exec/gloo_reference.hpp"
#include "experiments/choosing.hpp"
#include "experiments/sizes.hpp"
#include "experiments/tune.hpp"
#include "peers_probe.hpp"

namespace {

using namespace tutti;

constexpr const char* help =
    R"(Times collectives of float32 in place: tutti (each algorithm with its best tuning, and what
auto takes), Open MPI (default, and with coll/sm), MPICH, gloo and a bare probe of mapped memory.
All but gloo: loops of back-to-back calls on one buffer of zeros, a sample is the slowest rank's
time a call; gloo: the slowest rank's time of single calls between barriers. Each round starts all
anew, one after the other; the figures are medians over all loops of all rounds. Where each rank has
a core, the MPIs, tutti and the probe bind ranks to cores; where ranks share cores, they yield when
idle. Sizes are of the whole buffer, for allgather and reduce_scatter rounded up to a multiple of
the ranks' elements.)";

struct Options {
  std::vector<std::string> sizes = {"4", "64", "1K", "8K", "64K", "512K", "1M", "16M", "64M"};
  std::vector<int> ranks = {2, 4, 8};
  std::vector<std::string> collectives = {"allreduce", "broadcast", "allgather", "reduce_scatter"};
  std::vector<std::string> peers = {"probe", "openmpi", "openmpi_sm", "mpich", "gloo"};
  int rounds = 3;
  int loops = 3;
  bool quick = false;
  bool all_algorithms = false;
  bool fastest = false;
  bool pins = true;
  std::string json;
};

struct Case {
  Collective collective;
  int ranks;
  std::vector<std::size_t> sizes;  // Bytes.
};

using Samples = std::vector<double>;
using ByContender = std::map<std::string, Samples>;
using Results = std::map<std::size_t, ByContender>;  // By size.

double figure_of(Samples samples, bool fastest) {
  if (samples.empty()) return std::nan("");
  if (fastest) return *std::min_element(samples.begin(), samples.end());
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// So many calls that a loop takes some milliseconds, for all the same.
int iterations_of(std::size_t bytes, int ranks, bool quick) {
  const double most = (ranks <= available_cores() ? 3000.0 : 300.0) / (quick ? 3 : 1);
  const double wanted = 1e8 / (static_cast<double>(bytes) * ranks) / (quick ? 3 : 1);
  return static_cast<int>(std::clamp(wanted, 3.0, most));
}

// Runs `call` in loops on all ranks; each loop's time a call, of the slowest rank.
using Call = std::function<void(Rank&)>;
void time_loops(Rank& rank, const Call& call, int loops, int iterations, double* seconds) {
  for (int loop = -1; loop < loops; ++loop) {
    const int count = loop < 0 ? (iterations + 9) / 10 : iterations;
    barrier_dissemination(rank.channel());
    const double start = rank.channel().now();
    for (int i = 0; i < count; ++i) call(rank);
    const double taken = (rank.channel().now() - start) / count;
    if (loop >= 0) seconds[loop * rank.size() + rank.index()] = taken;
  }
}

class Ours {
 public:
  Ours(const Case& what, const Options& options)
      : what_(what),
        options_(options),
        world_(what.ranks, {.pins = options.pins}),
        stride_bytes_(*std::max_element(what.sizes.begin(), what.sizes.end()) + 4096 + 128),
        data_(world_.allocate(stride_bytes_ * static_cast<std::size_t>(what.ranks))),
        shared_(world_.allocate(Probe::bytes_for(what.ranks))),
        seconds_(reinterpret_cast<double*>(world_.allocate(
            sizeof(double) * static_cast<std::size_t>(what.ranks * options.loops)))),
        profile_(measure_profile(world_, DType::float32, Op::sum, what.sizes.back())) {}

  const CostProfile& profile() const { return profile_; }

  /// What auto takes: tuned, as `tutti bench` does, but with the loops of this program.
  const Choice& choice(std::size_t bytes) {
    const auto found = choices_.find(bytes);
    if (found != choices_.end()) return found->second;
    Choice choice = choose(what_.collective, {.ranks = what_.ranks, .count = bytes / 4}, profile_);
    tune(choice, [&](std::span<const Candidate> candidates) {
      std::vector<double> seconds;
      for (const Candidate& candidate : candidates) {
        Samples samples;
        measure(bytes, samples, [&](Rank& rank) { return call_of(rank, bytes, candidate); });
        seconds.push_back(figure_of(std::move(samples), options_.fastest));
      }
      return seconds;
    });
    return choices_.emplace(bytes, std::move(choice)).first->second;
  }

  /// Times all candidates but those that were hopeless in earlier rounds.
  void run(Results& results) {
    for (const std::size_t bytes : what_.sizes) {
      const Choice& best = choice(bytes);
      ByContender& of_size = results[bytes];
      double fastest = INFINITY;
      for (const auto& [name, samples] : of_size) {
        if (name.starts_with("tutti ")) fastest = std::min(fastest, figure_of(samples, true));
      }
      for (const Candidate& candidate : best.candidates) {
        const std::string name = "tutti " + describe(*candidate.algorithm, candidate.tuning);
        const bool is_auto = candidate.algorithm == best.chosen.algorithm;
        const bool hopeless =
            !is_auto && !of_size[name].empty() && figure_of(of_size[name], true) > 1.5 * fastest;
        if (hopeless && !options_.all_algorithms) continue;
        measure(bytes, of_size[name], [&](Rank& rank) { return call_of(rank, bytes, candidate); });
      }
    }
  }

  void run_probe(Results& results) {
    const bool shares_cores = what_.ranks > available_cores();  // Of all, not one that pins.
    for (const std::size_t bytes : what_.sizes) {
      measure(bytes, results[bytes]["probe"], [&](Rank& rank) -> Call {
        const auto probe = std::make_shared<Probe>(rank.index(), rank.size(), shared_, data_,
                                                   stride_bytes_, shares_cores);
        return [=, this](Rank&) { probe->run(what_.collective, bytes / 4); };
      });
    }
  }

 private:
  std::byte* data_of(int rank) const {
    return data_ + static_cast<std::size_t>(rank) * stride_bytes_;
  }

  Call call_of(Rank& rank, std::size_t bytes, const Candidate& candidate) const {
    const Arguments arguments{
        .output = {data_of(rank.index()), bytes / 4, DType::float32},
        .tuning = candidate.tuning,
    };
    return [arguments, &candidate](Rank& self) {
      tutti::run(*candidate.algorithm, self.channel(), arguments);
    };
  }

  void measure(std::size_t bytes, Samples& samples, const std::function<Call(Rank&)>& make_call) {
    world_.run([&](Rank& rank) {
      std::memset(data_of(rank.index()), 0, bytes);
      time_loops(rank, make_call(rank), options_.loops,
                 iterations_of(bytes, what_.ranks, options_.quick), seconds_);
    });
    for (int loop = 0; loop < options_.loops; ++loop) {
      const double* const of_loop = seconds_ + loop * what_.ranks;
      samples.push_back(*std::max_element(of_loop, of_loop + what_.ranks));
    }
  }

  const Case& what_;
  const Options& options_;
  ForkWorld world_;
  const std::size_t stride_bytes_;
  std::byte* const data_;
  std::byte* const shared_;
  double* const seconds_;
  CostProfile profile_;
  std::map<std::size_t, Choice> choices_;
};

// The command that starts a peer's program, or "" where it was not built.
std::string launcher_of(const std::string& peer, int ranks) {
  const bool shares_cores = ranks > available_cores();
  if (peer.starts_with("openmpi")) {
    if (std::strlen(PEERS_OPENMPI) == 0) return "";
    std::string command = fmt::format("{} --allow-run-as-root --oversubscribe -n {} --bind-to {}",
                                      PEERS_MPIRUN_OPENMPI, ranks, shares_cores ? "none" : "core");
    if (shares_cores) command += " --mca mpi_yield_when_idle 1";
    if (peer == "openmpi_sm") command += " --mca coll_sm_priority 100";
    return command + " " + PEERS_OPENMPI;
  }
  if (std::strlen(PEERS_MPICH) == 0) return "";
  return fmt::format("{} -n {} {}{}", PEERS_MPIRUN_MPICH, ranks,
                     shares_cores ? "" : "-bind-to core ", PEERS_MPICH);
}

// False where it could not be run.
bool run_mpi(const std::string& peer, const Case& what, const Options& options, Results& results) {
  std::string command = launcher_of(peer, what.ranks);
  if (command.empty()) return false;
  command += fmt::format(" {} {}", name_of(what.collective), options.loops);
  for (const std::size_t bytes : what.sizes) {
    command += fmt::format(" {}:{}", bytes, iterations_of(bytes, what.ranks, options.quick));
  }
  FILE* const pipe = popen((command + " 2>/dev/null </dev/null").c_str(), "r");
  if (pipe == nullptr) return false;
  std::size_t bytes = 0;
  double seconds = 0.0;
  std::array<char, 200> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
    if (std::sscanf(line.data(), "%zu %lf", &bytes, &seconds) == 2) {
      results[bytes][peer].push_back(seconds);
    }
  }
  return pclose(pipe) == 0;
}

bool run_gloo(const Case& what, const Options& options, Results& results) {
  if (!gloo_available()) return false;
  SharedArena arena;
  const auto ranks = static_cast<std::size_t>(what.ranks);
  std::byte* const data = arena.allocate(ranks * what.sizes.back());
  for (const std::size_t bytes : what.sizes) {
    GlooCase gloo_case{.collective = what.collective, .data = {}};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      gloo_case.data.push_back({data + rank * what.sizes.back(), bytes / 4, DType::float32});
    }
    const int iterations = std::min(30, iterations_of(bytes, what.ranks, options.quick));
    for (const double seconds : time_gloo(what.ranks, gloo_case, 2, iterations)) {
      results[bytes]["gloo"].push_back(seconds);
    }
  }
  return true;
}

struct Line {
  std::size_t bytes;
  std::string best, chosen;
  double best_seconds, auto_seconds;
  std::map<std::string, double> peers;
};

Line summarise(std::size_t bytes, const ByContender& contenders, const Candidate& chosen,
               bool fastest) {
  Line line{bytes, "", describe(*chosen.algorithm, chosen.tuning), INFINITY, NAN, {}};
  for (const auto& [name, samples] : contenders) {
    const double seconds = figure_of(samples, fastest);
    if (!name.starts_with("tutti ")) {
      line.peers[name] = seconds;
      continue;
    }
    const std::string algorithm = name.substr(6);
    if (algorithm == line.chosen) line.auto_seconds = seconds;
    if (seconds >= line.best_seconds) continue;
    line.best_seconds = seconds;
    line.best = algorithm;
  }
  return line;
}

void print_heading(const Case& what, const std::vector<std::string>& peers,
                   const CostProfile& profile, bool fastest) {
  fmt::print("# {} of float32 among {} ranks on {} cores; auto: {}\n", name_of(what.collective),
             what.ranks, available_cores(), describe(profile));
  fmt::print("# us: {} time a call; x: that time divided by auto's, above 1 where auto wins\n",
             fastest ? "least" : "median");
  fmt::print("{:>10} {:>10} {:>10} {:>6}", "bytes", "best us", "auto us", "regret");
  for (const std::string& peer : peers) fmt::print(" {:>10} {:>6}", peer + " us", "x");
  fmt::print("  best; auto\n");
}

void print(const Line& line, const std::vector<std::string>& peers) {
  fmt::print("{:>10} {:>10.2f} {:>10.2f} {:>6.2f}", line.bytes, line.best_seconds * 1e6,
             line.auto_seconds * 1e6, line.auto_seconds / line.best_seconds);
  for (const std::string& peer : peers) {
    const auto found = line.peers.find(peer);
    if (found == line.peers.end()) {
      fmt::print(" {:>10} {:>6}", "-", "-");
    } else {
      fmt::print(" {:>10.2f} {:>6.2f}", found->second * 1e6, found->second / line.auto_seconds);
    }
  }
  fmt::print("  {}; {}\n", line.best, line.best == line.chosen ? "same" : line.chosen);
}

nlohmann::json to_json(const Case& what, const Line& line, const ByContender& contenders) {
  nlohmann::json row = {{"collective", name_of(what.collective)},
                        {"ranks", what.ranks},
                        {"bytes", line.bytes},
                        {"best", line.best},
                        {"auto", line.chosen},
                        {"best_seconds", line.best_seconds},
                        {"auto_seconds", line.auto_seconds}};
  for (const auto& [name, samples] : contenders) row["samples_seconds"][name] = samples;
  return row;
}

void compare(const Case& what, const Options& options, nlohmann::json& rows) {
  Ours ours(what, options);
  Results results;
  std::vector<std::string> missing;
  for (int round = 0; round < options.rounds; ++round) {
    ours.run(results);
    for (const std::string& peer : options.peers) {
      bool ran = true;
      if (peer == "probe") {
        ours.run_probe(results);
      } else if (peer == "gloo") {
        ran = round > 0 || run_gloo(what, options, results);
      } else {
        ran = run_mpi(peer, what, options, results);
      }
      if (!ran && round == 0) missing.push_back(peer);
    }
  }
  print_heading(what, options.peers, ours.profile(), options.fastest);
  for (const std::string& peer : missing) fmt::print("# {}: not built, or did not run\n", peer);
  for (const auto& [bytes, contenders] : results) {
    const Line line = summarise(bytes, contenders, ours.choice(bytes).chosen, options.fastest);
    print(line, options.peers);
    rows.push_back(to_json(what, line, contenders));
  }
  std::fflush(stdout);
}

int compare_all(const Options& options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const int ranks : options.ranks) {
    for (const std::string& name : options.collectives) {
      const Collective collective = parse_collective(name);
      const bool has_parts =
          collective == Collective::allgather || collective == Collective::reduce_scatter;
      const std::size_t unit = has_parts ? 4 * static_cast<std::size_t>(ranks) : 4;
      std::vector<std::size_t> sizes;
      for (const std::string& text : options.sizes) {
        sizes.push_back((parse_size(text) + unit - 1) / unit * unit);
      }
      std::sort(sizes.begin(), sizes.end());
      compare({collective, ranks, sizes}, options, rows);
    }
  }
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << rows.dump(1) << "\n";
  if (file.flush()) return 0;
  fmt::print(stderr, "peers: cannot write {}\n", options.json);
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(help, "peers");
  app.add_option("--sizes", options.sizes, "Bytes of the whole buffer: 4, 64K, 1M")->delimiter(',');
  app.add_option("--ranks", options.ranks, "Numbers of ranks")->delimiter(',');
  app.add_option("--collectives", options.collectives)->delimiter(',');
  app.add_option("--peers", options.peers, "probe, openmpi, openmpi_sm, mpich, gloo")
      ->delimiter(',')
      ->check(CLI::IsMember(Options().peers));
  app.add_option("--rounds", options.rounds, "How often all are started")
      ->check(CLI::PositiveNumber);
  app.add_option("--loops", options.loops, "Samples of each round")->check(CLI::PositiveNumber);
  app.add_flag("--quick", options.quick, "A third of the calls in a loop");
  app.add_flag("--all-algorithms", options.all_algorithms,
               "In every round also those 1.5 times slower than the best");
  app.add_flag("--fastest", options.fastest,
               "Print the fastest loops, not medians: on a machine that does other things too");
  app.add_flag("--pin,!--no-pin", options.pins, "Ranks of tutti and the probe keep to a core each");
  app.add_option("--json", options.json, "Also write all samples there");
  CLI11_PARSE(app, argc, argv);
  try {
    return compare_all(options);
  } catch (const Error& error) {
    fmt::print(stderr, "peers: {}\n", error.what());
    return error.kind() == ErrorKind::usage ? 2 : 3;
  }
}
