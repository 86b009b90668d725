#include "experiments/command_line.hpp"

#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <functional>
#include <limits>
#include <memory>
#include <new>

#include "experiments/bench.hpp"
#include "experiments/choosing.hpp"
#include "experiments/command.hpp"
#include "experiments/crossover.hpp"
#include "experiments/simulate.hpp"
#include "experiments/simulated_row.hpp"
#include "experiments/trace_file.hpp"
#include "experiments/transport.hpp"
#include "experiments/verify.hpp"

namespace tutti {
namespace {

constexpr auto collective_names =
    "allreduce, broadcast, allgather, reduce_scatter, reduce, gather, scatter, alltoall or barrier";

// Few enough that the parts of all ranks add up to a size.
constexpr std::size_t most_part_count = std::size_t{1} << 40;

// Flags as typed that need a look before they are used.
struct Typed {
  std::string format = "table";
  bool json = false;
  int check = 1;
  std::size_t timeout_milliseconds = 30'000;
  CLI::Option* ranks = nullptr;  ///< Where leaving it out means all hosts.
  Repetitions unused;            ///< Of a simulation, which needs none.

  Format chosen_format() const { return json ? Format::json : parse_format(format); }
  double timeout_seconds() const { return static_cast<double>(timeout_milliseconds) / 1e3; }
};

}  // namespace

void add_tuning(CLI::App& app, Tuning& tuning, LevelNames& levels) {
  const auto add = [&](const char* flag, int& value, const std::string& what) {
    app.add_option(flag, value, what + " (0: the algorithm's own default)")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
  };
  add("--segments", tuning.segments, "Pieces that pipelined algorithms cut the buffer into");
  add("--radix", tuning.radix, "Fan-out of k-nomial trees and exchanges");
  add("--group", tuning.group, "Ranks of one inner group of hierarchical algorithms");
  app.add_option("--inner", levels.inner,
                 "What hierarchical algorithms run within the groups: any algorithm of the "
                 "collective, for allreduce a reduce_scatter and its mirror image (default: ring, "
                 "for broadcast binomial)");
  app.add_option("--outer", levels.outer,
                 "What they run between the groups: any algorithm of the collective");
}

namespace {

// The parser itself takes "-2" for a very large number.
const CLI::Validator not_negative(
    [](const std::string& text) {
      const bool is_negative = !text.empty() && text.front() == '-';
      return is_negative ? text + " is negative, expected 0 or more" : std::string();
    },
    "", "not_negative");

const CLI::Validator not_empty(
    [](const std::string& text) {
      return text.empty() ? std::string("no size given, expected such as 8, 4K or 16M") : "";
    },
    "", "not_empty");

// "3,0,5". The parser's own lists pass over what is empty: "3,,5".
template <typename Number>
CLI::Option* add_list(CLI::App& app, const char* flag, std::vector<Number>& numbers, Number most,
                      const char* what) {
  const auto read = [&numbers, most, flag](const std::string& text) {
    numbers.clear();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      Number number{};
      const auto [rest, status] = std::from_chars(text.data() + begin, text.data() + end, number);
      if (status != std::errc{} || rest != text.data() + end || number < 0 || number > most) {
        throw CLI::ValidationError(
            flag, fmt::format("'{}' is no number, expected 0 to {}, with a comma between two",
                              shorten_words(text.substr(begin, end - begin)), most));
      }
      numbers.push_back(number);
      begin = end + 1;
    }
  };
  return app.add_option_function<std::string>(flag, read, what);
}

void add_question(CLI::App& app, QuestionFlags& flags) {
  app.add_option("--algo,--algorithms", flags.algorithms,
                 "Algorithms, comma-separated, or all; in bench and simulate also auto; an unknown "
                 "name lists the valid ones")
      ->capture_default_str();
  CLI::Option* const smallest =
      app.add_option("-b,--minbytes", flags.sweep.minimum, "Smallest size (binary K, M, G)")
          ->capture_default_str();
  CLI::Option* const largest =
      app.add_option("-e,--maxbytes", flags.sweep.maximum, "Largest size")->capture_default_str();
  CLI::Option* const factor =
      app.add_option("-f,--stepfactor", flags.sweep.factor, "Factor between sizes")
          ->check(not_negative)
          ->capture_default_str();
  CLI::Option* const increment =
      app.add_option("-i,--stepbytes", flags.sweep.step, "Increment between sizes, instead of -f")
          ->check(not_empty)
          ->excludes(factor);
  app.add_option("--sizes", flags.sweep.sizes, "Sizes, comma-separated, instead of -b -e -f -i")
      ->check(not_empty)
      ->excludes(smallest, largest, factor, increment);
  app.add_option("-d,--dtype,--datatype", flags.dtype, "Element type")->capture_default_str();
  app.add_option("-o,--op", flags.op, "Reduction: sum, product, min, max, average")
      ->capture_default_str();
  app.add_option("-r,--root", flags.root, "Root of a broadcast, reduce, gather or scatter")
      ->capture_default_str();
  add_tuning(app, flags.tuning, flags.levels);
}

void add_repetitions(CLI::App& app, Repetitions& flags) {
  app.add_option("-n,--iters", flags.iterations, "Timed iterations")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("-w,--warmup,--warmup_iters", flags.warmup, "Iterations before that, not timed")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

void add_cluster_ranks(CLI::App& app, QuestionFlags& flags, Typed& typed) {
  typed.ranks = app.add_option("--ranks", flags.ranks, "Ranks, one a host (default: all hosts)");
}

void check_cluster_ranks(const QuestionFlags& flags, const Typed& typed) {
  if (typed.ranks->count() > 0) check_ranks(flags.ranks, maximum_hosts);
}

CLI::Option* add_timeout(
    CLI::App& app, Typed& typed,
    const std::string& text = "Milliseconds that a rank may wait before it fails") {
  return app.add_option("--timeout", typed.timeout_milliseconds, text)
      ->check(not_negative)
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
}

// Where the ranks of --transport tcp listen.
void add_address(CLI::App& app, WorldFlags& flags) {
  app.add_option("--address", flags.address,
                 "A numeric address of this machine, IPv4 or IPv6, for --transport tcp")
      ->capture_default_str();
  app.add_option("--port", flags.port, "Rank r listens at this port + r (0: at free ones)")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
}

void add_trace(CLI::App& app, std::string& file) {
  app.add_option("--trace", file, "Write one JSON line per finished request to this file");
}

}  // namespace

CLI::Option* add_parts(CLI::App& app, std::vector<int>& members,
                       std::vector<std::size_t>& part_counts) {
  add_list(app, "--members", members, std::numeric_limits<int>::max(),
           "The ranks that take part, comma-separated, in this order; the others are idle");
  return add_list(app, "--counts", part_counts, most_part_count,
                  "Elements of each rank's part, comma-separated: the v-form of a collective");
}

namespace {

void add_rows(CLI::App& app, QuestionFlags& question, Typed& typed) {
  app.add_option("COLLECTIVE", question.collective, collective_names)->required();
  add_question(app, question);
  add_parts(app, question.members, question.part_counts)
      ->excludes("--sizes", "-b", "-e", "-f", "-i");
  app.add_option("--rules", question.rules, "A CSV file that pins what --algo auto takes");
  app.add_option("-c,--check", typed.check, "1: check results, 0: do not")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  app.add_option("--accumulate", question.accumulate,
                 "How float16 and bfloat16 are reduced: native (rounded at each step) or float32 "
                 "(twice the bytes travel, rounded once)")
      ->capture_default_str();
  app.add_option("--format", typed.format, "table, csv or json")->capture_default_str();
  app.add_flag("--json", typed.json, "The same as --format json");
}

Command add_verify(CLI::App& app) {
  const auto flags = std::make_shared<VerifyFlags>();
  const auto typed = std::make_shared<Typed>();
  app.add_option("--ranks", flags->ranks, "Ranks")->capture_default_str();
  app.add_option("--transport", flags->transport, "shm, tcp: real processes; sim: simulated ones")
      ->capture_default_str();
  add_address(app, flags->world);
  app.add_option("--dtype,-d", flags->dtype, "Element types, comma-separated, or all")
      ->capture_default_str();
  app.add_option("--seed", flags->seed, "Of the random data")
      ->check(not_negative)
      ->capture_default_str();
  app.add_flag("--json", flags->json, "Print JSON");
  add_tuning(app, flags->tuning, flags->levels);
  add_parts(app, flags->members, flags->part_counts);
  add_timeout(app, *typed,
              "Milliseconds that a rank may wait before it fails; simulated ones, for each of the "
              "cases, with --transport sim");
  add_trace(app, flags->trace);
  app.footer(std::string(verify_help) + "\n\n" + trace_help + R"(

Examples:
  tutti verify
  tutti verify --ranks 8 --dtype all
  tutti verify --transport tcp
  tutti verify --transport sim --json
  tutti verify --ranks 4 --members 3,1,2
  tutti verify --ranks 4 --counts 3,0,5,2)" +
             "\n" + exit_codes);
  return [flags, typed](Output& output) {
    flags->world.timeout_seconds = typed->timeout_seconds();
    return verify(*flags, output);
  };
}

Command add_bench(CLI::App& app) {
  const auto flags = std::make_shared<BenchFlags>();
  const auto typed = std::make_shared<Typed>();
  add_rows(app, flags->question, *typed);
  app.add_option("--ranks", flags->question.ranks, "Ranks")->capture_default_str();
  app.add_option("--transport", flags->transport,
                 "shm or tcp, between processes on this machine; under 'tutti rank' tcp, under "
                 "mpirun mpi")
      ->capture_default_str();
  add_address(app, flags->world);
  add_repetitions(app, flags->repetitions);
  add_timeout(app, *typed);
  app.add_option("--check-calls", flags->world.checks_calls,
                 "Over shm, 0: only ranks that talk to each other compare their calls; 1: nothing "
                 "is written before all ranks are known to be in the same call")
      ->capture_default_str();
  flags->world.pins = true;
  app.add_flag("--pin,!--no-pin", flags->world.pins,
               "Over shm, each rank keeps to a core of its own where there are enough (default)");
  app.add_flag("--stragglers", flags->stragglers,
               "Close the table with how long each rank waited, for whom most, and the rank that "
               "all waited for");
  add_trace(app, flags->trace);
  app.footer(std::string(rows_help) + "\n\n" + auto_help + "\n\n" + trace_help + R"(

Examples:
  tutti bench allreduce --ranks 2 -b 8 -e 128M -f 2
  tutti bench allreduce --algo ring,tree --sizes 1K,1M,16M --json
  tutti bench broadcast --algo knomial --radix 4 --root 1 --format csv > broadcast.csv
  tutti bench alltoall --ranks 4
  tutti bench allgather --ranks 4 --counts 3000,0,5000,2000
  tutti bench allreduce --ranks 4 --members 3,1,2
  tutti bench allreduce --ranks 4 --transport tcp
  tutti bench allreduce --ranks 2 --transport tcp --address ::1 --port 29500
  tutti rank --rank 0 --ranks 2 --master node0:29500 -- bench allreduce
  tutti bench allreduce --algo auto,ring
  mpirun -n 8 tutti bench allreduce
  TUTTI_ALGO="allreduce:ring;broadcast:binomial" tutti bench allreduce)" +
             "\n" + exit_codes);
  return [flags, typed](Output& output) {
    flags->world.timeout_seconds = typed->timeout_seconds();
    flags->check = typed->check == 1;
    flags->format = typed->chosen_format();
    return bench(*flags, output);
  };
}

