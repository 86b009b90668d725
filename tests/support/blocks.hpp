// Blocks of test data: filled reproducibly, compared to the bit.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "collectives/block.hpp"

namespace tutti {

/// The seed of a test's random data: `fallback`, or the environment's TUTTI_SEED. Printed, so that
/// a failure can be repeated.
std::uint64_t test_seed(std::uint64_t fallback);

/// Random numbers in [-1, 1); for integer types over their whole range.
void fill_random(Block block, std::mt19937_64& random);

/// Whole numbers from -2 to 2 (0 to 2 for uint8): any sum of up to 60 and any product of up to 14
/// of them is exact in every floating-point type, in any order.
void fill_whole(Block block, std::mt19937_64& random);

/// Sets one element.
void set_element(Block block, std::size_t index, double value);

/// One element, rounded to double.
double element(Block block, std::size_t index);

/// A copy of the bytes.
std::vector<std::byte> bytes_in(Block block);

/// Equal in dtype, count and every bit; the failure names the first difference.
testing::AssertionResult same_bits(Block expected, Block actual);

}  // namespace tutti
