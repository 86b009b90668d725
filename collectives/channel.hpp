// Channel: the one seam. Everything above it is written once; everything below it is a substrate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/block.hpp"
#include "collectives/error.hpp"

namespace tutti {

/// Local work that a rank does between messages. A simulated channel lets its time pass, a real
/// one only counts it (the caller has done the work), a recorder writes it down.
struct Work {
  enum class Kind : std::uint8_t {
    copy,     ///< `target` has been overwritten with `source`.
    reduce,   ///< `target` has been combined with `source` by `op`.
    scale,    ///< `target` has been divided by a constant, or set to `source` converted.
    scratch,  ///< `target` is memory for intermediate results, not yet written. Takes no time.
    compute,  ///< `seconds` of anything else, such as a layer's forward pass.
  };

  Kind kind = Kind::compute;
  double seconds =
      0.0;  ///< For compute; copy, reduce and scale cost their bytes at reduction speed.
  Block target;
  Block source;
  Op op = Op::replace;  ///< For reduce.
};

/// A send or receive in flight. The default value stands for an empty block: waiting is a no-op.
struct Request {
  std::uint64_t id = 0;
};

/// Some ranks of a world, in the order in which they are numbered among themselves.
struct RankGroup {
  std::vector<int> ranks;  ///< By their numbers in the world.
  std::uint64_t hash = 0;  ///< The same in every process, never 0.

  static RankGroup of(std::vector<int> ranks);
};

/// What the ranks have agreed to do, as far as it must be the same on all of them.
struct Call {
  std::string_view algorithm;  ///< For example "allreduce_ring"; outlives the call.
  std::size_t count = 0;       ///< Elements of the whole buffer.
  DType dtype = DType::float32;
  Op op = Op::replace;
  int root = -1;

  /// A hash of all fields that is the same in every process; 0 outside any call.
  std::uint64_t signature() const;

  /// For example "allreduce_ring of 1024 float32, sum".
  std::string describe() const;
};

/// Where a channel is: shared by a substrate's channel and the decorators around it.
struct Progress {
  Call call;
  std::uint64_t signature = 0;       ///< Of the call and the group.
  const RankGroup* group = nullptr;  ///< Who takes part in the call; null: all ranks.
  std::uint64_t sequence = 0;  ///< Calls entered so far; the current one has this number, from 1.
  int depth = 0;               ///< Nesting of Operations; only the outermost sets `call`.
  int step = 0;                ///< Blocking steps begun in the current call, from 1.
  int steps = 0;               ///< The most steps any rank takes in it.
  bool is_agreed = true;       ///< False in a call whose participants may not all be in it yet.

  /// For example "step 4 of 7".
  std::string where() const;

  /// As Call::describe(), with the size of the group: "allreduce_ring of 8 int8, sum in a group of
  /// 3".
  std::string describe_call() const;
};

inline constexpr double no_deadline = std::numeric_limits<double>::infinity();

/// A rank's end of a set of ordered streams, one to and one from each other rank.
///
/// The contract, the same on every substrate (tests/conformance states it as tests):
///  1. Messages of one ordered pair arrive in the order sent. Channels of other lanes are
///     independent.
///  2. Each request is waited for exactly once, and per peer and direction in posting order. A
///     channel must not be destroyed with open requests.
///  3. wait() progresses all posted requests: two ranks that both send first never block each
///     other.
///  4. A sender's block is frozen until its wait returns, a receiver's unspecified until then.
///  5. Both ends agree on count, dtype and ghostness, else Error(mismatch) that names both ranks,
///     both sizes and the step.
///  6. Empty blocks travel nowhere. A message to oneself is a programmer error.
///  7. After an Error the channel is dead: every later use throws the same kind again.
///  8. A reduction is charged once, to the rank that waits for the receive.
///  9. Results are bit-identical on every substrate.
///
/// A channel belongs to one thread (or actor) at a time.
class Channel {
 public:
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Seconds on the channel's own clock, simulated or wall; the origin is the substrate's.
  virtual double now() const = 0;

