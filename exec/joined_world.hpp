// JoinedWorld: ranks that were started apart, each a process with a caller of its own, by mpirun,
// by torchrun's habit or by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/world.hpp"
#include "exec/real_channel.hpp"
#include "process/shared_memory.hpp"

namespace tutti {

/// How a rank of a run has failed, and that it is known.
struct KnownFailure {
  ErrorKind kind = ErrorKind::peer_lost;
  std::string text;
};

/// What connects the processes that take part: this process is one of them. One for the whole life
/// of a process, over TCP or MPI.
class JoinedTransport {
 public:
  virtual ~JoinedTransport() = default;
  JoinedTransport(const JoinedTransport&) = delete;
  JoinedTransport& operator=(const JoinedTransport&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The channel of `lane` among the first `size` processes, for one run: the `run`-th that all
  /// processes make, from 1. Messages of different runs and lanes never mix. rank() < size.
  virtual std::unique_ptr<RealChannel> open_channel(std::uint64_t run, int size, int lane,
                                                    double timeout_seconds) = 0;

  /// What every process has passed, by rank. Called by all, in the same order; each may pass a
  /// different length. Throws Error(peer_lost) or Error(timeout) that names who is missing.
  virtual std::vector<std::string> exchange(const std::string& own, double timeout_seconds) = 0;

  /// Tells all others that this rank has failed in `run`, why: their channels of that run throw
  /// Error(peer_lost), or Error(mismatch) where that is its kind, with its text at their next wait,
  /// and at once where they are waiting. By any thread. Returns false where another rank's failure
  /// of that run was known before.
  virtual bool announce_failure(std::uint64_t run, const Error& error) noexcept = 0;

  /// The last call of all. Passes why this process has failed, "" if it has not, and returns what
  /// each has passed, by rank; none where the transport does not tell. Throws Error(timeout) where
  /// another process does not come to its end; the destructor may then end all.
  virtual std::vector<std::string> finish(const std::string& /*failure*/, int /*exit_code*/) {
    return {};
  }

  /// The number of the next run.
  std::uint64_t begin_run() { return ++runs_; }

 protected:
  JoinedTransport(int rank, int size) : rank_(rank), size_(size) {}

 private:
  const int rank_;
  const int size_;
  std::uint64_t runs_ = 0;
};

struct JoinedOptions {
  double timeout_seconds = 30.0;  ///< Of each wait, and of the ends of runs.
  int lanes = 1;
  std::uint64_t seed = 0;
};

/// The first `size` of the joined processes; the others only take part in fetch() and in the ends
/// of runs. Every process makes the same worlds and calls the same functions in the same order,
/// with the same arguments. allocate()d memory is the process's own: other ranks' parts of it are
/// what they were, until they are fetched. All callers of run() throw the same first failure.
class JoinedWorld final : public World {
 public:
  /// `transport` outlives it and has at least `size` ranks, else Error(usage).
  JoinedWorld(JoinedTransport& transport, int size, JoinedOptions options = {});

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;
  void fetch(int rank, std::byte* data, std::size_t bytes) override;

 private:
  std::string run_here(std::uint64_t run, const Program& program);

  JoinedTransport& transport_;
  const JoinedOptions options_;
  SharedArena arena_;
};

}  // namespace tutti
