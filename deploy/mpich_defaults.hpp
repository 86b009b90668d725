// What MPICH does where no rule says otherwise: a file of rules replaces all of its own.
#pragma once

#include <span>
#include <string_view>

namespace tutti {

/// An algorithm that always works, for one of MPICH's collectives.
struct MpichDefault {
  std::string_view collective;
  std::string_view condition;  ///< "is_commutative" or "is_sendbuf_inplace"; empty: none.
  std::string_view algorithm;  ///< Where there is no condition, or it holds.
  std::string_view otherwise;
  std::string_view inter;  ///< Between two groups; empty: the same.
};

/// One for each collective.
std::span<const MpichDefault> mpich_defaults();

}  // namespace tutti
