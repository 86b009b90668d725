// Outcome: how a simulation ended; may be in memory shared by the simulating process and its
// parent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "collectives/error.hpp"

namespace tutti {

/// Plain memory: zeroed is a valid Outcome, of a simulation that has not ended.
struct Outcome {
  enum class Status : std::uint8_t {
    unfinished,  ///< The process has ended without a word, if it has ended.
    success,
    error,     ///< Of `kind`.
    contract,  ///< A ContractError.
  };

  Status status;
  ErrorKind kind;
  int rank;
  std::array<char, 16384> text;

  /// Keeps the failure of a rank (-1 where none threw it: then an Error's own); only the first call
  /// has an effect. An exception that is no Error becomes one of kind system. The text is cut if
  /// need be.
  void record(int rank_failed, std::exception_ptr failure);

  /// Throws the failure, if there is one.
  void rethrow() const;

 private:
  void set(Status new_status, ErrorKind new_kind, int new_rank, std::string_view new_text);
};

}  // namespace tutti
