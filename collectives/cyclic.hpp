// Cyclic ranges of parts: subtrees and windows over ranks that may wrap around the last one.
#pragma once

#include <array>

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// Parts first, first + 1, ..., first + length - 1, modulo their number, in transit as one message,
/// or where they wrap around as two at once.
class CyclicTransfer {
 public:
  static CyclicTransfer send(Channel& channel, int to, const Parts& parts, int first, int length);
  static CyclicTransfer receive(Channel& channel, int from, const Parts& parts, int first,
                                int length);

  /// Once, in posting order per peer and direction, as any request.
  void wait(Channel& channel) const;

 private:
  std::array<Request, 2> requests_;
};

}  // namespace tutti
