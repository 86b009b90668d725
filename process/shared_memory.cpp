#include "process/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr std::size_t alignment_bytes = 128;
constexpr std::size_t smallest_mapping_bytes = std::size_t{4} << 20;

}  // namespace

SharedMapping::SharedMapping(std::size_t bytes, Pages pages) : bytes_(bytes) {
  const int extra = pages == Pages::unreserved ? MAP_NORESERVE : 0;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | extra, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::system,
                fmt::format("cannot share {} bytes ({:.1f} GB) of memory between ranks: {}", bytes,
                            static_cast<double>(bytes) * 1e-9, std::strerror(errno)));
  }
  data_ = static_cast<std::byte*>(memory);
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

std::byte* SharedArena::allocate(std::size_t bytes) {
  check(getpid() == owner_,
        "{} bytes of shared memory asked for inside a run; other ranks would not see them, "
        "allocate before the run",
        bytes);
  // The kernel refuses the impossible; this only keeps the rounding from wrapping around.
  const std::size_t wanted = std::min(bytes, std::numeric_limits<std::size_t>::max() / 2);
  const std::size_t rounded_bytes =
      (std::max<std::size_t>(wanted, 1) + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  if (mappings_.empty() || mappings_.back().bytes() - used_bytes_ < rounded_bytes) {
    mappings_.emplace_back(std::max(rounded_bytes, smallest_mapping_bytes),
                           SharedMapping::Pages::reserved);
    used_bytes_ = 0;
  }
  std::byte* const data = mappings_.back().data() + used_bytes_;
  used_bytes_ += rounded_bytes;
  return data;
}

bool SharedArena::contains(const std::byte* data, std::size_t bytes) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const SharedMapping& mapping) {
    return data >= mapping.data() && data + bytes <= mapping.data() + mapping.bytes();
  });
}

}  // namespace tutti
