#include "exec/mpi_calls.hpp"

#include <sched.h>

#include <array>
#include <cstdlib>

#include "collectives/error.hpp"
#include "exec/cores.hpp"

namespace tutti {

MpiCalls::MpiCalls() {
  int provided = MPI_THREAD_SINGLE;
  succeed(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "start");
  if (provided < MPI_THREAD_SERIALIZED) {
    throw Error(ErrorKind::system,
                "this MPI cannot be called by several threads in turn, which "
                "the mpi transport needs (MPI_THREAD_SERIALIZED)");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  succeed(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "make a communicator");
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
  look_around();
}

// A launcher may bind each process to processors of its own; together they have all of them.
void MpiCalls::look_around() {
  MPI_Comm local = MPI_COMM_NULL;
  succeed(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
          "find the ranks of this machine");
  int processes = 1;
  MPI_Comm_size(local, &processes);
  cpu_set_t own, all;
  CPU_ZERO(&own);
  CPU_ZERO(&all);
  sched_getaffinity(0, sizeof own, &own);
  succeed(MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, local), "share processors");
  MPI_Comm_free(&local);
  const int own_quota = available_cores();
  const int processors = own_quota < CPU_COUNT(&own) ? own_quota : CPU_COUNT(&all);
  is_oversubscribed_ = processes > processors;
}

MPI_Request MpiCalls::isend(const void* data, std::size_t bytes, int to, int tag) {
  const std::lock_guard lock(mutex_);
  MPI_Request request = MPI_REQUEST_NULL;
  succeed(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, communicator_, &request),
          "send");
  return request;
}

MPI_Request MpiCalls::irecv(void* data, std::size_t bytes, int from, int tag) {
  const std::lock_guard lock(mutex_);
  MPI_Request request = MPI_REQUEST_NULL;
  succeed(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, communicator_, &request),
          "receive");
  return request;
}

void MpiCalls::test_some(std::vector<MPI_Request>& requests, std::vector<int>& done) {
  done.resize(requests.size());
  int count = 0;
  {
    const std::lock_guard lock(mutex_);
    succeed(MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, done.data(),
                         MPI_STATUSES_IGNORE),
            "make progress");
  }
  done.resize(count == MPI_UNDEFINED ? 0 : static_cast<std::size_t>(count));
}

void MpiCalls::cancel(MPI_Request& request) {
  const std::lock_guard lock(mutex_);
  succeed(MPI_Cancel(&request), "cancel a receive");
}

std::optional<MpiMessage> MpiCalls::take(int tag) {
  const std::lock_guard lock(mutex_);
  int found = 0, bytes = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  succeed(MPI_Improbe(MPI_ANY_SOURCE, tag, communicator_, &found, &message, &status), "look");
  if (found == 0) return std::nullopt;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  MpiMessage taken{status.MPI_SOURCE, std::string(static_cast<std::size_t>(bytes), '\0')};
  succeed(MPI_Mrecv(taken.text.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "receive");
  return taken;
}

void MpiCalls::finalize() {
  MPI_Comm_free(&communicator_);
  MPI_Finalize();
}

void MpiCalls::abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

void MpiCalls::succeed(int result, const char* what) const {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw Error(ErrorKind::system,
              fmt::format("rank {}: mpi could not {}: {}", rank_, what, text.data()), rank_);
}

}  // namespace tutti
