// MpiWait: how a wait for MPI spends its time. MPI has no call that sleeps until something arrives.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "exec/clock.hpp"

namespace tutti {

/// Polls at once, then gives the processor away between looks, and after some milliseconds sleeps
/// between them.
class MpiWait {
 public:
  /// `polls` looks come first, a few nanoseconds apart.
  explicit MpiWait(int polls) : polls_(polls) {}

  /// Between two looks. True now and then: time for what is too dear for every look.
  bool pause() {
    if (++looks_ < polls_) return false;
    const double now_seconds = monotonic_seconds();
    if (last_seconds_ > 0.0) {
      waited_seconds_ += std::min(now_seconds - last_seconds_, longest_step_seconds);
    }
    last_seconds_ = now_seconds;
    if (waited_seconds_ < yielding_seconds) {
      sched_yield();
    } else {
      const timespec nap{0, nap_nanoseconds};
      nanosleep(&nap, nullptr);
    }
    return true;
  }

  /// Without the time in which the process was stopped, as by Ctrl-Z.
  double waited_seconds() const { return waited_seconds_; }

 private:
  static constexpr double longest_step_seconds = 0.2;
  static constexpr double yielding_seconds = 5e-3;
  static constexpr long nap_nanoseconds = 50'000;

  const int polls_;
  int looks_ = 0;
  double last_seconds_ = 0.0;
  double waited_seconds_ = 0.0;
};

}  // namespace tutti
