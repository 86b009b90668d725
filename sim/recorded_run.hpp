// RecordedRun: gives recorded actions their times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/flow_network.hpp"
#include "sim/local_costs.hpp"
#include "sim/recording.hpp"

namespace tutti {

/// Times equal those of Replay with the same program, to the bit, but a message costs some dozens
/// of nanoseconds: no rank has a stack. Without contention each rank has a clock of its own and
/// runs until it needs a message whose other end is not posted yet; else all move by events.
class RecordedRun {
 public:
  /// `recording` was successful and outlives it, as do the others.
  RecordedRun(Recording& recording, const Shape& shape, const SimOptions& options, int size);

  /// Once. False if something is wrong: a deadlock, ends that do not agree, messages that nobody
  /// receives, a deadline that passes. Replay says what.
  bool run();

  /// When each rank has ended.
  void write_ends(std::span<double> end_seconds) const;

  /// Messages that have been waited for on both ends.
  std::size_t messages() const { return finished_; }

 private:
  struct Message {
    double seconds = 0.0;  ///< When the first end was posted; once begun, when it ends.
    std::uint32_t stream = none;
    std::uint32_t envelope = 0;
    std::uint32_t next = none;  ///< Behind it in its stream, while only one end is posted.
    std::uint32_t out_waiter = none, in_waiter = none;  ///< Ranks.
    bool ends = false;                                  ///< It is known when,
    bool has_begun = false;                             ///< or at least that it does.
    std::uint8_t closed = 0;                            ///< Ends that have been waited for.
  };

  struct Rank {
    double now_seconds = 0.0;
    const Action* next = nullptr;
    const Action* end = nullptr;
    LocalCosts costs = {};
    std::uint32_t out = none, in = none;  ///< Of an exchange under way.
    int phase = 0;                        ///< How much of the next action is done.
  };

  void advance(std::uint32_t rank);
  bool perform(std::uint32_t rank, const Action& action);
  bool exchange(std::uint32_t rank, const Action& action);
  bool receive(std::uint32_t rank, std::uint32_t message, bool is_reduced);
  std::uint32_t post(const Rank& rank, Action::Post post, bool is_send);
  std::uint32_t open_message(Action::Post post, double seconds);
  void begin(std::uint32_t message, double seconds);
  bool wait(std::uint32_t rank, std::uint32_t message, bool is_send);
  void close(std::uint32_t message);
  bool pass(std::uint32_t rank, double seconds);
  void run_by_clocks();
  void run_by_events();
  void handle(const Event& event);
  void wake_waiters(Message& message);
  std::uint32_t& register_of(std::uint32_t rank, std::uint32_t index) {
    return registers_[rank * recording_.registers() + index];
  }

  Recording& recording_;
  ReplayStreams& streams_;
  const std::size_t eager_bytes_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> registers_;  ///< By rank.
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> ready_;
  std::unique_ptr<FlowNetwork> flows_;  ///< None without contention.
  EventQueue queue_;
  double now_seconds_ = 0.0;  ///< Where there are flows.
  std::size_t finished_ = 0;
  std::size_t ended_ = 0;  ///< Ranks.
  bool is_wrong_ = false;
};

}  // namespace tutti
