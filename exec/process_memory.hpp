// Process memory: what another process has in memory that it does not share, where the kernel lets
// this one read it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace tutti {

enum class MemoryRead : std::uint8_t {
  done,
  gone,     ///< There is no such process any more.
  refused,  ///< The kernel does not permit it, or has no such call, or nothing lies there.
};

/// Copies [source, source + bytes) of process `pid` to `target`, with one copy and without the
/// other's help (process_vm_readv). Where it is not done, `target` is unspecified.
MemoryRead read_memory(pid_t pid, const std::byte* source, std::byte* target, std::size_t bytes);

/// Lets `reader` and its descendants read this process's memory where only ancestors may otherwise
/// (the Yama security module); elsewhere does nothing.
void permit_reads(pid_t reader);

}  // namespace tutti
