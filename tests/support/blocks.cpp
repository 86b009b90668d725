#include "tests/support/blocks.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <type_traits>

namespace tutti {
namespace {

// Calls visitor with a typed pointer to the block's elements.
template <typename Visitor>
void visit(Block block, Visitor&& visitor) {
  switch (block.dtype) {
    case DType::float32:
      return visitor(reinterpret_cast<float*>(block.data));
    case DType::float64:
      return visitor(reinterpret_cast<double*>(block.data));
    case DType::float16:
      return visitor(reinterpret_cast<Eigen::half*>(block.data));
    case DType::bfloat16:
      return visitor(reinterpret_cast<Eigen::bfloat16*>(block.data));
    case DType::int8:
      return visitor(reinterpret_cast<std::int8_t*>(block.data));
    case DType::uint8:
      return visitor(reinterpret_cast<std::uint8_t*>(block.data));
    case DType::int32:
      return visitor(reinterpret_cast<std::int32_t*>(block.data));
    case DType::int64:
      return visitor(reinterpret_cast<std::int64_t*>(block.data));
  }
}

}  // namespace

std::uint64_t test_seed(std::uint64_t fallback) {
  const char* const given = std::getenv("TUTTI_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : fallback;
  std::cout << "seed " << seed << " (set TUTTI_SEED for another)\n";
  return seed;
}

void fill_random(Block block, std::mt19937_64& random) {
  visit(block, [&](auto* elements) {
    using T = std::remove_pointer_t<decltype(elements)>;
    std::uniform_real_distribution<double> real(-1.0, 1.0);
    for (std::size_t i = 0; i < block.count; ++i) {
      if constexpr (std::is_integral_v<T>) {
        elements[i] = static_cast<T>(random());
      } else {
        elements[i] = static_cast<T>(real(random));
      }
    }
  });
}

void fill_whole(Block block, std::mt19937_64& random) {
  std::uniform_int_distribution<int> whole(block.dtype == DType::uint8 ? 0 : -2, 2);
  for (std::size_t i = 0; i < block.count; ++i) set_element(block, i, whole(random));
}

void set_element(Block block, std::size_t index, double value) {
  visit(block, [&](auto* elements) {
    elements[index] = static_cast<std::remove_pointer_t<decltype(elements)>>(value);
  });
}

double element(Block block, std::size_t index) {
  double value = 0.0;
  visit(block, [&](auto* elements) { value = static_cast<double>(elements[index]); });
  return value;
}

std::vector<std::byte> bytes_in(Block block) {
  return {block.data, block.data + block.bytes()};
}

testing::AssertionResult same_bits(Block expected, Block actual) {
  if (expected.dtype != actual.dtype || expected.count != actual.count) {
    return testing::AssertionFailure()
           << fmt::format("expected {} {}, found {} {}", expected.count, name_of(expected.dtype),
                          actual.count, name_of(actual.dtype));
  }
  const std::size_t width = bytes_of(expected.dtype);
  for (std::size_t i = 0; i < expected.count; ++i) {
    if (std::memcmp(expected.data + i * width, actual.data + i * width, width) == 0) continue;
    return testing::AssertionFailure()
           << fmt::format("element {} of {} {}: expected {}, found {}", i, expected.count,
                          name_of(expected.dtype), element(expected, i), element(actual, i));
  }
  return testing::AssertionSuccess();
}

}  // namespace tutti
