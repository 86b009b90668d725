#include "collectives/parts.hpp"

#include <algorithm>

#include "collectives/error.hpp"

namespace tutti {

Parts::Parts(Block whole, int size, Partition partition)
    : whole_(whole), size_(size), partition_(partition) {
  check(size > 0, "parts: a block cannot be divided into {} parts", size);
}

Parts::Parts(Block whole, const std::vector<std::size_t>& counts)
    : whole_(whole), size_(static_cast<int>(counts.size())), offsets_{0} {
  check(size_ > 0, "parts: a block cannot be divided into no parts");
  for (const std::size_t count : counts) offsets_.push_back(offsets_.back() + count);
  check(offsets_.back() == whole.count, "parts: the counts add up to {}, the block has {}",
        offsets_.back(), whole.count);
}

std::size_t Parts::begin_of(int index) const {
  return offsets_.empty() ? whole_.part_begin(index, size_, partition_)
                          : offsets_[static_cast<std::size_t>(index)];
}

Block Parts::operator[](int index) const {
  return range(((index % size_) + size_) % size_, 1);
}

Block Parts::range(int first, int length) const {
  check(first >= 0 && length >= 0 && first + length <= size_,
        "parts: [{}, {} + {}) do not lie within {} parts", first, first, length, size_);
  const std::size_t begin = begin_of(first);
  return whole_.slice(begin, begin_of(first + length) - begin);
}

std::size_t Parts::largest_bytes() const {
  if (offsets_.empty()) return range(0, 1).bytes();
  std::size_t largest = 0;
  for (int i = 0; i < size_; ++i) largest = std::max(largest, range(i, 1).bytes());
  return largest;
}

}  // namespace tutti
