#include <CLI/CLI.hpp>
#include <memory>

#include "experiments/command.hpp"
#include "experiments/emulate.hpp"

namespace tutti {

Command add_emulate(CLI::App& app) {
  const auto flags = std::make_shared<EmulateFlags>();
  app.add_option("COMMAND", flags->command, "What every rank runs, after --");
  app.add_option("--topology", flags->topology, "The network's shape, a file")->required();
  add_changes(app, flags->changes);
  app.add_option("--ranks", flags->ranks, "Ranks (default: all that the topology has room for)")
      ->check(CLI::PositiveNumber);
  app.add_option("--mtu", flags->mtu_bytes,
                 "Bytes of a packet (default: 1500, 9000 or 65535, so that a packet of the fastest "
                 "link takes some 40 us)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--plan", flags->plan_only, "Print what would be made; takes no rights");
  app.add_flag("--program", flags->is_program,
               "COMMAND is a program and its arguments, not a command of tutti");
  app.footer(R"(
Makes a network namespace for every host and switch on a route between two ranks, and a pair of
virtual Ethernet devices for every cable, with a token bucket in each direction that passes the
link's bandwidth of TCP payload (headers come on top). Packets take the topology's own routes. Then
runs 'tutti rank COMMAND' once for each rank, in the namespace of its host, over TCP, with RANK,
WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set. Output is that of rank 0;
what is said about the network goes to stderr.

Takes root, or user namespaces, and ip and tc (iproute2). Nothing is made or changed outside of the
new namespaces; they have no names and end with this process, also where it is killed.

Not emulated: latency (it is probed and shown), speeds and overheads of hosts, shared media (each
direction has the whole bandwidth). A bucket lets two packets pass at once, so that messages up to
that size take no time for their bytes. Links that are faster than this machine are refused.

Examples:
  tutti emulate --topology topologies/emulated_star.yaml -- bench allreduce --algo ring,tree
  tutti emulate --topology topologies/emulated_racks.yaml --ranks 4 -- bench allreduce -e 1M
  tutti emulate --topology topologies/emulated_ring.yaml --set bandwidth=50Mbps -- bench broadcast
  tutti emulate --topology topologies/emulated_star.yaml --plan
  tutti emulate --topology topologies/emulated_star.yaml --program -- python3 train.py
)" + std::string(exit_codes) +
             " That of the run is the command's.");
  return [flags](Output& output) {
    const int code = emulate(*flags, output);
    if (code != 0) throw ExitWithCode{code};
    return true;
  };
}

}  // namespace tutti
