#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/tcp_rendezvous.hpp"
#include "experiments/command.hpp"
#include "experiments/command_line.hpp"
#include "experiments/transport.hpp"

namespace tutti {
namespace {

struct RankFlags {
  int rank = -1;
  int ranks = 0;
  std::string master;
  std::string interface;
  std::string world;
  std::size_t timeout_milliseconds = 30'000;
  std::vector<std::string> command;
};

Rendezvous rendezvous_of(const RankFlags& flags) {
  Rendezvous rendezvous = rendezvous_of_environment();
  if (flags.rank >= 0) rendezvous.rank = flags.rank;
  if (flags.ranks > 0) rendezvous.size = flags.ranks;
  if (!flags.master.empty()) rendezvous.master = parse_endpoint(flags.master);
  rendezvous.interface = flags.interface;
  rendezvous.world = flags.world;
  rendezvous.timeout_seconds = static_cast<double>(flags.timeout_milliseconds) / 1e3;
  rendezvous.warn = [](const std::string& text) { warn(text); };
  return rendezvous;
}

// Runs the command as one of the joined ranks; the same exit code on all of them.
int run_joined(const RankFlags& flags) {
  if (joined() != nullptr) throw Error(ErrorKind::usage, "rank runs no rank");
  if (flags.command.empty()) {
    throw Error(ErrorKind::usage,
                "no command given, expected such as 'tutti rank -- bench "
                "allreduce'");
  }
  join(Transport::tcp, join_tcp(rendezvous_of(flags)));
  std::vector<const char*> arguments{"tutti"};
  for (const std::string& word : flags.command) arguments.push_back(word.c_str());
  return finish_joined(run_command_line(static_cast<int>(arguments.size()), arguments.data()));
}

}  // namespace

Command add_rank(CLI::App& app) {
  const auto flags = std::make_shared<RankFlags>();
  app.add_option("--rank", flags->rank, "This process's rank (default: RANK)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ranks", flags->ranks, "Ranks in all (default: WORLD_SIZE)")
      ->check(CLI::PositiveNumber);
  app.add_option("--master", flags->master,
                 "HOST:PORT at which rank 0 listens and the others find it (default: MASTER_ADDR, "
                 "else 127.0.0.1, and MASTER_PORT, else 29500)");
  app.add_option("--interface", flags->interface,
                 "The numeric address of this host at which the others reach it (default: that of "
                 "its connection to rank 0; for rank 0 all)");
  app.add_option("--world", flags->world,
                 "A name; ranks of differently named worlds refuse each other");
  app.add_option("--timeout", flags->timeout_milliseconds,
                 "Milliseconds to wait for the others to join")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  app.prefix_command();
  app.footer(R"(
Runs a command of tutti as one rank of a world over TCP, on any hosts that reach each other: start
it once for each rank, with the same command, in any order. torchrun's and Slurm's habit is
understood: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and LOCAL_WORLD_SIZE stand for the flags.
Host names, IPv4 and IPv6 ([fd00::1]:29500) will do. Rank 0 alone prints results; all end with the
same exit code. bench runs on all ranks, or on the first of them with its own --ranks; verify and
crossover need all ranks on one machine. With --trace FILE each rank writes FILE.RANK.

Rank 0 refuses, and says so, who speaks another protocol or version, or is of another world or size,
or whose rank is taken, and goes on waiting for the right ones. A rank that dies is noticed at once
by all others, which end with exit code 3 and say where they were.

A host whose own name means 127.0.1.1 to it, as on Debian, must not be named so in --master: use its
address. Nothing is encrypted or authenticated: use it where you trust the network.

Examples:
  tutti rank --rank 0 --ranks 2 --master 10.0.0.1:29500 -- bench allreduce
  tutti rank --rank 1 --ranks 2 --master 10.0.0.1:29500 -- bench allreduce
  MASTER_ADDR=node0 MASTER_PORT=29500 WORLD_SIZE=8 RANK=3 tutti rank -- bench allreduce -e 64M
  srun -n 8 sh -c 'RANK=$SLURM_PROCID WORLD_SIZE=8 MASTER_ADDR=node0 tutti rank bench allreduce'
  for r in 0 1 2; do tutti rank --rank $r --ranks 3 -- bench broadcast & done; wait)" +
             std::string("\n") + exit_codes);
  return [flags, &app](Output&) {
    flags->command = app.remaining();
    if (!flags->command.empty() && flags->command.front() == "--") {
      flags->command.erase(flags->command.begin());
    }
    throw ExitWithCode{run_joined(*flags)};
    return true;
  };
}

}  // namespace tutti
