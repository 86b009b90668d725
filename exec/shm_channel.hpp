// ShmChannel: a Channel between processes over queues in shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/envelope.hpp"
#include "exec/agreement.hpp"
#include "exec/board.hpp"
#include "exec/fifo.hpp"
#include "exec/queue.hpp"
#include "exec/real_channel.hpp"
#include "exec/yield_budget.hpp"

namespace tutti {

/// How long a wait polls before it sleeps.
struct Patience {
  int polls = 0;   ///< Looks a few nanoseconds apart.
  int yields = 0;  ///< Looks between which the processor is given away; see YieldBudget.
};

/// `ranks` ranks on this machine: polls for longer than a sleep costs where every rank has a
/// processor, hardly at all where they take turns.
Patience patience_for(int ranks);

/// Blocks of up to Slot::capacity_bytes are copied into the queue by isend, if it has room. Larger
/// ones in memory of `arena` are read in place by the receiver; so are those in other memory from
/// least_read_bytes on, with process_vm_readv, as soon as the receiver knows that the kernel
/// permits it; all others flow through the queue in segments. The reduction is done by the
/// receiver, straight out of the queue or the sender's memory.
class ShmChannel final : public RealChannel {
 public:
  struct Settings {
    double timeout_seconds = 30.0;  ///< Of each wait; set_deadline() may shorten it.
    Patience patience;
    bool checks_calls = true;  ///< Whether nothing is written before all are in the same call.
    bool reads_memory = true;  ///< Whether this rank tries process_vm_readv.
  };

  /// Below this the way through the queue is as fast.
  static constexpr std::size_t least_read_bytes = 262144;

  /// `board` and `arena` must outlive it.
  ShmChannel(int rank, int lane, const Board& board, const SharedArena& arena, Settings settings);

  ~ShmChannel() override { return_room(); }

  void set_deadline(double seconds) override { deadline_seconds_ = seconds; }
  std::int64_t open_requests() const override { return death_ ? 0 : open_requests_; }

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;
  void on_call() override;
  void await_agreement() override;

 private:
  struct Outgoing {
    Block block;
    Envelope envelope;
    std::size_t taken_bytes = 0;  // Published so far.
    bool in_place = false;
    std::uint64_t slot = 0;  // The number of an in-place message's slot.
  };
  struct Incoming {
    Block block;
    Op op = Op::replace;
    bool is_in_call = false;  // Written only when all are known to be in it.
    std::size_t received_bytes = 0;
  };

  // The two queues to and from one peer, and what is open on them, in posting order.
  struct Link {
    std::optional<Producer> producer;
    std::optional<Consumer> consumer;
    Fifo<Outgoing> sends;
    std::size_t published = 0;  // Of `sends`, those from the front that are wholly published.
    Fifo<Incoming> receives;
    std::uint64_t sends_posted = 0, sends_done = 0;
    std::uint64_t receives_posted = 0, receives_done = 0;
    bool is_active = false;  // Listed in active_.
    bool is_probed = false;  // Whether it is known if the peer's memory can be read.
  };

  // A request's id, taken apart; or what `peer` must do before this rank may write.
  struct Awaited {
    int peer = 0;
    WaitKind kind = WaitKind::receive;
    std::uint64_t ordinal = 0;  // From 1 within peer and direction.

    bool is_send() const { return kind == WaitKind::send; }
    bool operator==(const Awaited&) const = default;
  };
  static Request encode(const Awaited& awaited);
  static Awaited decode(Request request);

  // How far an awaited request has come.
  struct Amount {
    std::size_t bytes = 0;
    std::size_t total_bytes = 0;
  };

  Link& begin(int peer);
  void activate(int peer, Link& link);
  void record_call();
  bool may_write(const Incoming& in, const Envelope& envelope);
  bool look_for_agreement();
  void wait_for_entries();
  bool is_done(const Awaited& awaited);
  Amount amount_of(const Awaited& awaited) const;

  void advance();
  void advance_sends(int peer, Link& link);
  bool publish(Link& link, Outgoing& out);
  bool publish_small(Link& link, Block block);
  void return_room();
  void advance_receives(int peer, Link& link);
  void probe_memory(int peer, Link& link);
  bool take_memory(int peer, Incoming& in, const Slot& slot);
  void choose_way(const Link& link, Outgoing& out);
  void check_first_segment(int peer, const Incoming& in, const Envelope& envelope) const;
  bool can_advance();
  bool is_held(Link& link);
  Awaited blocker_of(const Awaited& awaited);

  bool look_without_clock(const Awaited& awaited);
  bool poll(const Awaited& awaited);
  bool yield(const Awaited& awaited);
  void wait_for(const Awaited& awaited);
  void sleep(const Awaited& blocker, double until_seconds);
  void mark_asleep(const Awaited& awaited, bool asleep);
  bool sees_reason_to_wake(const Awaited& blocker);
  void check_cycle(const Awaited& blocker) const;

  std::string situation(const Awaited& awaited, const Awaited& blocker) const;
  Error interrupted(const Awaited& awaited, const Awaited& blocker) const;
  Error left_alone(const Awaited& awaited, const Awaited& blocker) const;
  Error timed_out(const Awaited& awaited, const Awaited& blocker, double waited_seconds) const;
  std::string describe_waits(int peer) const;

  const int lane_;
  const Board& board_;
  const SharedArena& arena_;
  const Settings settings_;
  YieldBudget yield_budget_;
  double deadline_seconds_ = no_deadline;
  LaneRecord& own_;
  Agreement agreement_;
  std::uint64_t recorded_signature_ = 0;  // Of the call in own_.
  std::vector<Link> links_;
  std::vector<int> active_;  // Peers with open requests.
  const std::uint64_t probe_word_;
  std::vector<std::byte> chunk_;  // Of a peer's memory, to be reduced.
  std::uint64_t episode_ = 0;
  std::int64_t open_requests_ = 0;
  std::optional<Error> death_;
};

}  // namespace tutti
