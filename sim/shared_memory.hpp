// Memory that this process and the processes it forks later see at the same address.
#pragma once

#include <cstddef>

namespace tutti {

/// Zeroed, aligned to pages, unmapped by the destructor. Throws Error(system) when there is none.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

}  // namespace tutti
