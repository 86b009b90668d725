// Seqlock: a small value that one process writes and any process reads, without waiting for each
// other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tutti {

/// The words are atomics, released by the writer and acquired by the reader, so that no fence is
/// needed and nothing is a data race.
template <typename T>
class Seqlock {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// By one thread at a time.
  void store(const T& value) {
    std::array<std::uint64_t, words> copy{};
    std::memcpy(copy.data(), &value, sizeof(T));
    store_words(copy);
  }

  /// Changes the first eight bytes of the value only.
  void store_front(std::uint64_t front) { store_words(std::array{front}); }

  /// A value once stored, or T{} where a writer is in the middle of it for long (it may have been
  /// killed there).
  T load() const {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      std::array<std::uint64_t, words> copy{};
      for (std::size_t i = 0; i < words; ++i) copy[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 != 0 || version_.load(std::memory_order_relaxed) != before) continue;
      T value{};
      std::memcpy(static_cast<void*>(&value), copy.data(), sizeof(T));
      return value;
    }
    return T{};
  }

 private:
  template <std::size_t Count>
  void store_words(const std::array<std::uint64_t, Count>& copy) {
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < Count; ++i) words_[i].store(copy[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  static constexpr std::size_t words = (sizeof(T) + 7) / 8;

  std::atomic<std::uint64_t> version_{0};
  std::array<std::atomic<std::uint64_t>, words> words_{};
};

}  // namespace tutti
