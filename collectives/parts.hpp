// Parts: a block divided among ranks, in equal parts or in given ones.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/block.hpp"

namespace tutti {

/// A view of a block's parts, one a rank. The same algorithm serves equal parts and, with explicit
/// counts, the v-form of its collective.
class Parts {
 public:
  /// `size` parts by `partition`. Constant time and memory.
  Parts(Block whole, int size, Partition partition = Partition::balanced);

  /// Part i has counts[i] elements, zero allowed, one after the other. Programmer error unless they
  /// add up to the block's count.
  Parts(Block whole, const std::vector<std::size_t>& counts);

  int size() const { return size_; }
  Block whole() const { return whole_; }

  /// Part `index`, taken modulo size().
  Block operator[](int index) const;

  /// Parts first, ..., first + length - 1 as one block; they must not wrap around.
  Block range(int first, int length) const;

  /// The bytes of the largest part.
  std::size_t largest_bytes() const;

 private:
  std::size_t begin_of(int index) const;

  Block whole_;
  int size_;
  Partition partition_ = Partition::balanced;
  std::vector<std::size_t> offsets_;  // Of each part and the end; empty for equal parts.
};

}  // namespace tutti
