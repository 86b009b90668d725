// TcpTransport: the connections between ranks that are processes, on one host or many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exec/joined_world.hpp"
#include "exec/socket.hpp"
#include "exec/tcp_frame.hpp"

namespace tutti {

/// Who is who, and what is connected already.
struct TcpSetup {
  int rank = 0;
  std::uint64_t session = 0;    ///< The same on all ranks and on no others.
  Descriptor listener;          ///< Where members[rank] says.
  std::vector<Member> members;  ///< By rank.
  std::string source;           ///< The numeric address to connect from; "" for any.
  /// Control connections by rank, where there are any yet.
  std::map<int, Descriptor> controls = {};
  double timeout_seconds = 30.0;  ///< Of connecting to all others.
  double linger_seconds = 0.0;    ///< How long the end waits for the others to end too.
  int yields = 0;                 ///< Of a waiting channel before it sleeps.
  /// Whether and why a rank has failed, where this host knows it.
  std::function<std::optional<KnownFailure>()> failure_elsewhere = {};
  /// Takes what the user should know: peers that were refused.
  std::function<void(const std::string&)> warn = {};
};

/// A control connection between any two ranks, made at once, carries notices: failures, who waits
/// for whom, who has left. Its end is the end of the peer. Each lane of each run has a connection
/// of its own between two ranks that talk, made by the higher of them with its first request. No
/// threads: whoever waits sees to all connections. Thread-safe but for exchange() and finish().
class TcpTransport final : public JoinedTransport {
 public:
  /// Connects to all others. Throws Error(peer_lost), Error(timeout) or Error(system), that names
  /// who is missing.
  explicit TcpTransport(TcpSetup setup);
  ~TcpTransport() override;

  std::unique_ptr<RealChannel> open_channel(std::uint64_t run, int size, int lane,
                                            double timeout_seconds) override;
  std::vector<std::string> exchange(const std::string& own, double timeout_seconds) override;
  bool announce_failure(std::uint64_t run, const Error& error) noexcept override;

  std::vector<std::string> finish(const std::string& failure, int exit_code) override;

  /// One lane of one run, as a channel names it.
  struct Place {
    std::uint64_t run = 0;
    int lane = 0;
  };

  /// Readable when progress() has something to do.
  int events() const { return epoll_.value(); }

  /// Takes in connections and notices, without waiting.
  void progress();

  /// To a lower rank: a connection in the making, which begins with `hello`, that the caller sends.
  Descriptor connect(int peer) const;
  std::string hello(const Place& place) const;

  /// From a higher rank: its connection, once it is there.
  Descriptor take_connection(const Place& place, int peer);

  /// What `peer` last said about itself there.
  LaneState state_of(const Place& place, int peer);

  /// Says it to `peer`; without waiting, so that it may get lost where the peer does not read.
  void tell(int peer, const LaneState& state);

  /// The first failure that is known, if any, of `run` among the first `size` ranks that have not
  /// left `place`. Where a peer is gone, waits a little for those who know why.
  std::optional<KnownFailure> first_failure(const Place& place, int size);

  /// Tells `peer` of a call.
  void send_entry(const Place& place, int peer, const EntryNotice& notice);

  struct Entry {
    int from = 0;
    EntryNotice notice;
  };
  /// Takes in what there is, and returns what others have told of their calls there.
  std::vector<Entry> take_entries(const Place& place);

  /// Whoever waits sees to all connections, also those of other lanes. Until forget(), `bell`, an
  /// eventfd, becomes readable when another thread takes in an entry of `place`. False where there
  /// is one already.
  bool ring_for(const Place& place, int bell);
  void forget(const Place& place);

  int yields() const { return setup_.yields; }

 private:
  // The control connection to a peer.
  struct Control {
    Descriptor socket;
    FrameReader reader;
    std::deque<std::string> outbox;
    std::size_t sent_bytes = 0;  // Of the first.
    bool wants_room = false;     // Waits for EPOLLOUT.
    std::string loss;            // Why it is gone.
    std::deque<std::string> exchanges;
    std::optional<std::string> end;  // What it has finished with.

    // Why nothing more will come, or "".
    std::string gone(int peer) const;
  };
  // A connection whose peer has not said yet who it is.
  struct Handshake {
    Descriptor socket;
    std::string bytes;
    double end_seconds = 0.0;
  };
  // What came for a lane and has not been taken.
  struct Inbox {
    std::vector<Entry> entries;
    int bell = -1;
  };
  using Key = std::tuple<std::uint64_t, int, int>;  // Run, lane, peer.

  Control& control_of(int peer) { return controls_[static_cast<std::size_t>(peer)]; }
  void watch(int descriptor, std::uint64_t tag, bool wants_room = false);
  void rewatch(int peer, bool wants_room);
  void adopt_control(int peer, Descriptor socket);
  void connect_to_all();
  void progress_locked();
  void take_in();
  void shake(std::uint64_t tag);
  void admit(Descriptor socket, const Hello& hello);
  void refuse(Descriptor& socket, const std::string& why);
  void read_control(int peer);
  void take_frame(int peer, Frame frame);
  void post(int peer, Frame::Kind kind, const std::string& body);
  void flush(int peer);
  void lose(int peer, const std::string& why);
  void wait_for_events(double seconds) const;
  std::string missing_controls() const;
  void drop_before(std::uint64_t run);
  void part();
  std::string await(double timeout_seconds, const std::function<bool(const Control&)>& has_come);

  TcpSetup setup_;
  Descriptor epoll_;
  std::mutex mutex_;  // Of all below.
  std::vector<Control> controls_;
  std::map<std::uint64_t, Handshake> handshakes_;
  std::uint64_t next_handshake_;
  std::map<Key, Descriptor> connections_;
  std::map<Key, LaneState> states_;
  std::map<std::pair<std::uint64_t, int>, Inbox> inboxes_;  // By run and lane.
  std::map<std::uint64_t, KnownFailure> failures_;          // The first that is known, by run.
  std::vector<int> lost_;                                   // In the order in which they were.
};

}  // namespace tutti
