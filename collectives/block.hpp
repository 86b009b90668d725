// Block: a typed run of elements, and the only chunk arithmetic of the project.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/dtype.hpp"

namespace tutti {

/// How a block is divided into parts.
///
/// * balanced: the first `count % parts` parts hold one element more than the others
///   (73 elements in 4 parts: 19, 18, 18, 18).
/// * gloo: the chunks of gloo's ring allreduce (gloo/allreduce.cc): segments of at most 1 MiB, at
///   least two a chunk, all equal, so that the last chunks may be short or empty
///   (10 elements in 4 parts: 4, 4, 2, 0).
enum class Partition : std::uint8_t { balanced, gloo };

/// `count` elements of type `dtype` at `data`, which the block does not own. `data == nullptr` is a
/// ghost: a size without memory, legal wherever a real block is, and of the same simulated cost. A
/// ghost may have an address, see ghost_address(); its slices and parts then have theirs.
struct Block {
  std::byte* data = nullptr;
  std::size_t count = 0;
  DType dtype = DType::float32;

  bool is_ghost() const { return reinterpret_cast<std::intptr_t>(data) <= 0; }
  bool is_empty() const { return count == 0; }
  std::size_t bytes() const { return count * bytes_of(dtype); }

  /// Elements [first, first + length). Programmer error if they do not lie within the block.
  Block slice(std::size_t first, std::size_t length) const;

  /// Where part `index` (0 <= index <= parts) begins, in elements; that of `parts` is the end.
  std::size_t part_begin(int index, int parts, Partition partition = Partition::balanced) const;

  /// Part `index` (taken modulo `parts`, so -1 is the last) of the block divided into `parts`.
  Block part(int index, int parts, Partition partition = Partition::balanced) const;
};

/// An address for ghosts, in the half of the address space that belongs to the kernel, so that no
/// memory has it: it tells parts of a buffer from others where only costs are of interest.
inline std::byte* ghost_address(std::uintptr_t offset_bytes = 0) {
  return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 63 | offset_bytes);
}

}  // namespace tutti
