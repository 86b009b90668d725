// The arithmetic on elements, shared by every substrate. Compiled without fast-math and without
// contraction, so that the same inputs give the same bits everywhere.
#pragma once

#include <cstddef>

#include "collectives/block.hpp"

namespace tutti {

/// target[i] = op(target[i], source[i]) for `count` elements of `dtype`. The two ranges may be
/// identical but must not overlap otherwise. replace copies; average is a programmer error. Needs
/// no alignment beyond the element's.
void reduce_elements(Op op, DType dtype, std::byte* target, const std::byte* source,
                     std::size_t count);

/// target[i] = target[i] / divisor, rounded once. Floating-point types only.
void divide_elements(DType dtype, std::byte* target, std::size_t count, int divisor);

/// target[i] = source[i] converted, for float16/bfloat16/float32/float64 in any combination.
void convert_elements(DType to, std::byte* target, DType from, const std::byte* source,
                      std::size_t count);

}  // namespace tutti