Command add_simulate(CLI::App& app) {
  const auto flags = std::make_shared<SimulateFlags>();
  const auto typed = std::make_shared<Typed>();
  typed->check = 0;
  add_rows(app, flags->question, *typed);
  add_cluster_ranks(app, flags->question, *typed);
  add_cluster(app, flags->cluster);
  const CLI::Option* const timeout =
      add_timeout(app, *typed,
                  "Milliseconds of simulated time after which a rank that still waits fails "
                  "(default: no limit)")
          ->default_str("");
  add_trace(app, flags->trace);
  add_repetitions(app, typed->unused);
  add_conditions(app, flags->conditions);
  app.footer(std::string(rows_help) + "\n\n" + auto_help + "\n\n" + cluster_help + "\n\n" +
             jitter_help + "\n\n" + extras_help + "\n\n" + trace_help + R"(

Simulated time is deterministic: -n and -w are accepted and change nothing, and p50 and p99 equal
time, unless --jitter is repeated.
Blocks have no memory unless -c 1 asks for real data, checked; wrong is n/a without it.
  bound     lower_bound_us: what no algorithm can beat in the alpha-beta-gamma model: the larger of
            one message's latency and what some rank must move or reduce (allreduce: 2(N-1)/N of the
            bytes)
  note      latency-bound or bandwidth-bound: where the algorithm's closed form spends most

Examples:
  tutti simulate allreduce --topology topologies/star.yaml
  tutti simulate allreduce --topology topologies/star.yaml --set hosts=64 --algo ring -e 1G
  tutti simulate broadcast --topology topologies/star.yaml --ranks 4 --model lv08 --json
  tutti simulate allreduce --topology topologies/star.yaml --algo hierarchical --group 4 \
      --inner direct --outer rabenseifner
  tutti simulate allreduce --topology topologies/star.yaml --algo auto --rules rules.csv
  tutti simulate allreduce --topology topologies/leaf_spine_100g.yaml --algo ring --sizes 1G --why
  tutti simulate allreduce --topology topologies/star.yaml --straggle rank 5 by 200us --why
  tutti simulate allreduce --topology topologies/star.yaml --groups 0-7:2,1-7:2 --repeat 10
  tutti simulate allreduce --topology topologies/star.yaml --algo tree,ring \
      --jitter start=exponential:20us --repetitions 50 --seed 7)" +
             "\n" + exit_codes);
  return [flags, typed, timeout](Output& output) {
    check_cluster_ranks(flags->question, *typed);
    if (timeout->count() > 0) flags->timeout_seconds = typed->timeout_seconds();
    flags->check = typed->check == 1;
    flags->format = typed->chosen_format();
    return simulate(*flags, output);
  };
}

