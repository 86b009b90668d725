// ReplayMail: matches what ranks send and receive, and lets it take its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/channel.hpp"
#include "sim/flow_network.hpp"
#include "sim/replay_streams.hpp"
#include "sim/replay_tasks.hpp"
#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Who posts or waits.
struct ReplayParty {
  int rank = 0;
  int lane = 0;
};

class ReplayMail {
 public:
  /// What became of a wait.
  enum class Ending : std::uint8_t {
    arrived,
    timed_out,
    given_up,    ///< The peer has given the message up,
    peer_ended,  ///< or was killed.
  };

  /// All arguments outlive it. `observation` may be null.
  ReplayMail(const Shape& shape, int size, const SimOptions& options, ReplayTasks& tasks,
             Observation* observation);

  /// Posts one end of a message, of the task that runs. Returns its request.
  Request send(ReplayParty sender, int to, const Block& block, const Progress& progress);
  Request receive(ReplayParty receiver, int from, const Block& block, Op op,
                  const Progress& progress);

  /// Remembers a call, for the descriptions of messages that were sent in it.
  void know(const Call& call) { calls_.try_emplace(call.signature(), call); }

  /// Of the call that a message was sent in.
  std::string describe_call(const ReplayMessage& message) const;

  struct End {
    std::uint32_t message = none;
    bool is_send = false;
  };

  /// The end that a request stands for; of message none unless it is open and the party's.
  End find(ReplayParty party, Request request);

  /// Blocks the task that runs until the message has ended, or something else has. What has not
  /// arrived is given up.
  Ending wait(End end, double deadline_seconds);

  ReplayMessage& message(End end) { return messages_[end.message]; }
  int peer_of(End end) {
    const ReplayStream& stream = streams_[messages_[end.message].stream];
    return end.is_send ? stream.to : stream.from;
  }

  /// An end that has arrived is done with.
  void close(End end);

  /// The party's blocks are not to be used any more. With `ended`, its messages under way fail and
  /// those not begun vanish.
  void abandon(int rank, std::optional<int> lane, bool ended);

  /// No message of the rank begins any more.
  void stall(int rank);

  /// Acts on an event of kind flow.
  void handle(const Event& event);

  /// See FlowNetwork::settle().
  void settle() {
    if (flows_) flows_->settle(tasks_.now());
  }

  /// Throws never_received() of the first stream with messages that nobody received.
  void check_all_received() const;

  std::size_t finished() const { return finished_; }

 private:
  Request post(ReplayParty self, End end, const Block& block, const Progress& progress);
  std::uint32_t match(std::uint32_t stream, bool is_send);
  void begin(std::uint32_t message);
  void give_up(End end);
  void fail(std::uint32_t message, ReplayMessage::Failure failure);
  void end_at(ReplayMessage& message, double seconds);
  void wake_waiters(const ReplayMessage& message);
  void observe_post(ReplayMessage& message, bool is_send, int step);
  void observe_block(End end, double since_seconds);
  static void keep_block(ReplayMessage& message);

  const int size_;
  const std::size_t eager_bytes_;
  ReplayTasks& tasks_;
  Observation* const observation_;
  ReplayStreams streams_;
  ReplayMessages messages_;
  std::unique_ptr<FlowNetwork> flows_;   ///< None where flows do not meet.
  std::vector<bool> stalled_;            ///< By rank; empty while no rank is.
  std::map<std::uint64_t, Call> calls_;  ///< By signature.
  std::size_t finished_ = 0;
};

}  // namespace tutti
