// The clock of real channels.
#pragma once

#include <ctime>

namespace tutti {

/// CLOCK_MONOTONIC in seconds: the same in all processes of a machine.
inline double monotonic_seconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace tutti
