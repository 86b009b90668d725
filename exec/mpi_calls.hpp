// MpiCalls: the calls of MPI that the transport is made of, for several threads.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tutti {

/// A message that has been received whole.
struct MpiMessage {
  int from = 0;
  std::string text;
};

/// MPI from its initialisation to its end, on a communicator of its own. One at a time calls it: a
/// lock costs less than MPI_THREAD_MULTIPLE does. Calls throw Error(system) with MPI's own text.
/// Tags below 32768 are valid with every MPI; lengths fit into an int.
class MpiCalls {
 public:
  MpiCalls();
  ~MpiCalls() = default;
  MpiCalls(const MpiCalls&) = delete;
  MpiCalls& operator=(const MpiCalls&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Whether the processes on this machine have fewer processors than there are of them.
  bool is_oversubscribed() const { return is_oversubscribed_; }

  /// The memory must stay until the request is complete.
  MPI_Request isend(const void* data, std::size_t bytes, int to, int tag);
  MPI_Request irecv(void* data, std::size_t bytes, int from, int tag);

  /// Puts the indices of those complete into `done`; their requests become null.
  void test_some(std::vector<MPI_Request>& requests, std::vector<int>& done);

  /// Of a receive: it then completes whether a message arrives or not.
  void cancel(MPI_Request& request);

  /// A message with `tag` from any rank, if one has arrived that no receive was waiting for.
  std::optional<MpiMessage> take(int tag);

  /// Returns when all processes have called it.
  void finalize();

  /// Ends all processes of the launch with `exit_code`. Does not return.
  [[noreturn]] void abort(int exit_code);

 private:
  void look_around();
  void succeed(int result, const char* what) const;

  std::mutex mutex_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool is_oversubscribed_ = false;
};

}  // namespace tutti
