#include "sim/recording.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "sim/local_costs.hpp"
#include "sim/simulated_rank.hpp"

namespace tutti {
namespace {

/// Thrown where a program does what cannot be recorded.
struct Unrecordable {};

}  // namespace

class RecordingChannel final : public Channel {
 public:
  RecordingChannel(Recording& recording, int rank, std::vector<Action>& actions)
      : Channel(rank, recording.size_),
        recording_(recording),
        actions_(actions),
        costs_(local_costs_of(
            recording.shape_.hosts[static_cast<std::size_t>(recording.shape_.host_of(rank))])) {}

  double now() const override { throw Unrecordable{}; }

  void set_deadline(double seconds) override {
    if (!actions_.empty() && seconds != recording_.deadline_seconds_) throw Unrecordable{};
    recording_.deadline_seconds_ = std::min(recording_.deadline_seconds_, seconds);
  }

  void charge(const Work& work) override {
    if (work.kind == Work::Kind::scratch) return;
    if (work.kind != Work::Kind::compute) return pass(costs_.seconds_of(work.target.bytes()));
    check(work.seconds >= 0.0, "rank {} charges {} s of work", rank(), work.seconds);
    pass(work.seconds);
  }

  void pass(double seconds) {
    if (seconds <= 0.0) return;
    append(Action::Kind::pass, 0).seconds = seconds;
  }

  void check_closed() const {
    if (open_ > 0) throw Unrecordable{};
  }

 protected:
  Request post_send(int to, Block block) override {
    pass(costs_.send_overhead_seconds);
    const Action::Post post = post_of(rank(), to, block);
    const std::uint32_t message = open(true, false);
    append(Action::Kind::send, message).posts.sent = post;
    return request_of(message);
  }

  Request post_recv(int from, Block block, Op op) override {
    const Action::Post post = post_of(from, rank(), block);
    const std::uint32_t message = open(false, op != Op::replace);
    append(Action::Kind::receive, message).posts.received = post;
    return request_of(message);
  }

  void complete(Request request) override {
    const auto message = static_cast<std::uint32_t>(request.id) - 1;
    const bool is_open = message < registers_.size() && registers_[message].is_open &&
                         registers_[message].uses == request.id >> 32;
    if (!is_open) throw Unrecordable{};  // The clock's engine says what is wrong.
    Register& closed = registers_[message];
    closed.is_open = false;
    --open_;
    free_.push_back(message);
    if (closed.is_send && ends_exchange(message)) return;
    Action& wait = append(Action::Kind::wait, message);
    wait.is_send = closed.is_send;
    wait.is_reduced = closed.is_reduced;
  }

 private:
  /// Where a message is kept while its request is open.
  struct Register {
    std::uint32_t uses = 0;  ///< Tells requests for earlier messages apart.
    bool is_open = false;
    bool is_send = false;
    bool is_reduced = false;
  };

  struct KnownStream {
    int from = -1;
    int to = -1;
    std::uint32_t stream = none;
  };

  struct KnownEnvelope {
    Envelope envelope;
    std::uint32_t number = none;
  };

  // Its fields are then set one by one: a whole action is not built elsewhere and copied.
  Action& append(Action::Kind kind, std::uint32_t message) {
    if (actions_.size() + recording_.count_ >= Recording::most_actions) throw Unrecordable{};
    Action& action = actions_.emplace_back();
    action.kind = kind;
    action.message = message;
    return action;
  }

  Action::Post post_of(int from, int to, const Block& block) {
    if (!block.is_ghost()) throw Unrecordable{};
    return {stream_of(from, to), envelope_of_block(block)};
  }

  // Most messages go where the last one went.
  std::uint32_t stream_of(int from, int to) {
    KnownStream& known = streams_[from == rank() ? 0 : 1];
    if (known.from != from || known.to != to) {
      known = {from, to, recording_.streams_.find(0, from, to)};
    }
    return known.stream;
  }

  // A call has few sizes.
  std::uint32_t envelope_of_block(const Block& block) {
    KnownEnvelope& known = envelopes_[block.count % envelopes_.size()];
    const Envelope& last = known.envelope;
    if (progress().depth == 0 || known.number == none || last.count != block.count ||
        last.dtype != block.dtype || last.signature != progress().signature) {
      const Envelope envelope = envelope_of(progress(), block);
      known = {envelope, recording_.number_of(envelope)};
    }
    return known.number;
  }

