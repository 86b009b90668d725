#include "exec/doorbell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace tutti {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// The futex is not private: sleeper and ringer are different processes.
void Doorbell::sleep(double deadline_seconds) {
  timespec deadline{};
  const bool bounded = std::isfinite(deadline_seconds);
  if (bounded) {
    const double whole_seconds = std::floor(deadline_seconds);
    deadline.tv_sec = static_cast<time_t>(whole_seconds);
    deadline.tv_nsec = static_cast<long>((deadline_seconds - whole_seconds) * 1e9);
  }
  syscall(SYS_futex, &armed_, FUTEX_WAIT_BITSET, 1U, bounded ? &deadline : nullptr, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void Doorbell::wake() {
  syscall(SYS_futex, &armed_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace tutti
