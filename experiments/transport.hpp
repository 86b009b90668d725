// Transports by name: what carries the messages of a command.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "collectives/world.hpp"
#include "exec/joined_world.hpp"

namespace tutti {

enum class Transport {
  shm,  ///< Forked processes and shared memory.
  tcp,  ///< TCP: forked processes, or those that `tutti rank` has joined.
  mpi,  ///< The processes of an mpirun or srun.
  sim,  ///< Simulated ranks.
};

/// More processes than anybody means to start on one machine.
inline constexpr int most_real_ranks = 256;

/// One of `valid`. Throws Error(usage) that lists them.
Transport parse_transport(const std::string& name, std::initializer_list<Transport> valid);

std::string name_of(Transport transport);

/// How the ranks of a world are connected.
struct WorldFlags {
  double timeout_seconds = 30.0;
  std::string address = "127.0.0.1";  ///< Of tcp between forked processes: numeric.
  int port = 0;                       ///< Rank r listens at port + r; 0: free ones.
  bool checks_calls = true;           ///< Of shm: see ForkOptions.
  bool pins = false;                  ///< Of shm: see ForkOptions.
};

/// A world of `ranks`: forked processes, those that have joined, or a simulated star of 12.5 GB/s
/// and 5 us. Throws Error(usage) where the transport is not that of the processes that have joined.
std::unique_ptr<World> make_world(Transport transport, int ranks, const WorldFlags& flags);

/// What this process runs its commands with, together with others; for the rest of its life.
void join(Transport transport, std::unique_ptr<JoinedTransport> joined);

/// Null where it has not joined others: then it starts all ranks itself.
JoinedTransport* joined();

/// True for the process whose output counts.
bool is_first_rank();

/// What --transport and --ranks are where they are not given.
std::string default_transport();
int default_ranks();

/// Says on stderr why the command has failed; where the process has joined others, at the end, and
/// once for all that failed alike.
void report_failure(const std::string& text);

/// The end of a joined process's commands, of which the last ended with `exit_code`: returns the
/// worst exit code of all processes, the same on each.
int finish_joined(int exit_code);

/// Throws Error(usage) where the process has joined others: `command` would do the same on each.
void check_not_joined(const std::string& command);

}  // namespace tutti
