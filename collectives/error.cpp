#include "collectives/error.hpp"

namespace tutti {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::timeout:
      return "timeout";
    case ErrorKind::peer_lost:
      return "peer_lost";
    case ErrorKind::mismatch:
      return "mismatch";
    case ErrorKind::deadlock:
      return "deadlock";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::system:
      return "system";
  }
  return "unknown";
}

}  // namespace tutti
