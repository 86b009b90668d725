// SimChannel: a Channel whose messages are SimGrid communications.
#pragma once

#include <simgrid/s4u.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/envelope.hpp"
#include "sim/deadlock.hpp"
#include "sim/local_costs.hpp"
#include "sim/sim_observer.hpp"

namespace tutti {

/// What travels: the block as it was when sent, because the sender may overwrite it before the
/// receiver's actor runs. `bytes` is empty for a ghost.
struct SimMessage {
  Envelope envelope;
  Call call;
  std::vector<std::byte> bytes;
};

/// The messages of one ordered pair of ranks on one lane. SimGrid has a message travel at once
/// through `eager`, and through `rendezvous` only when both ends have posted it; whichever end
/// posts a message first decides the mailbox, so that the pair's order holds across the two.
class SimStream {
 public:
  /// Without a receiver all messages are rendezvous.
  SimStream(int lane, int from, int to, simgrid::s4u::ActorPtr receiver,
            std::size_t overhead_bytes);

  /// The mailbox of the next message that is posted by its sender, or by its receiver.
  simgrid::s4u::Mailbox* next_for_send(bool eager);
  simgrid::s4u::Mailbox* next_for_receive();

  /// Of each message, besides its own bytes.
  std::size_t overhead_bytes() const { return overhead_bytes_; }

  /// Messages sent and not received so far.
  std::size_t unreceived() const { return sends_; }

 private:
  simgrid::s4u::Mailbox* rendezvous_;
  simgrid::s4u::Mailbox* eager_ = nullptr;
  std::size_t sends_ = 0;     ///< Posted before their receives,
  std::size_t receives_ = 0;  ///< and the other way round.
  std::deque<bool> eagers_;   ///< Of those sends, where there is an eager mailbox.
  std::size_t overhead_bytes_;
};

/// All streams of a simulation, each made at its first use.
class SimStreams {
 public:
  /// Messages of up to `eager_bytes` are eager.
  SimStreams(int size, std::size_t eager_bytes) : size_(size), eager_bytes_(eager_bytes) {}

  /// The actors of all ranks, which must be known before the first message.
  void set_receivers(std::vector<simgrid::s4u::ActorPtr> ranks) { ranks_ = std::move(ranks); }

  /// What messages from one rank to another occupy their route with besides their own bytes.
  /// `overhead_bytes` is asked once for each stream; without it there is nothing.
  void set_overheads(std::function<std::size_t(int from, int to)> overhead_bytes) {
    overhead_bytes_ = std::move(overhead_bytes);
  }
  /// Who is told of messages; null for nobody. It outlives the streams.
  void set_observer(SimObserver* observer) { observer_ = observer; }
  SimObserver* observer() const { return observer_; }

  std::size_t eager_bytes() const { return eager_bytes_; }

  /// The same object each time; costs a look-up.
  SimStream& at(int lane, int from, int to);

  /// A message to fill and send, and one that has been received: they are used again.
  SimMessage* take_message();
  void give_back(SimMessage* message) { free_messages_.push_back(message); }

  /// Throws Error(mismatch) that names both ranks of a stream with unreceived messages.
  void check_all_received() const;

 private:
  const int size_;
  const std::size_t eager_bytes_;
  SimObserver* observer_ = nullptr;
  std::vector<simgrid::s4u::ActorPtr> ranks_;
  std::function<std::size_t(int from, int to)> overhead_bytes_;
  std::map<std::array<int, 3>, SimStream> streams_;  ///< By lane, sender and receiver.
  std::deque<SimMessage> messages_;
  std::vector<SimMessage*> free_messages_;
};

class SimChannel final : public Channel {
 public:
  /// `streams` outlives the channel.
  SimChannel(SimStreams& streams, int rank, int size, int lane, const LocalCosts& costs);

  double now() const override { return simgrid::s4u::Engine::get_clock(); }
  void set_deadline(double seconds) override { deadline_seconds_ = seconds; }
  void charge(const Work& work) override;

  /// Programmer error if there are requests nobody has waited for and no failure explains them.
  void check_closed() const;

  /// What the channel's user waits for now.
  std::optional<RankState::Wait> waits_for() const;

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Open {
    std::uint32_t uses = 0;  ///< Tells requests for earlier messages apart.
    bool is_open = false;
    bool is_send = false;
    int peer = 0;
    Block block;
    Op op = Op::replace;
    SimMessage* received = nullptr;  ///< Owned once the receive is complete.
    std::size_t message = 0;         ///< As the observer numbers it.
    simgrid::s4u::CommPtr communication;
  };

  struct Known {
    int peer = -1;
    SimStream* stream = nullptr;
  };

  SimStream& stream_to(int peer);
  SimStream& stream_from(int peer);
  std::uint32_t open(bool is_send, int peer, const Block& block);
  void close(std::uint32_t index);
  Request request_of(std::uint32_t index) const;
  Open& find(Request request);
  void check_alive() const;
  void charge_bytes(std::size_t bytes) const;
  void wait_until_done(Open& open) const;
  std::size_t observe_post(const Open& open) const;
  void observe_wait(const Open& open, double began_seconds) const;
  std::string describe_wait() const;
  Error timeout_of(const Open& open, double waited_seconds) const;
  void deliver(const Open& open);

  SimStreams& streams_;
  const int lane_;
  const LocalCosts costs_;
  double deadline_seconds_ = no_deadline;
  std::vector<std::unique_ptr<Open>> requests_;  ///< None moves while SimGrid writes to it.
  std::vector<std::uint32_t> free_;
  std::size_t open_requests_ = 0;
  Known last_to_, last_from_;  ///< Most messages go where the last one went.
  const Open* waiting_ = nullptr;
  std::optional<Error> failure_;
};

}  // namespace tutti
