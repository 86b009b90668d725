#include "collectives/kernels.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collectives/error.hpp"

namespace tutti {
namespace {

template <typename T>
constexpr DType dtype_for();
template <>
constexpr DType dtype_for<float>() {
  return DType::float32;
}
template <>
constexpr DType dtype_for<double>() {
  return DType::float64;
}
template <>
constexpr DType dtype_for<Eigen::half>() {
  return DType::float16;
}
template <>
constexpr DType dtype_for<Eigen::bfloat16>() {
  return DType::bfloat16;
}
template <>
constexpr DType dtype_for<std::int8_t>() {
  return DType::int8;
}
template <>
constexpr DType dtype_for<std::uint8_t>() {
  return DType::uint8;
}
template <>
constexpr DType dtype_for<std::int32_t>() {
  return DType::int32;
}
template <>
constexpr DType dtype_for<std::int64_t>() {
  return DType::int64;
}

template <typename T>
std::vector<T> reduced(Op op, std::vector<T> target, const std::vector<T>& source) {
  reduce_elements(op, dtype_for<T>(), reinterpret_cast<std::byte*>(target.data()),
                  reinterpret_cast<const std::byte*>(source.data()), target.size());
  return target;
}

template <typename T>
T reduced(Op op, T target, T source) {
  return reduced(op, std::vector<T>{target}, std::vector<T>{source}).front();
}

template <typename T>
std::vector<std::byte> bytes_of_value(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <typename T>
class FloatingKernels : public testing::Test {};
using Floating = testing::Types<float, double, Eigen::half, Eigen::bfloat16>;
TYPED_TEST_SUITE(FloatingKernels, Floating);

template <typename T>
class AllKernels : public testing::Test {};
using All = testing::Types<float, double, Eigen::half, Eigen::bfloat16, std::int8_t, std::uint8_t,
                           std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(AllKernels, All);

TYPED_TEST(AllKernels, EveryOpIsTheObviousOneOnSmallIntegers) {
  using T = TypeParam;
  for (int a = 0; a <= 9; ++a) {
    for (int b = 0; b <= 9; ++b) {
      const T x = static_cast<T>(a), y = static_cast<T>(b);
      EXPECT_EQ(reduced(Op::sum, x, y), static_cast<T>(a + b));
      EXPECT_EQ(reduced(Op::product, x, y), static_cast<T>(a * b));
      EXPECT_EQ(reduced(Op::min, x, y), static_cast<T>(std::min(a, b)));
      EXPECT_EQ(reduced(Op::max, x, y), static_cast<T>(std::max(a, b)));
      EXPECT_EQ(reduced(Op::replace, x, y), y);
    }
  }
}

TYPED_TEST(AllKernels, ElementsAreIndependentAtEveryCount) {
  using T = TypeParam;
  for (std::size_t count = 0; count < 70; ++count) {
    std::vector<T> target, source;
    for (std::size_t i = 0; i < count; ++i) {
      target.push_back(static_cast<T>(static_cast<int>(i % 11)));
      source.push_back(static_cast<T>(static_cast<int>(i % 7)));
    }
    const std::vector<T> sums = reduced(Op::sum, target, source);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(sums[i], static_cast<T>(static_cast<int>(i % 11 + i % 7)));
    }
  }
}

TYPED_TEST(FloatingKernels, MinAndMaxPropagateNaNFromEitherSide) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T three = static_cast<T>(3.0F);
  for (const Op op : {Op::min, Op::max, Op::sum, Op::product}) {
    EXPECT_TRUE((Eigen::numext::isnan)(reduced(op, nan, three)));
    EXPECT_TRUE((Eigen::numext::isnan)(reduced(op, three, nan)));
    EXPECT_TRUE((Eigen::numext::isnan)(reduced(op, nan, nan)));
  }
}

TYPED_TEST(FloatingKernels, EveryOpIsCommutativeToTheBit) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T infinity = std::numeric_limits<T>::infinity();
  const std::vector<T> specials = {static_cast<T>(0.0F),
                                   static_cast<T>(-0.0F),
                                   static_cast<T>(1.5F),
                                   infinity,
                                   -infinity,
                                   nan,
                                   -nan,
                                   std::numeric_limits<T>::denorm_min()};
  for (const Op op : {Op::sum, Op::product, Op::min, Op::max}) {
    for (const T a : specials) {
      for (const T b : specials) {
        EXPECT_EQ(bytes_of_value(reduced(op, a, b)), bytes_of_value(reduced(op, b, a)))
            << name_of(op) << " of " << static_cast<float>(a) << " and " << static_cast<float>(b);
      }
    }
  }
}

TYPED_TEST(FloatingKernels, MinusZeroOrdersBelowZero) {
  using T = TypeParam;
  const T zero = static_cast<T>(0.0F), minus_zero = static_cast<T>(-0.0F);
  EXPECT_EQ(bytes_of_value(reduced(Op::min, zero, minus_zero)), bytes_of_value(minus_zero));
  EXPECT_EQ(bytes_of_value(reduced(Op::max, minus_zero, zero)), bytes_of_value(zero));
}

