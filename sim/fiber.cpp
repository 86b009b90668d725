#include "sim/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/preallocated.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "collectives/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tutti {
namespace {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// The stacks belong to FiberStacks, so there is nothing to give back.
struct BorrowedStack {
  boost::context::stack_context allocate() { return {}; }
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

FiberStacks::FiberStacks(std::size_t count, std::size_t stack_bytes, bool guarded)
    : count_(count), stack_bytes_(stack_bytes), guarded_(guarded) {
  const std::size_t bytes = count * stack_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::system,
                fmt::format("cannot reserve {} bytes of addresses for {} stacks: {}; fewer ranks "
                            "need less, as do limits such as ulimit -v",
                            bytes, count, std::generic_category().message(errno)));
  }
  memory_ = static_cast<std::byte*>(memory);
  // A huge page would be shared by many stacks, and be filled by the first.
  madvise(memory_, bytes, MADV_NOHUGEPAGE);
  if (!guarded) return;
  for (std::size_t index = 0; index < count; ++index) {
    mprotect(memory_ + index * stack_bytes, page_bytes(), PROT_NONE);
  }
}

FiberStacks::~FiberStacks() {
  munmap(memory_, count_ * stack_bytes_);
}

std::byte* FiberStacks::bottom(std::size_t index) const {
  return memory_ + index * stack_bytes_ + (guarded_ ? page_bytes() : 0);
}

std::byte* FiberStacks::top(std::size_t index) const {
  // Not at the same place in its page for all: few lines of a cache would have to hold them all.
  constexpr std::size_t colours = 8, colour_bytes = 256;
  return memory_ + (index + 1) * stack_bytes_ - index % colours * colour_bytes;
}

void Fiber::start(const FiberStacks& stacks, std::size_t stack, Code code) {
  stack_ = stacks.bottom(stack);
  stack_bytes_ = static_cast<std::size_t>(stacks.top(stack) - stacks.bottom(stack));
#if defined(__SANITIZE_ADDRESS__)
  // What the last frames of an earlier fiber have left: they were never returned from.
  __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
  boost::context::stack_context context;
  context.size = stack_bytes_;
  context.sp = stacks.top(stack);
  const boost::context::preallocated place(context.sp, context.size, context);
  context_ = boost::context::fiber(std::allocator_arg, place, BorrowedStack{},
                                   [this, run = std::move(code)](boost::context::fiber&& resumer) {
                                     context_ = std::move(resumer);
                                     arrive(nullptr);
                                     run();
                                     depart(true);
                                     return std::move(context_);
                                   });
}

void Fiber::resume() {
  void* const current = abi::__cxa_get_globals();
  Exceptions own;
  std::memcpy(&own, current, sizeof own);
  std::memcpy(current, &exceptions_, sizeof exceptions_);
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_, stack_bytes_);
#endif
  boost::context::fiber suspended = std::move(context_).resume();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  context_ = std::move(suspended);
  std::memcpy(&exceptions_, current, sizeof exceptions_);
  std::memcpy(current, &own, sizeof own);
}

void Fiber::suspend() {
  frame_ = static_cast<const char*>(__builtin_frame_address(0));
  void* const fake_stack = depart(false);
  context_ = std::move(context_).resume();
  arrive(fake_stack);
}

void Fiber::prefetch() const {
  // The registers below the frame, and the frames of the few functions above.
  constexpr std::ptrdiff_t line_bytes = 64, lines_below = 2, lines_above = 10;
  if (frame_ == nullptr) return;
  for (std::ptrdiff_t line = -lines_below; line < lines_above; ++line) {
    __builtin_prefetch(frame_ + line * line_bytes, 1);
  }
}

void Fiber::arrive([[maybe_unused]] void* fake_stack) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, &resumer_stack_, &resumer_stack_bytes_);
#endif
}

void* Fiber::depart([[maybe_unused]] bool for_good) {
  void* fake_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack, resumer_stack_,
                                 resumer_stack_bytes_);
#endif
  return fake_stack;
}

}  // namespace tutti