Command add_crossover(CLI::App& app) {
  const auto flags = std::make_shared<CrossoverFlags>();
  const auto typed = std::make_shared<Typed>();
  app.add_option("COLLECTIVE", flags->question.collective, collective_names)->capture_default_str();
  add_question(app, flags->question);
  add_cluster_ranks(app, flags->question, *typed);
  add_cluster(app, flags->cluster);
  app.get_option("--topology")->required(false);
  app.add_option("--profile", flags->profile,
                 "What tutti calibrate measured, a file, instead of a topology");
  app.add_flag("--measure", flags->measure, "Also measure between real processes on this machine");
  app.add_option("--transport", flags->transport, "Of these: shm or tcp")->capture_default_str();
  add_address(app, flags->world);
  add_repetitions(app, flags->repetitions);
  add_timeout(app, *typed);
  add_trace(app, flags->trace);
  app.add_flag("--json", flags->json, "Print JSON");
  app.footer(std::string(crossover_help) + "\n\n" + cluster_help + "\n\n" + trace_help + R"(

Examples:
  tutti crossover --topology topologies/star.yaml --ranks 4
  tutti crossover --topology topologies/star.yaml --set hosts=64 --algo all
  tutti crossover allreduce --topology topologies/star.yaml --ranks 4 --measure
  tutti crossover allreduce --profile shm.yaml --ranks 4 --algo all --measure)" +
             "\n" + exit_codes);
  return [flags, typed](Output& output) {
    check_cluster_ranks(flags->question, *typed);
    flags->world.timeout_seconds = typed->timeout_seconds();
    crossover(*flags, output);
    return true;
  };
}