  /// Absolute on now()'s clock, and sticky: a wait that passes it throws Error(timeout).
  virtual void set_deadline(double seconds) = 0;

  /// Accounts for local work; see Work.
  virtual void charge(const Work& work) = 0;

  /// Starts sending `block` to rank `to`.
  Request isend(int to, Block block) {
    check_peer(to, "send to");
    return block.is_empty() ? Request{} : post_send(to, block);
  }

  /// Starts receiving from rank `from`. When the wait returns, `block = op(block, message)`;
  /// average is not a receive's op.
  Request irecv(int from, Block block, Op op = Op::replace) {
    check_peer(from, "receive from");
    check(op != Op::average, "rank {}: a receive cannot average; sum, then scale", rank_);
    return block.is_empty() ? Request{} : post_recv(from, block, op);
  }

  /// Blocks until the request is complete.
  void wait(Request request) {
    if (request.id != 0) complete(request);
  }

  /// One blocking step each; `sendrecv` does both directions at once.
  void send(int to, Block block) {
    next_step();
    wait(isend(to, block));
  }
  void recv(int from, Block block, Op op = Op::replace) {
    next_step();
    wait(irecv(from, block, op));
  }
  void sendrecv(int to, Block out, int from, Block in, Op op = Op::replace) {
    next_step();
    const Request sent = isend(to, out);
    wait(irecv(from, in, op));
    wait(sent);
  }

  /// Algorithms that use isend and irecv directly say where their steps begin.
  void next_step() { ++progress_->step; }

  /// Called before a rank writes to user data other than by a receive. Where the substrate can
  /// tell, returns once all participants are in the current call, and throws Error(mismatch) if
  /// one is in another; elsewhere, and outside calls, does nothing.
  void agree() {
    if (!progress_->is_agreed) substrate_->await_agreement();
  }

  const Progress& progress() const { return *progress_; }

 protected:
  /// A substrate's channel, with a progress of its own.
  Channel(int rank, int size)
      : rank_(rank), size_(size), substrate_(this), progress_(&own_progress_) {}

  /// A decorator's: shares the progress of what it decorates.
  Channel(int rank, int size, Channel& inner)
      : rank_(rank),
        size_(size),
        group_(inner.group_),
        substrate_(inner.substrate_),
        progress_(inner.progress_) {}

  /// The ranks of this channel, if it is not all of the world's.
  const RankGroup* group() const { return group_; }

  /// For a channel of a subset; `group` must outlive it.
  void set_group(const RankGroup& group) { group_ = &group; }

  /// Of a substrate that can tell: a call has begun; whether all participants are in it.
  virtual void on_call() {}
  virtual void await_agreement() {}
  void set_agreed(bool is_agreed) { progress_->is_agreed = is_agreed; }

  /// `block` is never empty and the peer never the own rank; the id returned is never 0.
  virtual Request post_send(int to, Block block) = 0;
  virtual Request post_recv(int from, Block block, Op op) = 0;
  virtual void complete(Request request) = 0;

 private:
  friend class Operation;

  void check_peer(int peer, std::string_view verb) const {
    check(peer >= 0 && peer < size_ && peer != rank_,
          "{}: rank {} cannot {} rank {} in a world of {}", progress_->call.algorithm, rank_, verb,
          peer, size_);
  }

  const int rank_;
  const int size_;
  const RankGroup* group_ = nullptr;
  Channel* const substrate_;
  Progress own_progress_;
  Progress* const progress_;
};

/// Marks a collective for as long as it lives, so that errors, traces and mismatch checks can name
/// it. Nested ones (the two passes of a ring allreduce) keep the outermost's name.
class Operation {
 public:
  Operation(Channel& channel, const Call& call, int steps);
  Operation(Channel& channel, std::string_view algorithm, Block data, Op op, int steps,
            int root = -1)
      : Operation(channel, Call{algorithm, data.count, data.dtype, op, root}, steps) {}
  ~Operation() { --progress_.depth; }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  Progress& progress_;
};

}  // namespace tutti
