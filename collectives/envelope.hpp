// Envelope: what travels with every message so that the receiver can tell whether it is the one it
// expects. Shared by all substrates, so that the same mistake has the same message on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "collectives/channel.hpp"

namespace tutti {

struct Envelope {
  std::uint64_t signature = 0;  ///< Of the sender's Call; 0 outside any.
  std::uint64_t count = 0;
  DType dtype = DType::float32;
  bool ghost = false;
};

/// The envelope of `block` as sent by a rank at `progress`.
Envelope envelope_of(const Progress& progress, Block block);

/// Throws Error(mismatch) where a message does not fit the receive `block` posted by `rank`. The
/// text names both ranks, both sizes and the step. `sender_call` describes what the sender is in,
/// where the substrate knows it ("" otherwise). Nothing is written to the block.
void check_envelope(const Progress& progress, int rank, int from, Block block,
                    const Envelope& envelope, const std::string& sender_call);

/// The error for two ranks that are in different calls: names both ranks and both calls.
Error call_mismatch(const Progress& progress, int rank, int peer, const std::string& peer_call);

/// The error for a wait that passed its deadline after `waited` seconds. `verb` is "for" a receive
/// or "to send": "allreduce_ring: rank 3 waited 5.000 s for 65536 bytes from rank 2 at step 4 of
/// 7, received 0".
Error receive_timeout(const Progress& progress, int rank, int from, double waited_seconds,
                      std::size_t expected_bytes, std::size_t received_bytes);
Error send_timeout(const Progress& progress, int rank, int to, double waited_seconds,
                   std::size_t expected_bytes, std::size_t taken_bytes);

/// A message that was sent and that nobody received by the end of a run.
struct Unreceived {
  int from = 0;
  int to = 0;
  std::uint64_t count = 0;
  DType dtype = DType::float32;
  std::string from_call;  ///< What each end was last in, or "no collective".
  std::string to_call;
};

/// The error for it: names both ranks and both calls.
Error never_received(const Unreceived& message);

/// The error for every use of a channel after its first error.
Error dead_channel(const Progress& progress, int rank, ErrorKind kind, const std::string& first);

}  // namespace tutti
