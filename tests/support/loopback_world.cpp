#include "tests/support/loopback_world.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "collectives/envelope.hpp"
#include "collectives/kernels.hpp"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::align_val_t alignment_bytes{128};

struct Message {
  Envelope envelope;
  Call call;
  Block block;                      // The sender's, which is frozen until taken, or `snapshot`.
  std::vector<std::byte> snapshot;  // Of an eager message.
  bool taken = false;
};

// What the threads of one run share; all of it under the mutex.
struct Shared {
  Shared(int ranks, int lanes)
      : size(ranks),
        boxes(static_cast<std::size_t>(lanes * ranks * ranks)),
        ended(static_cast<std::size_t>(ranks), false) {}

  std::deque<std::shared_ptr<Message>>& box(int lane, int from, int to) {
    return boxes[static_cast<std::size_t>((lane * size + from) * size + to)];
  }

  const int size;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<std::shared_ptr<Message>>> boxes;
  std::vector<bool> ended;  // By rank: returned, or failed.
  std::exception_ptr failure;
  int failed_rank = -1;
};

class LoopbackChannel final : public Channel {
 public:
  LoopbackChannel(int rank, int lane, const LoopbackOptions& options, Shared& shared)
      : Channel(rank, shared.size), lane_(lane), options_(options), shared_(shared) {}

  double now() const override {
    return std::chrono::duration<double>(Clock::now() - shared_.start).count();
  }
  void set_deadline(double seconds) override { deadline_seconds_ = seconds; }
  void charge(const Work&) override {}

  bool has_open_requests() const { return !sends_.empty() || !receives_.empty(); }

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Send {
    int to = 0;
    std::shared_ptr<Message> message;
  };
  struct Receive {
    int from = 0;
    Block block;
    Op op = Op::replace;
    bool done = false;
  };

  void check_alive() const;
  void progress_receives();
  bool is_done(std::uint64_t id) const;
  void check_peer_is_there(std::uint64_t id) const;
  void wait_for(std::uint64_t id, std::unique_lock<std::mutex>& lock);
  [[noreturn]] void time_out(std::uint64_t id, double waited_seconds) const;

  const int lane_;
  const LoopbackOptions options_;
  Shared& shared_;
  double deadline_seconds_ = no_deadline;
  std::map<std::uint64_t, Send> sends_;
  std::map<std::uint64_t, Receive> receives_;  // Ordered by id, which is posting order.
  std::uint64_t next_id_ = 1;
  std::optional<Error> death_;
};

Request LoopbackChannel::post_send(int to, Block block) {
  check_alive();
  auto message = std::make_shared<Message>();
  message->envelope = envelope_of(progress(), block);
  if (progress().depth > 0) message->call = progress().call;
  message->block = block;
  if (block.bytes() <= options_.eager_bytes) {
    if (!block.is_ghost()) {
      message->snapshot.assign(block.data, block.data + block.bytes());
      message->block.data = message->snapshot.data();
    }
    message->taken = true;
  }
  const std::lock_guard lock(shared_.mutex);
  shared_.box(lane_, rank(), to).push_back(message);
  shared_.changed.notify_all();
  sends_[next_id_] = Send{to, std::move(message)};
  return Request{next_id_++};
}

Request LoopbackChannel::post_recv(int from, Block block, Op op) {
  check_alive();
  receives_[next_id_] = Receive{from, block, op};
  return Request{next_id_++};
}

void LoopbackChannel::complete(Request request) {
  check_alive();
  check(sends_.contains(request.id) || receives_.contains(request.id),
        "loopback: rank {} waits for request {}, which is not open", rank(), request.id);
  try {
    std::unique_lock lock(shared_.mutex);
    wait_for(request.id, lock);
  } catch (const Error& error) {
    death_ = error;
    throw;
  }
  sends_.erase(request.id);
  receives_.erase(request.id);
}

void LoopbackChannel::check_alive() const {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
}

// Takes every message that has arrived for a posted receive.
void LoopbackChannel::progress_receives() {
  for (auto& [id, receive] : receives_) {
    auto& box = shared_.box(lane_, receive.from, rank());
    if (receive.done || box.empty()) continue;
    Message& message = *box.front();
    check_envelope(progress(), rank(), receive.from, receive.block, message.envelope,
                   message.call.describe());
    if (!receive.block.is_ghost()) {
      reduce_elements(receive.op, receive.block.dtype, receive.block.data, message.block.data,
                      receive.block.count);
    }
    receive.done = true;
    message.taken = true;
    box.pop_front();
    shared_.changed.notify_all();
  }
}

bool LoopbackChannel::is_done(std::uint64_t id) const {
  const auto receive = receives_.find(id);
  return receive != receives_.end() ? receive->second.done : sends_.at(id).message->taken;
}