int complain(const std::string& text, ExitCode code) {
  report_failure(shorten_words(text));
  return code;
}

std::string out_of_memory() {
  rlimit limit{};
  const bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::string why = is_limited
                              ? fmt::format(" within the limit of {} (ulimit -v)",
                                            format_bytes(static_cast<double>(limit.rlim_cur)))
                              : "";
  return fmt::format("cannot allocate memory{}; try fewer ranks or smaller sizes", why);
}

int execute(const Command& command) {
  try {
    Output output(is_first_rank() ? stdout : nullptr);
    return command(output) ? good : wrong_result;
  } catch (const ExitWithCode& end) {
    return end.code;
  } catch (const Error& error) {
    return complain(error.what(), error.kind() == ErrorKind::usage ? usage_error : operating_error);
  } catch (const ShapeError& error) {
    return complain(error.what(), usage_error);
  } catch (const std::bad_alloc&) {
    return complain(out_of_memory(), operating_error);
  } catch (const std::exception& error) {
    return complain(error.what(), operating_error);
  }
}

// The words behind the program's name, the last first, as the parser wants them. The four words of
// a straggler may be one argument; behind "--" are another command's.
std::vector<std::string> arguments(int argc, const char* const* argv) {
  std::vector<std::string> words;
  bool is_straggler = false, is_own = true;
  for (int index = 1; index < argc; ++index) {
    std::string word = argv[index];
    constexpr std::string_view flag = "--straggle=";
    const bool is_separator = is_own && word == "--";
    is_own = is_own && !is_separator;
    // The command of rank begins with its first word, with or without.
    if (is_separator && argv[1] == std::string_view("rank")) continue;
    if (is_own && word.starts_with(flag)) {
      words.emplace_back("--straggle");
      word.erase(0, flag.size());
      is_straggler = true;
    }
    std::vector<std::string> split;
    if (is_own && is_straggler) split = CLI::detail::split_up(word);
    is_straggler = word == "--straggle";
    if (split.empty()) split.push_back(std::move(word));
    words.insert(words.end(), split.begin(), split.end());
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Collective communication, simulated and real, with one set of algorithms");
  app.name("tutti");
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.footer(R"(
Examples:
  tutti verify --ranks 4
  tutti bench allreduce --ranks 2
  tutti simulate allreduce --topology topologies/star.yaml
  tutti crossover --topology topologies/star.yaml --ranks 4 --measure
  tutti explain allreduce ring --ranks 4
  tutti bench --help)" +
             std::string("\n") + exit_codes);

  Command chosen;
  const auto add = [&](const char* name, const char* description, Command (*add_flags)(CLI::App&)) {
    CLI::App& command = *app.add_subcommand(name, description);
    command.callback([&chosen, run = add_flags(command)] { chosen = run; });
  };
  add("verify", "Check every algorithm against gloo, and count the bytes that ranks send",
      add_verify);
  add("bench", "Time a collective between real processes", add_bench);
  add("simulate", "Time a collective on a simulated cluster", add_simulate);
  add("whatif", "Compare many clusters, sizes and algorithms in one study", add_whatif);
  add("crossover", "Find the sizes at which the best algorithm changes", add_crossover);
  add("calibrate", "Measure what messages and local work take here, for predictions",
      add_calibrate);
  add("validate", "Compare predictions with measurements", add_validate);
  add("log", "Read and fit logs of benchmarks that you already have", add_log);
  add("export", "Write results as the rules by which MPI libraries and NCCL choose",
      add_export_rules);
  add("catalogue", "List all algorithms with their costs, and prove them", add_catalogue);
  add("explain", "Show what an algorithm does step by step, or export it", add_explain);
  add("replay", "Time a plan from a file on a simulated cluster", add_replay);
  add("emulate", "Run a command on a network that is shaped as a topology, on this machine",
      add_emulate);
  add("rank", "Run a command as one rank of a world over TCP, on any hosts", add_rank);
  add("topo", "Look at cluster shapes, check them, import and export them", add_topo);

  try {
    app.parse(arguments(argc, argv));
  } catch (const CLI::Success& success) {
    return execute([&](Output& output) {
      const bool is_version = dynamic_cast<const CLI::CallForVersion*>(&success) != nullptr;
      output.line(is_version ? std::string(success.what()) : app.help());
      return true;
    });
  } catch (const CLI::ParseError& error) {
    if (!app.get_subcommands().empty()) {
      return complain(std::string(error.what()) + "\ntutti: run with --help for more", usage_error);
    }
    const std::string word = argc > 1 ? argv[1] : "";
    const char* const kind = word.starts_with('-') ? "option" : "command";
    return complain(
        (word.empty() ? "no command given" : fmt::format("unknown {} '{}'", kind, word)) +
            "\ntutti: the commands are verify, bench, simulate, whatif, crossover, "
            "calibrate, validate, log, export, catalogue, explain, replay, emulate, rank and "
            "topo; see --help",
        usage_error);
  }
  return execute(chosen);
}

}  // namespace tutti
