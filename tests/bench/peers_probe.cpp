#include "peers_probe.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tutti {
namespace {

constexpr std::size_t small_bytes = 16384;
constexpr std::size_t chunk = 4096;  // Elements: the accumulator stays in the first cache.
constexpr int spins_before_yield = 50;

struct alignas(128) Flag {
  std::atomic<std::size_t> wave;
};

// In shared memory a rank has its flag and two staging buffers, which take turns.
constexpr std::size_t rank_bytes = sizeof(Flag) + 2 * (small_bytes + 128);

Flag& flag_of(std::byte* shared, int rank) {
  return *reinterpret_cast<Flag*>(shared + static_cast<std::size_t>(rank) * rank_bytes);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]]
#endif
void add(float* __restrict target, const float* __restrict source, std::size_t count) {
#pragma GCC unroll 4
  for (std::size_t i = 0; i < count; ++i) target[i] += source[i];
}

}  // namespace

std::size_t Probe::bytes_for(int ranks) {
  return static_cast<std::size_t>(ranks) * rank_bytes;
}

Probe::Probe(int rank, int ranks, std::byte* shared, std::byte* data, std::size_t stride_bytes,
             bool yields)
    : rank_(rank),
      ranks_(ranks),
      shared_(shared),
      data_(data),
      stride_bytes_(stride_bytes),
      yields_(yields),
      wave_(flag_of(shared, rank).wave.load()) {}

float* Probe::buffer(int rank) const {
  return reinterpret_cast<float*>(data_ + static_cast<std::size_t>(rank) * stride_bytes_);
}

float* Probe::staged(int rank) const {
  std::byte* const own = shared_ + static_cast<std::size_t>(rank) * rank_bytes + sizeof(Flag);
  return reinterpret_cast<float*>(own + wave_ % 2 * (small_bytes + 128));
}

Probe::Range Probe::part(int rank, std::size_t count) const {
  const std::size_t length = count / static_cast<std::size_t>(ranks_);
  const std::size_t begin = static_cast<std::size_t>(rank) * length;
  return {begin, rank == ranks_ - 1 ? count : begin + length};
}

void Probe::raise_flag() {
  flag_of(shared_, rank_).wave.store(wave_, std::memory_order_release);
}

void Probe::wait_for_flag(int rank) const {
  const std::atomic<std::size_t>& flag = flag_of(shared_, rank).wave;
  for (int looks = 0; flag.load(std::memory_order_acquire) < wave_; ++looks) {
    if (yields_ && looks >= spins_before_yield) sched_yield();
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

void Probe::barrier() {
  ++wave_;
  raise_flag();
  for (int rank = 0; rank < ranks_; ++rank) wait_for_flag(rank);
}

void Probe::allreduce_small(std::size_t count) {
  ++wave_;
  std::memcpy(staged(rank_), buffer(rank_), count * sizeof(float));
  raise_flag();
  float* const result = buffer(rank_);
  for (int rank = 0; rank < ranks_; ++rank) {
    wait_for_flag(rank);
    if (rank == 0) {
      std::memcpy(result, staged(0), count * sizeof(float));
    } else {
      add(result, staged(rank), count);
    }
  }
}

void Probe::reduce_own(std::size_t count) {
  const Range own = part(rank_, count);
  for (std::size_t begin = own.begin; begin < own.end; begin += chunk) {
    const std::size_t length = std::min(chunk, own.end - begin);
    for (int i = 1; i < ranks_; ++i) {
      add(buffer(rank_) + begin, buffer((rank_ + i) % ranks_) + begin, length);
    }
  }
}

void Probe::copy_others(std::size_t count) {
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    const Range range = part(from, count);
    std::memcpy(buffer(rank_) + range.begin, buffer(from) + range.begin,
                (range.end - range.begin) * sizeof(float));
  }
}

void Probe::run(Collective collective, std::size_t count) {
  if (collective == Collective::allreduce && count * sizeof(float) <= small_bytes) {
    return allreduce_small(count);
  }
  // Everyone's input is there; at the end, nobody reads any more what its owner changes next.
  barrier();
  switch (collective) {
    case Collective::broadcast:
      if (rank_ != 0) std::memcpy(buffer(rank_), buffer(0), count * sizeof(float));
      break;
    case Collective::allgather:
      copy_others(count);
      break;
    case Collective::reduce_scatter:
      reduce_own(count);
      break;
    default:
      reduce_own(count);
      barrier();
      copy_others(count);
  }
  barrier();
}

}  // namespace tutti
