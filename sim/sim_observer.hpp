// SimObserver: what a simulation with SimGrid did, from its process to the one that asked.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>

#include "process/temporary_file.hpp"
#include "sim/observation.hpp"

namespace tutti {

/// Writes down messages and blocks as channels tell of them, all in one thread.
class SimObserver {
 public:
  /// Messages of up to `eager_bytes` begin when they are sent. The file outlives the observer.
  SimObserver(std::size_t eager_bytes, const TemporaryFile& file)
      : eager_bytes_(eager_bytes), file_(file) {}

  /// One end of a message of `record.bytes`, posted now, in `record.lane`, at its step. Returns the
  /// message's number for the functions below: the same for both ends.
  std::size_t post_send(const MessageRecord& record, double now_seconds);
  std::size_t post_receive(const MessageRecord& record, double now_seconds);

  /// The wait of one end, since `block.begin_seconds`; the message has ended at `ended_seconds`.
  void finish(const BlockRecord& block, double ended_seconds);

  /// Throws Error(system).
  void write();

 private:
  /// Numbers of messages that only one end has posted.
  struct Stream {
    std::deque<std::size_t> sends;
    std::deque<std::size_t> receives;
  };

  Stream& stream_of(const MessageRecord& record);
  void begin(MessageRecord& record) const;
  void sort();

  const std::size_t eager_bytes_;
  const TemporaryFile& file_;
  std::map<std::array<int, 3>, Stream> streams_;  // By lane, sender and receiver.
  Observation observation_;
};

/// What write() wrote: messages and blocks. Throws Error(system) where that is not all there.
Observation read_observation(const TemporaryFile& file);

}  // namespace tutti
