// Memory shared between a process and those that it forks later.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace tutti {

/// Zeroed anonymous shared pages: without a name, so that nothing can be left behind.
class SharedMapping {
 public:
  /// Unreserved pages count only when touched; reserved ones are refused at once where the machine
  /// cannot hold them. Throws Error(system).
  enum class Pages { reserved, unreserved };
  SharedMapping(std::size_t bytes, Pages pages);
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// Hands out shared memory that is returned only all together.
class SharedArena {
 public:
  /// Zeroed, aligned to 128 bytes, never null. Only in the process that made the arena: what a
  /// forked one allocated, nobody else would see. Throws Error(system).
  std::byte* allocate(std::size_t bytes);

  /// True where all of [data, data + bytes) came from allocate().
  bool contains(const std::byte* data, std::size_t bytes) const;

 private:
  pid_t owner_ = getpid();
  std::vector<SharedMapping> mappings_;
  std::size_t used_bytes_ = 0;  // Of the last mapping.
};

}  // namespace tutti
