#include "collectives/world.hpp"

namespace tutti {

std::mt19937_64& Rank::random() {
  if (!random_) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed_),
                           static_cast<std::uint32_t>(seed_ >> 32),
                           static_cast<std::uint32_t>(index_)};
    random_ = std::make_unique<std::mt19937_64>(sequence);
  }
  return *random_;
}

void World::fetch(int, std::byte*, std::size_t) {}

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
