#include "collectives/world.hpp"

namespace tutti {
namespace {

std::mt19937_64 seeded(int index, std::uint64_t seed) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(index)};
  return std::mt19937_64(sequence);
}

}  // namespace

Rank::Rank(int index, int size, std::uint64_t seed)
    : index_(index), size_(size), random_(seeded(index, seed)) {}

}  // namespace tutti
