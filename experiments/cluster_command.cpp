#include <CLI/CLI.hpp>

#include "experiments/cluster.hpp"
#include "experiments/command.hpp"

namespace tutti {

const char* const cluster_help =
    R"(A topology is a YAML file (topologies/ has some, 'tutti topo check --help' has the keys), a
SimGrid platform XML, or any file that 'tutti topo import' reads. What if, without touching it:
  --set hosts=64                       a key of the file
  --set links.spine.bandwidth=50%      all links of a class; also latency, 2x, 100Gbps
  --set host[3].speed=0.5x             a slow host; also reduction, send_overhead, receive_overhead
  --set placement=cyclic               which host runs which rank; also random, a list
  --fail link:leaf0-spine1             a broken cable; also node:spine1
  --straggle rank 5 by 200us           a rank that begins late)";

void add_changes(CLI::App& app, ShapeChanges& changes) {
  app.add_option("--set", changes.settings,
                 "KEY=VALUE in place of the file's, such as hosts=64, or of links and hosts")
      ->allow_extra_args(false);
  app.add_option("--fail", changes.failures, "link:NAME or node:NAME that is broken")
      ->allow_extra_args(false);
}

void add_cluster(CLI::App& app, ClusterFlags& flags) {
  app.add_option("--topology", flags.topology, "The cluster's shape, a file")->required();
  add_cluster_changes(app, flags);
}

void add_cluster_changes(CLI::App& app, ClusterFlags& flags) {
  add_changes(app, flags.changes);
  app.add_option("--straggle", flags.stragglers,
                 "rank R by DURATION, in quotes or not: begins that much later")
      ->type_size(4)
      ->allow_extra_args(false);
  app.add_option("--model", flags.model, "Network model: alpha_beta, exact, window or lv08")
      ->capture_default_str();
  app.add_option("--engine", flags.engine, engine_help)->capture_default_str();
}

}  // namespace tutti
