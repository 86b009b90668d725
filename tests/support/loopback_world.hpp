// LoopbackWorld: ranks as threads of one process; the substrate that tests compare the others with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/world.hpp"

namespace tutti {

struct LoopbackOptions {
  /// Messages up to this size are copied when sent, so that the sender does not wait for the
  /// receiver; 0: every message is a rendezvous.
  std::size_t eager_bytes = 0;
  /// The longest that one wait may take; after it the rank fails with Error(timeout).
  double timeout_seconds = 30.0;
  int lanes = 1;
  std::uint64_t seed = 0;
};

/// Each run() starts a thread a rank and joins them all. Messages pass through mailboxes under one
/// lock: slow, but easily seen to be right. A message that nobody received is an Error(mismatch).
class LoopbackWorld final : public World {
 public:
  explicit LoopbackWorld(int size, LoopbackOptions options = {});
  ~LoopbackWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  LoopbackOptions options_;
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
};

}  // namespace tutti
