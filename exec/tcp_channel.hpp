// TcpChannel: a Channel between processes over TCP connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "exec/entry_rounds.hpp"
#include "exec/real_channel.hpp"
#include "exec/seqlock.hpp"
#include "exec/tcp_frame.hpp"
#include "exec/tcp_transport.hpp"
#include "exec/yield_budget.hpp"

namespace tutti {

/// A message is sent from its block, with its header in the same call of the system where both fit
/// the socket's buffer. A plain receive of more than a few KiB reads straight into its block; any
/// other reads into a buffer small enough to stay in the cache, and reduces from there. Nothing is
/// read before it is asked for, so that the receiver slows down the sender.
///
/// What belongs to a call stays in the socket until all participants are known to be in the call;
/// its first wait sees to that.
class TcpChannel final : public RealChannel {
 public:
  struct Settings {
    double timeout_seconds = 30.0;  ///< Of each wait; set_deadline() may shorten it.
    int yields = 0;                 ///< Of the processor, in a wait before it sleeps.
    /// Where a process that outlives this one reads what passed to and from each peer, and the
    /// last call; null: nowhere.
    PeerTraffic* ledger = nullptr;
    Seqlock<CallRecord>* call = nullptr;
  };

  /// Among the first `size` ranks of `transport`, which outlives it.
  TcpChannel(TcpTransport& transport, int size, TcpTransport::Place place, Settings settings);
  /// Tells the others that nothing more will come.
  ~TcpChannel() override;

  void set_deadline(double seconds) override { deadline_seconds_ = seconds; }
  void settle() override;
  std::int64_t open_requests() const override { return death_ ? 0 : open_requests_; }
  PeerTraffic traffic(int peer) const override;

 protected:
  void on_call() override;
  void await_agreement() override;
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Outgoing {
    Block block;
    EncodedHeader header;
    std::size_t sent_bytes = 0;  // Of header and payload.

    std::size_t payload_bytes() const { return block.is_ghost() ? 0 : block.bytes(); }
  };
  struct Incoming {
    Block block;
    Op op = Op::replace;
    bool is_in_call = false;
    bool has_header = false;
    std::size_t received_bytes = 0;  // Of the payload.

    std::size_t missing_bytes() const {
      return block.is_ghost() ? 0 : block.bytes() - received_bytes;
    }
    bool goes_straight() const;
  };

  // The connection with one peer, and what is open on it, in posting order.
  struct Link {
    Descriptor socket;
    std::string preamble;  // What of the handshake has not been sent.
    bool can_send = true;  // False once the connection broke.
    bool can_receive = true;
    std::deque<Outgoing> sends;
    std::deque<Incoming> receives;
    std::uint64_t sends_posted = 0, sends_done = 0;
    std::uint64_t receives_posted = 0, receives_done = 0;
    std::uint64_t told_call = 0;  // The last call that the peer was told of.
    CallRecord peer_call;         // The last that it told of.
    Envelope last_sent;
    std::vector<std::byte> buffer;  // Bytes [begin, end) have been read and not been used.
    std::size_t begin = 0, end = 0;
    bool is_active = false;  // Listed in active_.

    bool wants_to_send() const { return !preamble.empty() || !sends.empty(); }
  };

  // A request's id, taken apart.
  struct Awaited {
    int peer = 0;
    bool is_send = false;
    std::uint64_t ordinal = 0;  // From 1 within peer and direction.
    bool is_entry = false;      // None of all this: that the peer tells of its call.
  };
  static Request encode(const Awaited& awaited);
  static Awaited decode(Request request);

  // How far an awaited request has come.
  struct Amount {
    std::size_t bytes = 0;
    std::size_t total_bytes = 0;
  };

  Link& link_of(int peer) { return links_[static_cast<std::size_t>(peer)]; }
  const Link& link_of(int peer) const { return links_[static_cast<std::size_t>(peer)]; }
  Link& begin(int peer);
  void connect(int peer, Link& link);
  bool is_done(const Awaited& awaited) const;
  Amount amount_of(const Awaited& awaited) const;

  bool is_held(const Link& link) const;
  void look_for_entries();
  void wait_for_entries();
  void check_held();

  void advance();
  void advance_sends(int peer, Link& link);
  static bool send_some(Link& link);
  static void count_sent(Link& link, std::size_t bytes);
  void advance_receives(int peer, Link& link);
  static bool read_some(Link& link);
  bool take(int peer, Link& link, Incoming& in);
  bool take_header(int peer, Link& link, Incoming& in);
  static void take_payload(Link& link, Incoming& in);
  void note_traffic(int peer);

  bool poll(const Awaited& awaited);
  void wait_for(const Awaited& awaited);
  void sleep(double seconds);
  void tell_all(int needed, bool waits_to_send);
  LaneState own_state(int peer) const;
  void check_peers(const Awaited& awaited, double waited_seconds);
  bool waits_in_vain(int peer, const LaneState& state) const;

  Error situation(const Awaited& awaited, const std::string& event,
                  ErrorKind kind = ErrorKind::peer_lost) const;
  Error left_alone(const Awaited& awaited, const LaneState& state) const;
  Error timed_out(const Awaited& awaited, double waited_seconds);

  TcpTransport& transport_;
  const TcpTransport::Place place_;
  const Settings settings_;
  Awaited wanted_;  // What a wait for entries delays; without an ordinal: nothing.
  EntryRounds rounds_;
  Descriptor bell_;  // An eventfd, once it is needed.
  YieldBudget yield_budget_;
  double deadline_seconds_ = no_deadline;
  std::vector<Link> links_;
  std::vector<int> active_;  // Peers with open requests.
  std::uint64_t published_call_ = 0;
  std::int64_t open_requests_ = 0;
  std::optional<Error> death_;
};

}  // namespace tutti
