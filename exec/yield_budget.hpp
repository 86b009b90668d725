// YieldBudget: when to stop giving the processor away.
#pragma once

#include <algorithm>

namespace tutti {

/// Whether it is worth a wait to give the processor away. Where a foreign process competes for it,
/// one yield can cost a time slice of milliseconds; then the next waits had better sleep at once.
/// After each such yield in a row twice as many waits do, up to some dozens, before one tries
/// again.
class YieldBudget {
 public:
  /// At the beginning of a wait that could yield: whether it may.
  bool may_yield() {
    if (waits_to_skip_ == 0) return true;
    --waits_to_skip_;
    return false;
  }

  /// After a yield of `seconds`: whether the wait may yield again.
  bool may_go_on(double seconds) {
    if (seconds < longest_seconds) return true;
    waits_to_skip_ = next_skip_;
    next_skip_ = std::min(2 * next_skip_, most_waits);
    return false;
  }

  /// After a wait none of whose yields was long.
  void recover() { next_skip_ = std::max(next_skip_ / 2, fewest_waits); }

 private:
  // Ranks that take turns are done sooner, a foreign process uses its slice of some milliseconds.
  static constexpr double longest_seconds = 2e-3;
  static constexpr int fewest_waits = 4, most_waits = 64;

  int waits_to_skip_ = 0;
  int next_skip_ = fewest_waits;
};

}  // namespace tutti
