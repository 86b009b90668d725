// ForkWorld: ranks as forked processes that talk through shared memory or over TCP.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/world.hpp"
#include "exec/board.hpp"
#include "exec/cores.hpp"
#include "process/shared_memory.hpp"

namespace tutti {

class Launcher;

/// What carries the messages between forked ranks.
enum class Wire : std::uint8_t {
  shm,  ///< Queues in shared memory, or the sender's memory where that can be read.
  tcp,  ///< Connections on this host.
};

struct ForkOptions {
  /// The longest that one wait may take; after it the rank fails with Error(timeout).
  double timeout_seconds = 30.0;
  int lanes = 1;
  std::uint64_t seed = 0;
  /// Of shm: whether no rank writes to user data before all participants of a call are known to
  /// have made it, with the same arguments. Without it, as over tcp, only ranks that talk to each
  /// other compare their calls.
  bool checks_calls = true;
  /// Of shm: whether large messages from memory that was not allocate()d are read there, with
  /// process_vm_readv, where the kernel permits that, or always pass through the queue.
  bool reads_memory = true;
  /// Whether each rank stays on a core of its own, where there are enough. Two busy ranks that the
  /// kernel puts on the same core take turns.
  bool pins = false;
  Wire wire = Wire::shm;
  std::string address = "127.0.0.1";  ///< Of tcp: a numeric address of this host.
  int port = 0;                       ///< Of tcp: rank r listens at port + r; 0: free ones.
};

/// Each run() forks `size` processes and reaps them all, whatever happens. Other threads of the
/// caller do not live on in them, nor does what they were about to do, such as a pool's next task.
/// Results lie in memory that the caller sees, whatever carries the messages. An address or port of
/// tcp that cannot be had is an Error(system) of run().
///
/// The first rank to fail makes the others fail at their next wait: with Error(mismatch) where it
/// failed with that (over shm), else with Error(peer_lost). Its failure is what run() throws: its
/// own Error or ContractError; Error(system) for any other exception; Error(peer_lost) where its
/// process was killed or ended by itself, with where each of the others was. Half a second later
/// what still runs is killed. Over shm ranks that wait for each other in a ring, without deadlines
/// of their own, are an Error(deadlock) at once. Messages that were sent but never received are an
/// Error(mismatch). A rank whose program returns early does not disturb those that need nothing
/// more of it. If the caller dies, the ranks die with it. Nothing is left in /dev/shm.
class ForkWorld final : public World {
 public:
  explicit ForkWorld(int size, ForkOptions options = {});

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

  /// Of shm: what has gone which way in the last run that did not fail.
  const LargeTraffic& large_traffic() const { return large_traffic_; }

 private:
  void finish(const Board& board, Launcher& launcher);
  void run_tcp(const Program& program);

  ForkOptions options_;
  SharedArena arena_;
  LargeTraffic large_traffic_;
};

}  // namespace tutti
