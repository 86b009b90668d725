#include "experiments/inputs.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "collectives/kernels.hpp"

namespace tutti {
namespace {

constexpr std::size_t period = 1021;
constexpr auto filler = std::byte{0xA5};

template <typename Integer>
void store(std::byte* target, std::int64_t value) {
  const auto narrow = static_cast<Integer>(value);
  std::memcpy(target, &narrow, sizeof narrow);
}

// Integers wrap around.
void store_element(DType dtype, std::byte* target, std::int64_t value) {
  switch (dtype) {
    case DType::int8:
      return store<std::int8_t>(target, value);
    case DType::uint8:
      return store<std::uint8_t>(target, value);
    case DType::int32:
      return store<std::int32_t>(target, value);
    case DType::int64:
      return store<std::int64_t>(target, value);
    default:
      break;
  }
  const auto real = static_cast<double>(value);
  std::byte bytes[sizeof real];
  std::memcpy(bytes, &real, sizeof real);
  convert_elements(dtype, target, DType::float64, bytes, 1);
}

template <typename Integer>
std::vector<double> widen(Block block) {
  std::vector<double> wide(block.count);
  for (std::size_t i = 0; i < block.count; ++i) {
    Integer value;
    std::memcpy(&value, block.data + i * sizeof value, sizeof value);
    wide[i] = static_cast<double>(value);
  }
  return wide;
}

// What keeps every partial result exact even in bfloat16 with its eight bits: at most 64 ranks
// contribute to a sum, one rank at most contributes a factor of two.
std::int64_t exact_value(Op op, int rank, int size, std::size_t index) {
  const auto mixed = (static_cast<std::uint64_t>(rank) * 7919 + index + 1) * 0x9E3779B97F4A7C15u;
  const auto digit = static_cast<std::int64_t>((mixed >> 40) % 7) - 3;
  const auto rank_index = static_cast<std::size_t>(rank);
  switch (op) {
    case Op::sum:
    case Op::average: {
      const auto stride = static_cast<std::size_t>((size + 63) / 64);
      return rank_index % stride == index % stride ? digit : 0;
    }
    case Op::product: {
      const bool doubles = index % static_cast<std::size_t>(size) == rank_index;
      return (digit < 0 ? -1 : 1) * (doubles ? 2 : 1);
    }
    default:
      return digit;
  }
}

// Calls visit(element, length, first) for runs of `block` that repeat the pattern without a break.
template <typename Visit>
void for_each_run(Block block, std::size_t offset, const Visit& visit) {
  for (std::size_t i = 0; i < block.count;) {
    const std::size_t first = (offset + i) % period;
    const std::size_t length = std::min(period - first, block.count - i);
    visit(i, length, first);
    i += length;
  }
}

// The element at which `part` begins in `whole`.
std::size_t offset_of(Block whole, Block part) {
  return static_cast<std::size_t>(part.data - whole.data) / bytes_of(whole.dtype);
}

void fill_repeating(Block whole, Block part, const std::vector<std::byte>& pattern) {
  const std::size_t element = bytes_of(whole.dtype);
  for_each_run(part, offset_of(whole, part), [&](std::size_t i, std::size_t n, std::size_t first) {
    std::memcpy(part.data + i * element, pattern.data() + first * element, n * element);
  });
}

// Elements of `part` that are not the pattern's from element `offset` on.
std::size_t count_different(Block part, std::size_t offset, const std::vector<std::byte>& pattern) {
  const std::size_t element = bytes_of(part.dtype);
  std::size_t wrong = 0;
  for_each_run(part, offset, [&](std::size_t i, std::size_t n, std::size_t first) {
    const std::byte* found = part.data + i * element;
    const std::byte* expected = pattern.data() + first * element;
    if (std::memcmp(found, expected, n * element) == 0) return;
    for (std::size_t k = 0; k < n; ++k) {
      if (std::memcmp(found + k * element, expected + k * element, element) != 0) ++wrong;
    }
  });
  return wrong;
}

// What of `whole` the rank contributes; the rest becomes filler.
Block with_filler(const Division& division, int rank, Block whole) {
  const Block own = division.input_of(whole, rank);
  if (own.count < whole.count) fill_with_filler(whole);
  return own;
}

}  // namespace

ExactInputs::ExactInputs(int size, DType dtype, Op op) {
  const std::size_t element = bytes_of(dtype);
  for (int rank = 0; rank < size; ++rank) {
    Pattern pattern(period * element);
    for (std::size_t i = 0; i < period; ++i) {
      store_element(dtype, pattern.data() + i * element, exact_value(op, rank, size, i));
    }
    contributions_.push_back(std::move(pattern));
  }
  reduced_ = contributions_.front();
  const Op step = op == Op::average ? Op::sum : op;
  for (int rank = 1; rank < size; ++rank) {
    reduce_elements(step, dtype, reduced_.data(),
                    contributions_[static_cast<std::size_t>(rank)].data(), period);
  }
  if (op == Op::average) divide_elements(dtype, reduced_.data(), period, size);
}

void ExactInputs::fill(const Division& division, int rank, Block whole) const {
  const Block own = with_filler(division, rank, whole);
  fill_repeating(whole, own, contributions_[static_cast<std::size_t>(rank)]);
}

std::size_t ExactInputs::count_wrong(const Division& division, int rank, Block whole) const {
  const Collective collective = division.collective;
  const Block result = division.result_of(whole, rank);
  if (result.is_empty()) return 0;
  const std::size_t offset = offset_of(whole, result);
  if (reduces(collective)) return count_different(result, offset, reduced_);
  if (collective == Collective::broadcast || collective == Collective::scatter) {
    return count_different(result, offset, contributions_[static_cast<std::size_t>(division.root)]);
  }
  std::size_t wrong = 0;
  for (int from = 0; from < division.size; ++from) {
    const Block part = division.parts_of(whole, rank)[from];
    // Where in its sender's buffer the part begins.
    const Block sent =
        collective == Collective::alltoall ? division.parts_of(whole, from)[rank] : part;
    wrong += count_different(part, offset_of(whole, sent),
                             contributions_[static_cast<std::size_t>(from)]);
  }
  return wrong;
}

void fill_random(const Division& division, int rank, std::uint64_t seed, Block whole) {
  const Block own = with_filler(division, rank, whole);
  std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(rank));
  if (!is_floating(own.dtype)) {
    const std::size_t element = bytes_of(own.dtype);
    for (std::size_t i = 0; i < own.count; ++i) {
      store_element(own.dtype, own.data + i * element, static_cast<std::int64_t>(random()));
    }
    return;
  }
  std::vector<double> values(own.count);
  for (double& value : values) value = static_cast<double>(random() >> 11) * 0x1p-52 - 1.0;
  convert_elements(own.dtype, own.data, DType::float64,
                   reinterpret_cast<const std::byte*>(values.data()), own.count);
}

