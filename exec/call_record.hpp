// CallRecord: the call that a channel is in, as other processes see it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collectives/channel.hpp"

namespace tutti {

/// A Call without pointers, for memory and messages that processes share. Longer names are cut.
struct CallRecord {
  std::uint64_t sequence = 0;  ///< 0: no call yet.
  std::uint64_t signature = 0;
  std::uint64_t count = 0;
  std::int32_t root = -1;
  std::int32_t group_size = 0;  ///< 0: all ranks.
  DType dtype = DType::float32;
  Op op = Op::replace;
  std::array<char, 46> algorithm{};

  /// As Progress::describe_call().
  std::string describe() const;
};

/// That of a channel at `progress`.
CallRecord record_of(const Progress& progress);

}  // namespace tutti
