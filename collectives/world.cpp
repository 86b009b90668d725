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

void throw_failure(const std::exception_ptr& failure, int rank) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), rank);
  } catch (const ContractError& error) {
    throw ContractError(fmt::format("rank {}: {}", rank, error.what()));
  } catch (const std::exception& error) {
    throw Error(ErrorKind::system, fmt::format("rank {}: {}", rank, error.what()), rank);
  }
}

}  // namespace tutti
