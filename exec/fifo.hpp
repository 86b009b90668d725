// Fifo: a first-in first-out list that keeps its memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tutti {

/// As std::deque, but allocates only while it grows beyond what it ever held: most of the time it
/// holds one item, for less than a microsecond.
template <typename T>
class Fifo {
 public:
  bool empty() const { return begin_ == items_.size(); }
  std::size_t size() const { return items_.size() - begin_; }

  /// `index` counts from the front.
  T& operator[](std::size_t index) { return items_[begin_ + index]; }
  const T& operator[](std::size_t index) const { return items_[begin_ + index]; }
  T& front() { return items_[begin_]; }
  const T& front() const { return items_[begin_]; }

  /// Amortised constant time.
  void push_back(T item) {
    if (begin_ > 0 && items_.size() == items_.capacity()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    items_.push_back(std::move(item));
  }

  void pop_front() {
    if (++begin_ < items_.size()) return;
    items_.clear();
    begin_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t begin_ = 0;
};

}  // namespace tutti
