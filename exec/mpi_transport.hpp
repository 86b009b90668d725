// MpiTransport: processes that mpirun or srun has started.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/call_record.hpp"
#include "exec/joined_world.hpp"
#include "exec/mpi_calls.hpp"
#include "exec/tcp_frame.hpp"

namespace tutti {

/// The tags of one lane in one run.
struct MpiTags {
  int header = 0;   ///< Envelopes, with the payload of small messages.
  int grant = 0;    ///< From the receiver: the payload of a large message may come.
  int segment = 0;  ///< The payload of large messages, piece by piece.
};

/// Memory that MPI reads or writes while a request is open.
using MpiBuffer = std::unique_ptr<std::byte[]>;

/// What a rank tells the one that it has been waiting for.
struct WaitNotice {
  std::uint64_t run = 0;
  std::int32_t lane = 0;
  bool is_send = false;
  std::uint64_t sent = 0;   ///< Messages to that rank so far.
  std::uint64_t taken = 0;  ///< Messages from it so far.
  CallRecord call;
};

/// All processes of the launch, which run the same build on machines alike. Control messages have a
/// tag of their own and are looked for in waits. MPI keeps the order of the messages between two
/// processes, so a message that was sent before a control message has arrived when that has.
class MpiTransport final : public JoinedTransport {
 public:
  explicit MpiTransport(std::unique_ptr<MpiCalls> calls);
  /// After finish(), waits for all others to get here too; where that has failed, ends them.
  ~MpiTransport() override;

  std::unique_ptr<RealChannel> open_channel(std::uint64_t run, int size, int lane,
                                            double timeout_seconds) override;
  std::vector<std::string> exchange(const std::string& own, double timeout_seconds) override;
  bool announce_failure(std::uint64_t run, const Error& error) noexcept override;
  std::vector<std::string> finish(const std::string& failure, int exit_code) override;

  MpiCalls& calls() { return *calls_; }

  /// Takes in the control messages that have arrived.
  void look();

  /// Why `run` has failed, if it has: the first announcement that this process has seen, or its
  /// own.
  std::optional<KnownFailure> failure_of(std::uint64_t run);

  /// True where `rank` has ended the current run: it will send nothing more.
  bool has_left(int rank);

  /// What `peer` last told this rank about its wait in `run` on `lane`.
  std::optional<WaitNotice> notice_of(std::uint64_t run, int lane, int peer);

  void send_notice(int to, const WaitNotice& notice);

  /// MPI may still use blocks that are about to go: finish() must not call it again.
  void give_up() { has_given_up_ = true; }

  void send_entry(const LaneEntry& entry, int to);

  struct Entry {
    int from = 0;
    EntryNotice notice;
  };
  /// Looks, and returns what others have told of their calls in `run` on `lane`.
  std::vector<Entry> take_entries(std::uint64_t run, int lane);

  /// Keeps `buffer` until the request is complete.
  void keep(MPI_Request request, MpiBuffer buffer);

 private:
  enum class Control : std::uint32_t { exchange, failure, notice, end, entry };
  // What each control message begins with.
  struct ControlHead {
    Control control = Control::exchange;
    std::uint64_t run = 0;
  };
  // What is known of another process.
  struct Peer {
    std::deque<std::string> exchanges;  // Arrived and not yet returned.
    std::optional<std::string> end;     // Why it failed, "" if it did not.
    std::map<int, WaitNotice> notices;  // The last, by lane.
  };

  void send_control(int to, ControlHead head, const std::string& text);
  void send_control_to_all(ControlHead head, const std::string& text);
  void store(int from, ControlHead head, std::string text);
  std::string missing(bool wants_end);
  void throw_if_ended(double waited_seconds);
  void reap();
  void discard_strays();

  std::unique_ptr<MpiCalls> calls_;
  std::mutex mutex_;  // Of all below; locked before that of calls_.
  std::vector<Peer> peers_;
  std::map<std::uint64_t, KnownFailure> failures_;                       // By run.
  std::map<std::pair<std::uint64_t, int>, std::vector<Entry>> entries_;  // By run and lane.
  std::atomic<std::uint64_t> last_failed_run_{0};
  std::vector<MPI_Request> kept_requests_;
  std::vector<MpiBuffer> kept_buffers_;
  bool has_finished_ = false;
  std::atomic<bool> has_given_up_{false};
  int abort_code_ = 0;              // Of all processes, where finish() has failed.
  std::vector<MpiTags> used_tags_;  // Of runs that have not ended.
};

}  // namespace tutti
