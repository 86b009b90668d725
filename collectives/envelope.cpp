#include "collectives/envelope.hpp"

namespace tutti {
namespace {

std::string_view prefix(const Progress& progress) {
  return progress.depth > 0 ? progress.call.algorithm : std::string_view("channel");
}

// "65536 bytes (16384 float32)", and what is odd about it where it is a ghost.
std::string size_text(std::uint64_t count, DType dtype, bool ghost) {
  return fmt::format("{} bytes ({} {}{})", count * bytes_of(dtype), count, name_of(dtype),
                     ghost ? ", a ghost" : "");
}

}  // namespace

Envelope envelope_of(const Progress& progress, Block block) {
  return Envelope{progress.depth > 0 ? progress.signature : 0, block.count, block.dtype,
                  block.is_ghost()};
}

void check_envelope(const Progress& progress, int rank, int from, Block block,
                    const Envelope& envelope, const std::string& sender_call) {
  const Envelope own = envelope_of(progress, block);
  const bool same_size =
      own.count == envelope.count && own.dtype == envelope.dtype && own.ghost == envelope.ghost;
  if (same_size && own.signature == envelope.signature) return;
  std::string text =
      fmt::format("{}: rank {} expected {} from rank {} at {}, rank {} sent {}", prefix(progress),
                  rank, size_text(own.count, own.dtype, own.ghost), from, progress.where(), from,
                  size_text(envelope.count, envelope.dtype, envelope.ghost));
  if (own.signature != envelope.signature) {
    text += fmt::format("; rank {} is in {}, rank {} in {}", rank, progress.describe_call(), from,
                        sender_call.empty() ? "another call" : sender_call);
    text += "; all ranks must make the same call";
  }
  throw Error(ErrorKind::mismatch, text, rank);
}

Error call_mismatch(const Progress& progress, int rank, int peer, const std::string& peer_call) {
  return Error(
      ErrorKind::mismatch,
      fmt::format("{}: rank {} is in {} (call #{}), rank {} in {}; all ranks must make the "
                  "same call",
                  prefix(progress), rank, progress.describe_call(), progress.sequence, peer,
                  peer_call),
      rank);
}

Error receive_timeout(const Progress& progress, int rank, int from, double waited_seconds,
                      std::size_t expected_bytes, std::size_t received_bytes) {
  return Error(
      ErrorKind::timeout,
      fmt::format("{}: rank {} waited {:.3f} s for {} bytes from rank {} at {}, received {}",
                  prefix(progress), rank, waited_seconds, expected_bytes, from, progress.where(),
                  received_bytes),
      rank);
}

Error send_timeout(const Progress& progress, int rank, int to, double waited_seconds,
                   std::size_t expected_bytes, std::size_t taken_bytes) {
  return Error(
      ErrorKind::timeout,
      fmt::format("{}: rank {} waited {:.3f} s to send {} bytes to rank {} at {}, which took "
                  "{}",
                  prefix(progress), rank, waited_seconds, expected_bytes, to, progress.where(),
                  taken_bytes),
      rank);
}

Error never_received(const Unreceived& message) {
  return Error(
      ErrorKind::mismatch,
      fmt::format("rank {} sent {} bytes ({} {}) to rank {} that it never received; rank {} "
                  "was last in {}, rank {} in {}; all ranks must make the same calls",
                  message.from, message.count * bytes_of(message.dtype), message.count,
                  name_of(message.dtype), message.to, message.from, message.from_call, message.to,
                  message.to_call),
      message.from);
}

Error dead_channel(const Progress& progress, int rank, ErrorKind kind, const std::string& first) {
  return Error(kind,
               fmt::format("{}: the channel of rank {} is dead since an earlier error: {}",
                           prefix(progress), rank, first),
               rank);
}

}  // namespace tutti
