#include "collectives/dtype.hpp"

#include <fmt/ranges.h>

#include <array>
#include <string>
#include <vector>

#include "collectives/error.hpp"

namespace tutti {
namespace {

template <typename Value>
struct Name {
  std::string_view name;
  Value value;
};

constexpr std::array<DType, 8> dtypes = {
    DType::float32, DType::float64, DType::float16, DType::bfloat16,
    DType::int8,    DType::uint8,   DType::int32,   DType::int64,
};

// The first name of a value is its own, later ones are accepted spellings.
constexpr std::array<Name<DType>, 13> dtype_names = {{
    {"float32", DType::float32},
    {"float64", DType::float64},
    {"float16", DType::float16},
    {"bfloat16", DType::bfloat16},
    {"int8", DType::int8},
    {"uint8", DType::uint8},
    {"int32", DType::int32},
    {"int64", DType::int64},
    {"float", DType::float32},
    {"double", DType::float64},
    {"half", DType::float16},
    {"bf16", DType::bfloat16},
    {"int", DType::int32},
}};

constexpr std::array<Name<Op>, 8> op_names = {{
    {"replace", Op::replace},
    {"sum", Op::sum},
    {"product", Op::product},
    {"min", Op::min},
    {"max", Op::max},
    {"average", Op::average},
    {"prod", Op::product},
    {"avg", Op::average},
}};

template <typename Value, std::size_t size>
std::string_view first_name(const std::array<Name<Value>, size>& names, Value value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

template <typename Value, std::size_t size>
Value parse(const std::array<Name<Value>, size>& names, std::string_view what,
            std::string_view text) {
  std::vector<std::string_view> valid;
  for (const auto& entry : names) {
    if (entry.name == text) return entry.value;
    if (first_name(names, entry.value) == entry.name) valid.push_back(entry.name);
  }
  throw Error(ErrorKind::usage, fmt::format("unknown {} '{}', expected one of {}", what, text,
                                            fmt::join(valid, ", ")));
}

}  // namespace

std::span<const DType> all_dtypes() {
  return dtypes;
}

std::string_view name_of(DType dtype) {
  return first_name(dtype_names, dtype);
}
std::string_view name_of(Op op) {
  return first_name(op_names, op);
}

DType parse_dtype(std::string_view name) {
  return parse(dtype_names, "dtype", name);
}
Op parse_op(std::string_view name) {
  return parse(op_names, "op", name);
}

}  // namespace tutti
