// Failures: Error for what can go wrong in operation, ContractError for a caller's bug.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tutti {

enum class ErrorKind {
  timeout,    ///< A wait passed the channel's deadline.
  peer_lost,  ///< A rank ended, was killed or failed while others still needed it.
  mismatch,   ///< Ranks disagree about what they communicate.
  deadlock,   ///< No rank can go on (where the substrate can tell).
  usage,      ///< The request is invalid: unknown name, bad file, unsupported combination.
  system,     ///< The operating system refused something.
};

std::string_view name_of(ErrorKind kind);

/// An operating error. The text is lower-case, without a full stop, and says who, where, what was
/// expected and what was found, with units.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int rank = -1)
      : std::runtime_error(message), kind_(kind), rank_(rank) {}

  ErrorKind kind() const { return kind_; }

  /// The rank that failed, or -1 where no single rank did.
  int rank() const { return rank_; }

 private:
  ErrorKind kind_;
  int rank_;
};

/// A programmer error: the contract of a function was broken by its caller.
class ContractError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Throws ContractError with the formatted message unless `holds`. Always on.
template <typename... Args>
void check(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (holds) return;
  throw ContractError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tutti
