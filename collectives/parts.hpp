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

  /// From the begin of the first part to the end of the last.
  Block whole() const;

  /// Part `index`, taken modulo size().
  Block operator[](int index) const;

  /// Parts first, ..., first + length - 1 as one block; they must not wrap around, nor lie apart.
  Block range(int first, int length) const;

  /// Parts first, first + stride, ..., `size` of them, as parts 0, 1, ... of their own. Where
  /// stride is not 1 they lie apart.
  Parts select(int first, int stride, int size) const;

  /// The bytes of the largest part.
  std::size_t largest_bytes() const;

 private:
  std::size_t begin_of(int index) const;

  Block whole_;  // All that is divided, even where some parts are selected.
  int divisor_;  // The number of parts of whole_.
  int size_;
  int first_ = 0;
  int stride_ = 1;
  Partition partition_ = Partition::balanced;
  std::vector<std::size_t> offsets_;  // Of each part and the end; empty for equal parts.
};

}  // namespace tutti
