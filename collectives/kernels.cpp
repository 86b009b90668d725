#include "collectives/kernels.hpp"

#include <Eigen/Core>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "collectives/error.hpp"

namespace tutti {
namespace {

template <typename T>
constexpr bool floating = !std::is_integral_v<T>;

// Any NaN becomes the type's one quiet NaN: which of two NaNs an addition returns depends on the
// order of its operands, and the ranks would disagree.
template <typename T>
T canonical(T value) {
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

// 16-bit types are computed in float and rounded to nearest, ties to even, as Eigen does, but
// without branches and calls, so that the compiler can vectorise it. The processor's own
// instructions are not used: the bits are the same with and without them.
template <typename T>
constexpr bool is_short = std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>;

float widened(Eigen::bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{std::bit_cast<std::uint16_t>(value)} << 16);
}

Eigen::bfloat16 narrowed(float value, Eigen::bfloat16) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const std::uint32_t nan = 0x7fc00000;
  return std::bit_cast<Eigen::bfloat16>(
      static_cast<std::uint16_t>((value == value ? rounded : nan) >> 16));
}

// A half's exponent is 112 less than a float's. The multiplication corrects that, for subnormal
// numbers too, but for infinity and NaN.
float widened(Eigen::half value) {
  const std::uint32_t bits = std::bit_cast<std::uint16_t>(value);
  const std::uint32_t magnitude = bits & 0x7fff;
  const auto scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t special = magnitude >= 0x7c00 ? 0x7f800000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special |
                              (bits & 0x8000) << 16);
}

Eigen::half narrowed(float value, Eigen::half) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // In 0.5 + x, what a half has no place for is rounded away, and the rest counts its smallest
  // subnormal number.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
      std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= (143U << 23) ? 0x7c00 : result;
  result |= bits >> 16 & 0x8000;
  result = magnitude > 0x7f800000 ? 0x7e00 : result;
  return std::bit_cast<Eigen::half>(static_cast<std::uint16_t>(result));
}

struct Sum {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (is_short<T>) {
      return narrowed(widened(a) + widened(b), T{});
    } else if constexpr (floating<T>) {
      return canonical(static_cast<T>(a + b));
    } else {
      using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    }
  }
};

struct Product {
  template <typename T>
  static T apply(T a, T b) {
    if constexpr (is_short<T>) {
      return narrowed(widened(a) * widened(b), T{});
    } else if constexpr (floating<T>) {
      return canonical(static_cast<T>(a * b));
    } else {
      using Wide = std::make_unsigned_t<std::common_type_t<T, int>>;
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    }
  }
};

template <std::size_t bytes>
using SignedOfSize = std::conditional_t<
    bytes == 8, std::int64_t,
    std::conditional_t<bytes == 4, std::int32_t,
                       std::conditional_t<bytes == 2, std::int16_t, std::int8_t>>>;

// min and max compare floating-point numbers by their bits, which orders -0 below +0 and needs no
// branch, so that the compiler can vectorise them for half and bfloat16 too.
template <typename T, bool wants_larger>
T extreme(T a, T b) {
  if constexpr (!floating<T>) {
    return (a < b) == wants_larger ? b : a;
  } else {
    using Bits = SignedOfSize<sizeof(T)>;
    constexpr Bits magnitude = std::numeric_limits<Bits>::max();
    const auto infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    const auto nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
    const Bits sign_of_x = static_cast<Bits>(x >> (8 * sizeof(T) - 1));
    const Bits sign_of_y = static_cast<Bits>(y >> (8 * sizeof(T) - 1));
    const Bits key_of_x = static_cast<Bits>(x ^ (sign_of_x & magnitude));
    const Bits key_of_y = static_cast<Bits>(y ^ (sign_of_y & magnitude));
    const Bits chosen = (key_of_x < key_of_y) == wants_larger ? y : x;
    const bool has_nan = ((x & magnitude) > infinity) | ((y & magnitude) > infinity);
    return std::bit_cast<T>(has_nan ? nan : chosen);
  }
}

struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return extreme<T, false>(a, b);
  }
};

struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return extreme<T, true>(a, b);
  }
};

template <typename Operation, typename T>
[[gnu::always_inline]] inline void reduce_each(std::byte* target_bytes,
                                               const std::byte* source_bytes, std::size_t count) {
  auto* const target = reinterpret_cast<T*>(target_bytes);
  const auto* const source = reinterpret_cast<const T*>(source_bytes);
  // The ranges are identical or apart, so each element depends on itself alone.
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) target[i] = Operation::apply(target[i], source[i]);
}

// The same loop for processors with wider registers: element by element, so the same bits.
#if defined(__x86_64__)
template <typename Operation, typename T>
[[gnu::target("avx2")]] void reduce_wide(std::byte* target, const std::byte* source,
                                         std::size_t count) {
  reduce_each<Operation, T>(target, source, count);
}

bool has_wide_registers() {
  static const bool has = __builtin_cpu_supports("avx2") > 0;
  return has;
}
#endif

template <typename Operation, typename T>
void reduce_typed(std::byte* target, const std::byte* source, std::size_t count) {
#if defined(__x86_64__)
  if (has_wide_registers()) return reduce_wide<Operation, T>(target, source, count);
#endif
  reduce_each<Operation, T>(target, source, count);
}

// Calls visitor with a value of the C++ type that `dtype` stands for.
template <typename Visitor>
void visit(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::float32:
      return visitor(float{});
    case DType::float64:
      return visitor(double{});
    case DType::float16:
      return visitor(Eigen::half{});
    case DType::bfloat16:
      return visitor(Eigen::bfloat16{});
    case DType::int8:
      return visitor(std::int8_t{});
    case DType::uint8:
      return visitor(std::uint8_t{});
    case DType::int32:
      return visitor(std::int32_t{});
    case DType::int64:
      return visitor(std::int64_t{});
  }
}

template <typename Visitor>
void visit_floating(DType dtype, Visitor&& visitor) {
  check(is_floating(dtype), "kernels: {} is not a floating-point type", name_of(dtype));
  visit(dtype, [&](auto zero) {
    if constexpr (floating<decltype(zero)>) visitor(zero);
  });
}

}  // namespace

void reduce_elements(Op op, DType dtype, std::byte* target, const std::byte* source,
                     std::size_t count) {
  if (op == Op::replace) {
    std::memmove(target, source, count * bytes_of(dtype));
    return;
  }
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    switch (op) {
      case Op::sum:
        return reduce_typed<Sum, T>(target, source, count);
      case Op::product:
        return reduce_typed<Product, T>(target, source, count);
      case Op::min:
        return reduce_typed<Min, T>(target, source, count);
      case Op::max:
        return reduce_typed<Max, T>(target, source, count);
      case Op::replace:
      case Op::average:
        check(false, "kernels: {} is not a reduction of two elements", name_of(op));
    }
  });
}

void divide_elements(DType dtype, std::byte* target, std::size_t count, int divisor) {
  visit_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    // Dividing in the wider type rounds once: half and bfloat16 have no division of their own.
    using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
    auto* const elements = reinterpret_cast<T*>(target);
    for (std::size_t i = 0; i < count; ++i) {
      elements[i] = static_cast<T>(static_cast<Wide>(elements[i]) / static_cast<Wide>(divisor));
    }
  });
}

void convert_elements(DType to, std::byte* target, DType from, const std::byte* source,
                      std::size_t count) {
  visit_floating(to, [&](auto target_zero) {
    visit_floating(from, [&](auto source_zero) {
      auto* const out = reinterpret_cast<decltype(target_zero)*>(target);
      const auto* const in = reinterpret_cast<const decltype(source_zero)*>(source);
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<decltype(target_zero)>(in[i]);
    });
  });
}

}  // namespace tutti