void fill_with_filler(Block whole) {
  std::fill_n(whole.data, whole.bytes(), filler);
}

void reduce_serially(const Division& division, Op op, const std::vector<Block>& data) {
  const int size = division.size;
  const auto copy = [](Block target, Block source) {
    if (target.data != source.data) std::copy_n(source.data, source.bytes(), target.data);
  };
  const auto part = [&](int rank, int index) {
    return division.parts_of(data[static_cast<std::size_t>(rank)], rank)[index];
  };
  switch (division.collective) {
    case Collective::barrier:
      return;
    case Collective::broadcast:
    case Collective::scatter:
      for (const Block target : data) copy(target, data[static_cast<std::size_t>(division.root)]);
      return;
    case Collective::allgather:
    case Collective::gather:
      for (int from = 0; from < size; ++from) {
        for (int to = 0; to < size; ++to) copy(part(to, from), part(from, from));
      }
      return;
    case Collective::alltoall:
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < i; ++j) {
          const Block mine = part(i, j), theirs = part(j, i);
          std::swap_ranges(mine.data, mine.data + mine.bytes(), theirs.data);
        }
      }
      return;
    case Collective::allreduce:
    case Collective::reduce_scatter:
    case Collective::reduce:
      break;
  }
  for (std::size_t rank = 1; rank < data.size(); ++rank) {
    reduce_elements(op, data[0].dtype, data[0].data, data[rank].data, data[0].count);
  }
  for (const Block target : data) copy(target, data[0]);
}

std::vector<double> to_doubles(Block block) {
  switch (block.dtype) {
    case DType::int8:
      return widen<std::int8_t>(block);
    case DType::uint8:
      return widen<std::uint8_t>(block);
    case DType::int32:
      return widen<std::int32_t>(block);
    case DType::int64:
      return widen<std::int64_t>(block);
    default:
      break;
  }
  std::vector<double> wide(block.count);
  convert_elements(DType::float64, reinterpret_cast<std::byte*>(wide.data()), block.dtype,
                   block.data, block.count);
  return wide;
}

}  // namespace tutti