  std::uint32_t open(bool is_send, bool is_reduced) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(registers_.size()));
      registers_.emplace_back();
      recording_.registers_ =
          std::max(recording_.registers_, static_cast<std::uint32_t>(registers_.size()));
    }
    const std::uint32_t message = free_.back();
    free_.pop_back();
    Register& opened = registers_[message];
    ++opened.uses;
    opened.is_open = true;
    opened.is_send = is_send;
    opened.is_reduced = is_reduced;
    ++open_;
    return message;
  }

  Request request_of(std::uint32_t message) const {
    return {(std::uint64_t{registers_[message].uses} << 32) | (message + 1)};
  }

  // Whether a wait for this message, which was sent, makes the last actions an exchange.
  bool ends_exchange(std::uint32_t message) {
    constexpr std::size_t parts = 3;
    if (actions_.size() < parts) return false;
    Action* const last = &actions_[actions_.size() - parts];
    const bool is_exchange = last[0].kind == Action::Kind::send && last[0].message == message &&
                             last[1].kind == Action::Kind::receive &&
                             last[2].kind == Action::Kind::wait && !last[2].is_send &&
                             last[2].message == last[1].message;
    if (!is_exchange) return false;
    last[0].kind = Action::Kind::exchange;
    last[0].is_reduced = last[2].is_reduced;
    last[0].posts.received = last[1].posts.received;
    actions_.resize(actions_.size() - parts + 1);
    return true;
  }

  Recording& recording_;
  std::vector<Action>& actions_;
  const LocalCosts costs_;
  std::vector<Register> registers_;
  std::vector<std::uint32_t> free_;          ///< Of the registers.
  std::size_t open_ = 0;                     ///< Requests.
  std::array<KnownStream, 2> streams_ = {};  ///< The last one sent to, and received from.
  std::array<KnownEnvelope, 8> envelopes_ = {};
};

class RecordingRank final : public SimulatedRank {
 public:
  RecordingRank(Recording& recording, int index, std::vector<Action>& actions)
      : SimulatedRank(index, recording.size_, recording.options_.seed),
        channel_(recording, index, actions) {}

  Channel& channel(int lane) override {
    if (lane != 0) throw Unrecordable{};
    return channel_;
  }
  void spawn(std::function<void()> /*task*/) override { throw Unrecordable{}; }
  void pause(double seconds) override { channel_.pass(seconds); }
  void stall() override { throw Unrecordable{}; }
  void kill() override { throw Unrecordable{}; }

  void run(const Program& program) {
    program(*this);
    channel_.check_closed();
  }

 private:
  RecordingChannel channel_;
};

Recording::Recording(const Shape& shape, const SimOptions& options, int size)
    : shape_(shape),
      options_(options),
      size_(size),
      streams_(shape, size, options.lanes),
      actions_(static_cast<std::size_t>(size)) {}

bool Recording::record(const Program& program) {
  if (hosts_are_shared()) return false;
  try {
    for (int rank = 0; rank < size_; ++rank) {
      std::vector<Action>& own = actions_[static_cast<std::size_t>(rank)];
      if (rank > 0) own.reserve(actions_[static_cast<std::size_t>(rank) - 1].size());
      RecordingRank(*this, rank, own).run(program);
      count_ += own.size();
    }
  } catch (...) {
    return false;
  }
  return true;
}

bool Recording::hosts_are_shared() const {
  std::vector<int> ranks(shape_.hosts.size());
  for (int rank = 0; rank < size_; ++rank) {
    const auto host = static_cast<std::size_t>(shape_.host_of(rank));
    if (++ranks[host] > shape_.hosts[host].cores) return true;
  }
  return false;
}

std::uint32_t Recording::number_of(const Envelope& envelope) {
  const auto next = static_cast<std::uint32_t>(bytes_.size());
  const auto [found, is_new] = envelopes_.try_emplace(envelope, next);
  if (is_new) bytes_.push_back(envelope.count * bytes_of(envelope.dtype));
  return found->second;
}

std::size_t Recording::Hash::operator()(const Envelope& envelope) const {
  return (envelope.signature ^ envelope.count) * 0x9e3779b97f4a7c15 +
         static_cast<std::size_t>(envelope.dtype);
}

bool Recording::Equal::operator()(const Envelope& left, const Envelope& right) const {
  return left.signature == right.signature && left.count == right.count &&
         left.dtype == right.dtype && left.ghost == right.ghost;
}

}  // namespace tutti
