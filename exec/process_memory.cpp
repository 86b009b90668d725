#include "exec/process_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

namespace tutti {

MemoryRead read_memory(pid_t pid, const std::byte* source, std::byte* target, std::size_t bytes) {
  while (bytes > 0) {
    const iovec local = {target, bytes};
    const iovec remote = {const_cast<std::byte*>(source), bytes};
    const ssize_t copied = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return errno == ESRCH ? MemoryRead::gone : MemoryRead::refused;
    source += copied;
    target += copied;
    bytes -= static_cast<std::size_t>(copied);
  }
  return MemoryRead::done;
}

void permit_reads(pid_t reader) {
  prctl(PR_SET_PTRACER, reader, 0, 0, 0);
}

}  // namespace tutti
