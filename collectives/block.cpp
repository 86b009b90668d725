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
  std::byte* const begin = data == nullptr ? nullptr : data + first * bytes_of(dtype);
  return Block{begin, length, dtype};
}

std::size_t Block::part_begin(int index, int parts, Partition partition) const {
  check(0 <= index && index <= parts && parts > 0, "block: part {} of {} does not exist", index,
        parts);
  const auto i = static_cast<std::size_t>(index);
  const auto n = static_cast<std::size_t>(parts);
  if (partition == Partition::gloo) {
    return std::min(count, i * gloo_chunk_count(count, bytes_of(dtype), n));
  }
  return i * (count / n) + std::min(i, count % n);
}

Block Block::part(int index, int parts, Partition partition) const {
  check(parts > 0, "block: cannot be divided into {} parts", parts);
  const int i = ((index % parts) + parts) % parts;
  const std::size_t first = part_begin(i, parts, partition);
  return slice(first, part_begin(i + 1, parts, partition) - first);
}

}  // namespace tutti