TEST(Kernels, Bfloat16SumsRoundAtEveryStep) {
  using Eigen::bfloat16;
  const bfloat16 large(256.0F), one(1.0F);
  EXPECT_EQ(reduced(Op::sum, large, one), large);
  EXPECT_EQ(reduced(Op::sum, reduced(Op::sum, large, one), reduced(Op::sum, one, one)),
            bfloat16(258.0F));
}

template <typename T>
class ShortKernels : public testing::Test {};
using Short = testing::Types<Eigen::half, Eigen::bfloat16>;
TYPED_TEST_SUITE(ShortKernels, Short);

// Eigen's own arithmetic on 16-bit types is the reference.
TYPED_TEST(ShortKernels, ArithmeticEqualsEigensForEveryValue) {
  using T = TypeParam;
  std::vector<T> all;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    all.push_back(std::bit_cast<T>(static_cast<std::uint16_t>(bits)));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float other :
       {0.0F, -0.0F, 1.0F, -0.7F, 3e-30F, 2.5e38F, 6e-8F, 3.1e-5F, -0.03F, 65504.0F, -infinity}) {
    const std::vector<T> others(all.size(), static_cast<T>(other));
    const std::vector<T> sums = reduced(Op::sum, all, others);
    const std::vector<T> products = reduced(Op::product, all, others);
    const auto expect_equal = [](T found, T expected) {
      if ((Eigen::numext::isnan)(expected)) expected = std::numeric_limits<T>::quiet_NaN();
      EXPECT_EQ(bytes_of_value(found), bytes_of_value(expected));
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_equal(sums[i], static_cast<T>(all[i] + others[i]));
      expect_equal(products[i], static_cast<T>(all[i] * others[i]));
    }
  }
}

TEST(Kernels, RandomHalfProductsAndSumsEqualEigens) {
  const unsigned seed = 20240608;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<Eigen::half> a, b;
  for (int i = 0; i < 200'000; ++i) {
    a.push_back(std::bit_cast<Eigen::half>(static_cast<std::uint16_t>(random() % 0x7c00)));
    b.push_back(std::bit_cast<Eigen::half>(static_cast<std::uint16_t>(random() % 0x7c00)));
  }
  const std::vector<Eigen::half> sums = reduced(Op::sum, a, b),
                                 products = reduced(Op::product, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bytes_of_value(sums[i]), bytes_of_value(Eigen::half(a[i] + b[i])));
    EXPECT_EQ(bytes_of_value(products[i]), bytes_of_value(Eigen::half(a[i] * b[i])));
  }
}

TEST(Kernels, RandomFloatSumsEqualScalarAdditionToTheBit) {
  const unsigned seed = 20240607;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<float> a, b;
  for (int i = 0; i < 10'000; ++i) {
    a.push_back(std::ldexp(static_cast<float>(random()) - 2e9F, static_cast<int>(random() % 40)));
    b.push_back(std::ldexp(static_cast<float>(random()) - 2e9F, static_cast<int>(random() % 40)));
  }
  const std::vector<float> sums = reduced(Op::sum, a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const volatile float expected = a[i] + b[i];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[i]), std::bit_cast<std::uint32_t>(float{expected}));
  }
}

TEST(Kernels, IntegersWrapAround) {
  EXPECT_EQ(reduced<std::int8_t>(Op::sum, 127, 1), -128);
  EXPECT_EQ(reduced<std::uint8_t>(Op::product, 16, 17), 16);
  EXPECT_EQ(reduced<std::int32_t>(Op::sum, std::numeric_limits<std::int32_t>::max(), 1),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduced<std::int64_t>(Op::product, std::int64_t{1} << 62, 2),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Kernels, DivisionRoundsOnce) {
  std::vector<Eigen::half> values = {Eigen::half(10.0F), Eigen::half(1.0F)};
  divide_elements(DType::float16, reinterpret_cast<std::byte*>(values.data()), 2, 3);
  EXPECT_EQ(values[0], Eigen::half(10.0F / 3.0F));
  EXPECT_EQ(values[1], Eigen::half(1.0F / 3.0F));
}

TEST(Kernels, ConversionThereAndBackIsExactWhereTheTargetIsWider) {
  std::vector<Eigen::bfloat16> values;
  for (int i = -300; i < 300; ++i) values.push_back(Eigen::bfloat16(static_cast<float>(i) * 0.37F));
  std::vector<float> wide(values.size());
  std::vector<Eigen::bfloat16> back(values.size());
  convert_elements(DType::float32, reinterpret_cast<std::byte*>(wide.data()), DType::bfloat16,
                   reinterpret_cast<const std::byte*>(values.data()), values.size());
  convert_elements(DType::bfloat16, reinterpret_cast<std::byte*>(back.data()), DType::float32,
                   reinterpret_cast<const std::byte*>(wide.data()), values.size());
  EXPECT_EQ(back, values);
}

TEST(Kernels, WhatIsNoReductionIsAProgrammerError) {
  std::int32_t value = 1;
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  EXPECT_THROW(reduce_elements(Op::average, DType::int32, bytes, bytes, 1), ContractError);
  EXPECT_THROW(divide_elements(DType::int32, bytes, 1, 2), ContractError);
}

}  // namespace
}  // namespace tutti
