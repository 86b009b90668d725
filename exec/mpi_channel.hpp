// MpiChannel: a Channel on MPI's point-to-point messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "exec/entry_rounds.hpp"
#include "exec/mpi_transport.hpp"
#include "exec/real_channel.hpp"

namespace tutti {

/// Blocks of up to small_bytes travel with their envelope in one message; a send of one is complete
/// at once. Of larger ones the envelope goes first; when the receiver has checked it and the
/// receive is posted it grants the payload, which follows in segments, some at a time: straight
/// into the block for Op::replace, else into scratch memory from which it is reduced while the next
/// segments arrive. So no message is unexpected but a small one, and of any length. A wait that
/// throws first sees to it that MPI no longer uses any block; a program that throws by itself
/// between a post and its wait must keep the blocks as long as the channel.
class MpiChannel final : public RealChannel {
 public:
  static constexpr std::size_t small_bytes = std::size_t{8} << 10;
  static constexpr std::size_t segment_bytes = std::size_t{256} << 10;
  static constexpr int most_segments = 4;  ///< In flight from or to one peer.

  struct Place {
    std::uint64_t run = 0;
    int lane = 0;
    MpiTags tags;
  };

  /// `transport` outlives it.
  MpiChannel(MpiTransport& transport, int size, Place place, double timeout_seconds);
  ~MpiChannel() override;

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
    bool is_small = false;  // Waits only for its one message to leave.
    bool is_granted = false;
    std::size_t started_bytes = 0;
    std::size_t sent_bytes = 0;
    bool is_done = false;
  };
  struct Incoming {
    Block block;
    Op op = Op::replace;
    bool is_in_call = false;
    MpiBuffer header = {};  // Once it has arrived.
    bool is_open = false;   // The header has been checked.
    std::size_t started_bytes = 0;
    std::size_t received_bytes = 0;
    bool is_done = false;
  };

  // What is open to and from one peer, in posting order.
  struct Link {
    std::deque<Outgoing> sends;
    std::deque<Incoming> receives;
    std::uint64_t sends_posted = 0, sends_done = 0;
    std::uint64_t receives_posted = 0, receives_done = 0;
    std::uint64_t headers_taken = 0;
    int headers_out = 0, segments_out = 0, segments_in = 0;  // In flight.
    Envelope last_sent;
  };

  // An open MPI request. The element it belongs to stays where it is in its deque until then.
  struct Flight {
    enum class Kind : std::uint8_t {
      header_out,
      grant_out,
      segment_out,
      header_in,
      grant_in,
      segment_in
    };
    Kind kind = Kind::header_out;
    int peer = 0;
    MpiBuffer buffer = {};
    Outgoing* out = nullptr;
    Incoming* in = nullptr;
    std::byte* target = nullptr;  // Of an incoming segment.
    std::size_t bytes = 0;
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

  Link& begin(int peer);
  Link& link_of(int peer) { return links_[static_cast<std::size_t>(peer)]; }
  const Link& link_of(int peer) const { return links_[static_cast<std::size_t>(peer)]; }
  bool is_done(const Awaited& awaited) const;
  Amount amount_of(const Awaited& awaited) const;

  MpiBuffer take_buffer(std::vector<MpiBuffer>& pool, std::size_t bytes);
  void send(Flight flight, const void* data, int tag);
  void receive(Flight flight, void* data, int tag);

  void look_for_entries();
  void wait_for_entries();
  bool must_wait(const Incoming& in, const Envelope& envelope) const;

  void advance();
  void take_landed();
  void land(Flight flight);
  void open_headers(int peer, Link& link);
  void open(int peer, Incoming& in);
  void start_segments_out(int peer, Link& link);
  void start_segments_in(int peer, Link& link);
  void land_segment_in(Flight flight, Link& link);
  static void retire(Link& link);

  // What a wait has seen and done.
  struct Look {
    bool is_told = false;                // The awaited peer knows about it.
    std::optional<double> left_seconds;  // When the peer was found to have left.
  };
  void wait_for(const Awaited& awaited);
  void look(const Awaited& awaited, double waited_seconds, Look& last);
  void check_same_call(const Awaited& awaited) const;
  void quiesce() noexcept;

  std::string situation(const Awaited& awaited) const;
  Error timed_out(const Awaited& awaited, double waited_seconds) const;

  MpiTransport& transport_;
  MpiCalls& calls_;
  const Place place_;
  EntryRounds rounds_;
  const double timeout_seconds_;
  const int polls_;
  double deadline_seconds_ = no_deadline;
  std::vector<Link> links_;
  std::vector<MPI_Request> requests_;
  std::vector<Flight> flights_;  // Of requests_, by index.
  std::vector<Flight> landed_;
  std::vector<int> done_;
  std::vector<MpiBuffer> header_pool_, scratch_pool_;
  std::int64_t open_requests_ = 0;
  std::optional<Error> death_;
};

}  // namespace tutti
