// The element types a Block may hold, and the reductions a receive may apply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tutti {

/// The type of one element. float16 is IEEE binary16, bfloat16 the upper half of a float32; both
/// are Eigen's types in memory. A reduction of either rounds to the type at every step, as gloo
/// does; see Accumulate in run.hpp for sums in float32.
enum class DType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  uint8,
  int32,
  int64,
};

/// What a receive does with a message: `block = op(block, message)` element by element.
///
/// * replace: the message overwrites the block.
/// * sum, product: integers wrap around modulo 2^bits.
/// * min, max: NaN propagates whichever rank holds it, and -0 orders below +0.
/// * average: a sum that run() divides by the number of ranks at the end; no receive carries it.
///
/// Every floating-point result that is a NaN is the type's one quiet NaN, so that each operation
/// is commutative to the bit and all ranks agree.
enum class Op : std::uint8_t { replace, sum, product, min, max, average };

/// The size of one element in bytes.
constexpr std::size_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64:
      return 8;
    case DType::float32:
    case DType::int32:
      return 4;
    case DType::float16:
    case DType::bfloat16:
      return 2;
    case DType::int8:
    case DType::uint8:
      return 1;
  }
  return 0;
}

/// True for the four floating-point types.
constexpr bool is_floating(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}

/// All types, in the order of the enumeration.
std::span<const DType> all_dtypes();

/// The lower-case name, for example "bfloat16".
std::string_view name_of(DType dtype);
std::string_view name_of(Op op);

/// The value with that name. nccl-tests' short names (float, half, bf16, prod, avg, ...) are
/// accepted too. Throws Error(usage) that lists the valid names.
DType parse_dtype(std::string_view name);
Op parse_op(std::string_view name);

}  // namespace tutti
