#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "experiments/command.hpp"
#include "experiments/simulated_row.hpp"
#include "experiments/whatif.hpp"

namespace tutti {
namespace {

constexpr auto whatif_help = R"(
Times every combination of the values of --vary, --topology and the collectives on simulated
clusters, and prints for each collective and cluster who wins at which size and number of ranks, by
which margin over the second (grey under 5 %), and how the best time scales. Everything is checked
before anything runs.

--vary KEY=VALUES, as often as needed. Values are separated by commas; also
  4,8,..,1024      goes on by the factor, or else the difference, of the two before it
  1K..1G*4         from, to, and the factor between (0.5 goes down)
  1us..9us+2us     from, to, and the difference
Keys are collective, topology, model, ranks, dtype, bytes (binary K, M, G), segments, radix, group
and algo (all, auto, or names), and whatever --set knows: keys of the topology's file, and links and
hosts. Algorithms that do not support a point are left out, which a comment says.

A topology whose file says how large it is takes no more ranks than that. With --resize each
topology is made as large as the ranks ask for: hosts of a star, ring or fully_connected shape, the
dimensions of a torus or mesh (as equal as can be) or hypercube, leaves of a leaf_spine, the radix
of a fat_tree, groups of a dragonfly.

-o FILE keeps each finished point as a JSON line, named by a hash of all that its time depends on
(topology, changes, model, engine, version, job). The same command, or another study that shares
points with it, goes on from there; Ctrl-C leaves a valid file. A point that fails is kept with its
"error", reported at the end (exit code 3), and tried again next time; the others go on.
Under mpirun or srun the processes share the points out, each beside FILE in a part of its own; the
first gathers them by MPI and prints the tables. Parts that are left where one was killed, or where
this build has no MPI, are gathered by the same command alone or under mpirun.)";

constexpr auto rows_of_whatif_help =
    R"(Rows (--format json or csv; the lines of FILE) have the keys of tutti simulate --json, and
key, topology_file, topology_hash, seed, repetitions, varied, members and counts (where given),
chosen (by auto) and, of a point that failed, error. CSV holds the same: objects as columns such as
vary.KEY and why.limit, lists as JSON.)";

constexpr auto examples = R"(
Examples:
  tutti whatif allreduce,broadcast --algo ring,binomial,tree --resize \
      --topology topologies/ring.yaml --topology topologies/torus_2d.yaml \
      --vary ranks=4,8,..,64 --vary bytes=1K..1G*4 -o study.jsonl
  tutti whatif allreduce --topology topologies/leaf_spine_100g.yaml --vary ranks=24,48,..,192 \
      --vary bytes=1M,64M --vary links.spine.bandwidth=25%..200%*2 --algo all --format csv
  tutti whatif allreduce --topology topologies/star.yaml --algo ring,tree --why \
      --vary 'host[3].speed=1x,0.5x,0.25x' --vary bytes=1M
  tutti whatif allreduce --topology topologies/star.yaml --vary bytes=64K \
      --jitter message=lognormal:2us --repetitions 50 --seed 7 --json
  mpirun -n 64 tutti whatif allreduce --topology topologies/fat_tree.yaml \
      --vary ranks=16,32,..,1024 -o study.jsonl)";

}  // namespace

Command add_whatif(CLI::App& app) {
  const auto flags = std::make_shared<WhatifFlags>();
  const auto format = std::make_shared<std::string>("table");
  const auto is_json = std::make_shared<bool>(false);
  const auto timeout_milliseconds = std::make_shared<double>(no_deadline);
  StudyFlags& study = flags->study;
  app.add_option("COLLECTIVE", study.collectives, "One or several, comma-separated")
      ->capture_default_str();
  app.add_option("--topology", study.topologies,
                 "A cluster's shape, a file; may come several times")
      ->allow_extra_args(false);
  app.add_option("--vary", study.axes, "KEY=VALUES; may come several times")
      ->allow_extra_args(false);
  app.add_option("--algo,--algorithms", study.algorithms,
                 "Algorithms, comma-separated, auto, or all")
      ->capture_default_str();
  CLI::Option* const ranks =
      app.add_option("--ranks", study.ranks, "Ranks (default: all that there is room for)");
  app.add_flag("--resize", study.resize, "Make each topology as large as the ranks ask for");
  app.add_option("-d,--dtype,--datatype", study.dtype, "Element type")->capture_default_str();
  app.add_option("--op", study.op, "Reduction: sum, product, min, max, average")
      ->capture_default_str();
  app.add_option("-r,--root", study.root, "Root of a rooted collective")->capture_default_str();
  add_tuning(app, study.tuning, study.levels);
  add_parts(app, study.members, study.part_counts);
  app.add_option("--rules", study.rules, "A CSV file that pins what auto takes");
  add_cluster_changes(app, study.cluster);
  add_conditions(app, study.conditions);
  app.add_option("--timeout", *timeout_milliseconds,
                 "Milliseconds of simulated time after which a point fails (default: no limit)")
      ->check(CLI::PositiveNumber);
  app.add_option("-j,--jobs", flags->jobs, "Points at once (default: one a core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("-o,--output", flags->file, "Keep finished points in this file, and skip them");
  app.add_option("--format", *format, "table, csv or json")->capture_default_str();
  app.add_flag("--json", *is_json, "The same as --format json");
  app.footer(std::string(whatif_help) + "\n\n" + rows_of_whatif_help + "\n\n" + extras_help +
             "\n\n" + jitter_help + "\n\n" + cluster_help + "\n" + examples + "\n" + exit_codes);
  return [flags, format, is_json, timeout_milliseconds, ranks](Output& output) {
    if (ranks->count() > 0) check_ranks(flags->study.ranks, maximum_hosts);
    flags->study.limit_seconds = *timeout_milliseconds / 1e3;
    flags->format = *is_json ? Format::json : parse_format(*format);
    return whatif(*flags, output);
  };
}

}  // namespace tutti
