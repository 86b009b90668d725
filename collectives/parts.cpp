#include "collectives/parts.hpp"

#include <algorithm>

#include "collectives/error.hpp"

namespace tutti {

Parts::Parts(Block whole, int size, Partition partition)
    : whole_(whole), divisor_(size), size_(size), partition_(partition) {
  check(size > 0, "parts: a block cannot be divided into {} parts", size);
}

Parts::Parts(Block whole, const std::vector<std::size_t>& counts)
    : whole_(whole), divisor_(static_cast<int>(counts.size())), size_(divisor_), offsets_{0} {
  check(size_ > 0, "parts: a block cannot be divided into no parts");
  for (const std::size_t count : counts) offsets_.push_back(offsets_.back() + count);
  check(offsets_.back() == whole.count, "parts: the counts add up to {}, the block has {}",
        offsets_.back(), whole.count);
}

std::size_t Parts::begin_of(int index) const {
  return offsets_.empty() ? whole_.part_begin(index, divisor_, partition_)
                          : offsets_[static_cast<std::size_t>(index)];
}

Block Parts::operator[](int index) const {
  return range(((index % size_) + size_) % size_, 1);
}

Block Parts::range(int first, int length) const {
  check(first >= 0 && length >= 0 && first + length <= size_,
        "parts: [{}, {} + {}) do not lie within {} parts", first, first, length, size_);
  if (length == 0) return whole_.slice(0, 0);
  check(length == 1 || stride_ == 1, "parts: parts {} to {} lie apart", first, first + length - 1);
  const int index = first_ + stride_ * first;
  const std::size_t begin = begin_of(index);
  return whole_.slice(begin, begin_of(index + length) - begin);
}

Block Parts::whole() const {
  const std::size_t begin = begin_of(first_);
  return whole_.slice(begin, begin_of(first_ + stride_ * (size_ - 1) + 1) - begin);
}

Parts Parts::select(int first, int stride, int size) const {
  check(first >= 0 && stride >= 1 && size >= 1 && first + stride * (size - 1) < size_,
        "parts: {} parts from {} in steps of {} do not lie within {} parts", size, first, stride,
        size_);
  Parts selected = *this;
  selected.size_ = size;
  selected.first_ = first_ + stride_ * first;
  selected.stride_ = stride_ * stride;
  return selected;
}

std::size_t Parts::largest_bytes() const {
  if (offsets_.empty()) return range(0, 1).bytes();
  std::size_t largest = 0;
  for (int i = 0; i < size_; ++i) largest = std::max(largest, range(i, 1).bytes());
  return largest;
}

}  // namespace tutti
