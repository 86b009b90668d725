#include "collectives/block.hpp"

#include <algorithm>

#include "collectives/error.hpp"

namespace tutti {
namespace {

std::size_t divide_up(std::size_t value, std::size_t divisor) {
  return (value + divisor - 1) / divisor;
}

// The chunk size of gloo/allreduce.cc: all chunks but the last non-empty one have it.
std::size_t gloo_chunk_count(std::size_t count, std::size_t element_bytes, std::size_t parts) {
  constexpr std::size_t largest_segment_bytes = 1 << 20;
  const std::size_t largest = std::max<std::size_t>(1, largest_segment_bytes / element_bytes);
  const std::size_t wanted = std::max(divide_up(count, largest), 2 * parts);
  const std::size_t segments = divide_up(wanted, parts) * parts;
  return segments / parts * divide_up(count, segments);
}

}  // namespace

Block Block::slice(std::size_t first, std::size_t length) const {
  check(first <= count && length <= count - first,
        "block: elements [{}, {} + {}) do not lie within {} elements", first, first, length, count);
  std::byte* const begin = is_ghost() ? nullptr : data + first * bytes_of(dtype);
  return Block{begin, length, dtype};
}

Block Block::part(int index, int parts, Partition partition) const {
  check(parts > 0, "block: cannot be divided into {} parts", parts);
  const int wrapped = ((index % parts) + parts) % parts;
  const auto i = static_cast<std::size_t>(wrapped);
  const auto n = static_cast<std::size_t>(parts);
  if (partition == Partition::gloo) {
    const std::size_t chunk = gloo_chunk_count(count, bytes_of(dtype), n);
    const std::size_t first = std::min(count, i * chunk);
    return slice(first, std::min(chunk, count - first));
  }
  const std::size_t small = count / n;
  const std::size_t larger_parts = count % n;
  const std::size_t first = i * small + std::min(i, larger_parts);
  return slice(first, small + (i < larger_parts ? 1 : 0));
}

}  // namespace tutti
