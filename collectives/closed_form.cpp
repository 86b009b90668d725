#include "collectives/closed_form.hpp"

#include <bit>

#include "collectives/error.hpp"

namespace tutti {

int ceil_log2(int ranks) {
  check(ranks >= 1, "ceil_log2: {} is below 1", ranks);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
}

int floor_log2(int ranks) {
  check(ranks >= 1, "floor_log2: {} is below 1", ranks);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

}  // namespace tutti
