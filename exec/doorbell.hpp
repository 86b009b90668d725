// Doorbell: sleeping in the kernel until another process rings.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti {

/// Lies in memory shared between processes. One thread sleeps on it, any number ring.
///
/// The sleeper arms the bell, then looks once more whether what it waits for has happened, and only
/// then sleeps; the ringer lets it happen, then rings. All accesses are sequentially consistent, so
/// either the sleeper sees the event or the ringer sees the armed bell. Ringing a bell that is not
/// armed costs one load.
class Doorbell {
 public:
  void arm() { armed_.store(1); }
  void disarm() { armed_.store(0); }
  bool is_armed() const { return armed_.load() != 0; }

  void ring() {
    if (armed_.load() != 0 && armed_.exchange(0) != 0) wake();
  }

  /// Returns when rung since arm(), when monotonic_seconds() has reached `deadline_seconds` (which
  /// may be infinite), or spuriously.
  void sleep(double deadline_seconds);

 private:
  void wake();

  std::atomic<std::uint32_t> armed_{0};
};

}  // namespace tutti
