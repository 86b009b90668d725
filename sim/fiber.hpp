// Fibers: code with a stack of its own that runs until it suspends itself.
#pragma once

#include <array>
#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace tutti {

/// Stacks of equal size in one reservation of addresses: only pages that are touched take memory.
class FiberStacks {
 public:
  /// A page that cannot be touched lies below each stack if `guarded`; the kernel allows a process
  /// some 32,000 of them. Throws Error(system).
  FiberStacks(std::size_t count, std::size_t stack_bytes, bool guarded);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  std::size_t count() const { return count_; }

  /// The lowest usable address of a stack, and the one above it.
  std::byte* bottom(std::size_t index) const;
  std::byte* top(std::size_t index) const;

 private:
  const std::size_t count_;
  const std::size_t stack_bytes_;
  const bool guarded_;
  std::byte* memory_ = nullptr;
};

/// One fiber. All of a program are resumed by the same thread, never by themselves. A fiber that
/// has begun must end before it is destroyed.
class Fiber {
 public:
  /// What a fiber runs; no exception may leave it.
  using Code = std::function<void()>;

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() begins `code`, on a stack that no other fiber uses meanwhile.
  void start(const FiberStacks& stacks, std::size_t stack, Code code);

  /// Runs the fiber until it suspends itself or ends. Handlers of exceptions may be open on either
  /// side.
  void resume();

  /// Back to where the fiber was resumed from; only within the fiber.
  void suspend();

  /// Brings what a suspended fiber will need first into the cache.
  void prefetch() const;

 private:
  /// The C++ runtime's account of the exceptions that a thread handles.
  using Exceptions = std::array<void*, 2>;

  /// What AddressSanitizer has to know when the fiber's stack begins or ceases to be used.
  void arrive(void* fake_stack);
  void* depart(bool for_good);

  boost::context::fiber context_;  ///< Of the suspended fiber; while it runs, of its resumer.
  Exceptions exceptions_ = {};     ///< Of the suspended fiber.
  const char* frame_ = nullptr;    ///< Where the fiber has suspended itself.
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  const void* resumer_stack_ = nullptr;  ///< Known only under AddressSanitizer.
  std::size_t resumer_stack_bytes_ = 0;
};

}  // namespace tutti