void LoopbackChannel::check_peer_is_there(std::uint64_t id) const {
  const auto receive = receives_.find(id);
  const int peer = receive != receives_.end() ? receive->second.from : sends_.at(id).to;
  const int lost = shared_.failed_rank >= 0 ? shared_.failed_rank : peer;
  if (!shared_.ended[static_cast<std::size_t>(lost)]) return;
  throw Error(ErrorKind::peer_lost,
              fmt::format("{}: rank {} waits for rank {} at {}, but rank {} has ended",
                          progress().call.algorithm, rank(), peer, progress().where(), lost),
              rank());
}

void LoopbackChannel::wait_for(std::uint64_t id, std::unique_lock<std::mutex>& lock) {
  const double began_seconds = now();
  const double limit_seconds =
      std::min(deadline_seconds_, began_seconds + options_.timeout_seconds);
  const auto limit = shared_.start + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(limit_seconds));
  while (true) {
    progress_receives();
    if (is_done(id)) return;
    check_peer_is_there(id);
    if (now() >= limit_seconds) time_out(id, now() - began_seconds);
    shared_.changed.wait_until(lock, limit);
  }
}

void LoopbackChannel::time_out(std::uint64_t id, double waited_seconds) const {
  const auto receive = receives_.find(id);
  if (receive != receives_.end()) {
    throw receive_timeout(progress(), rank(), receive->second.from, waited_seconds,
                          receive->second.block.bytes(), 0);
  }
  const Send& send = sends_.at(id);
  throw send_timeout(progress(), rank(), send.to, waited_seconds, send.message->block.bytes(), 0);
}

class LoopbackRank final : public Rank {
 public:
  LoopbackRank(int index, const LoopbackOptions& options, Shared& shared)
      : Rank(index, shared.size, options.seed), shared_(shared) {
    for (int lane = 0; lane < options.lanes; ++lane) {
      channels_.push_back(std::make_unique<LoopbackChannel>(index, lane, options, shared));
    }
  }

  Channel& channel(int lane) override { return *channels_.at(static_cast<std::size_t>(lane)); }

  void spawn(std::function<void()> task) override {
    tasks_.emplace_back([this, task = std::move(task)] { guard(task); });
  }

  // The life of the rank's thread.
  void live(const Program& program) {
    guard([&] { program(*this); });
    for (std::thread& task : tasks_) task.join();
    guard([&] {
      for (const auto& channel : channels_) check_closed(*channel);
    });
    const std::lock_guard lock(shared_.mutex);
    end();
  }

 private:
  void end() {
    shared_.ended[static_cast<std::size_t>(index())] = true;
    shared_.changed.notify_all();
  }

  void check_closed(const LoopbackChannel& channel) const {
    const std::lock_guard lock(shared_.mutex);
    check(shared_.failure || !channel.has_open_requests(), "rank {} ended with open requests",
          index());
  }

  template <typename Task>
  void guard(const Task& task) {
    try {
      task();
    } catch (...) {
      const std::lock_guard lock(shared_.mutex);
      if (!shared_.failure) {
        shared_.failure = std::current_exception();
        shared_.failed_rank = index();
      }
      end();
    }
  }

  Shared& shared_;
  std::vector<std::unique_ptr<LoopbackChannel>> channels_;
  std::vector<std::thread> tasks_;
};

void check_nothing_is_left(Shared& shared, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    for (int from = 0; from < shared.size; ++from) {
      for (int to = 0; to < shared.size; ++to) {
        const auto& box = shared.box(lane, from, to);
        if (box.empty()) continue;
        throw Error(ErrorKind::mismatch,
                    fmt::format("rank {} sent {} bytes to rank {} on lane {}, which rank {} never "
                                "received",
                                from, box.front()->block.bytes(), to, lane, to),
                    to);
      }
    }
  }
}

}  // namespace

LoopbackWorld::LoopbackWorld(int size, LoopbackOptions options)
    : World(size, options.lanes), options_(options) {}

LoopbackWorld::~LoopbackWorld() = default;

void LoopbackWorld::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, alignment_bytes);
}

std::byte* LoopbackWorld::allocate(std::size_t bytes) {
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, alignment_bytes));
  memory_.emplace_back(memory);
  std::memset(memory, 0, bytes);
  return memory;
}

void LoopbackWorld::run(const Program& program) {
  Shared shared(size(), lanes());
  std::vector<std::unique_ptr<LoopbackRank>> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    ranks.push_back(std::make_unique<LoopbackRank>(rank, options_, shared));
  }
  std::vector<std::thread> threads;
  for (const auto& rank : ranks) threads.emplace_back([&] { rank->live(program); });
  for (std::thread& thread : threads) thread.join();
  if (shared.failure) throw_failure(shared.failure, shared.failed_rank);
  check_nothing_is_left(shared, lanes());
}

}  // namespace tutti
