#include "sim/replay_mail.hpp"

#include <array>

#include "collectives/envelope.hpp"
#include "sim/deadlock.hpp"

namespace tutti {

ReplayMail::ReplayMail(const Shape& shape, int size, const SimOptions& options, ReplayTasks& tasks,
                       Observation* observation)
    : size_(size),
      eager_bytes_(options.eager_bytes),
      tasks_(tasks),
      observation_(observation),
      streams_(shape, size, options.lanes),
      flows_(make_flows(options.model, shape, tasks.queue())) {}

Request ReplayMail::send(ReplayParty sender, int to, const Block& block, const Progress& progress) {
  const std::uint32_t stream = streams_.find(sender.lane, sender.rank, to);
  const End end{match(stream, true), true};
  ReplayMessage& message = messages_[end.message];
  message.signature = progress.depth > 0 ? progress.signature : 0;
  return post(sender, end, block, progress);
}

Request ReplayMail::receive(ReplayParty receiver, int from, const Block& block, Op op,
                            const Progress& progress) {
  const std::uint32_t stream = streams_.find(receiver.lane, from, receiver.rank);
  const End end{match(stream, false), false};
  messages_[end.message].op = op;
  return post(receiver, end, block, progress);
}

std::string ReplayMail::describe_call(const ReplayMessage& message) const {
  const auto found = calls_.find(message.signature);
  return found == calls_.end() ? Call{}.describe() : found->second.describe();
}

std::uint32_t ReplayMail::match(std::uint32_t stream, bool is_send) {
  ReplayStream& queue = streams_[stream];
  if (queue.first != none && queue.holds_sends != is_send) {
    return streams_.dequeue(messages_, stream);
  }
  const std::uint32_t message = messages_.open_slot();
  messages_[message].stream = stream;
  queue.holds_sends = is_send;
  streams_.enqueue(messages_, stream, message);
  return message;
}

Request ReplayMail::post(ReplayParty self, End end, const Block& block, const Progress& progress) {
  ReplayMessage& message = messages_[end.message];
  ReplayEnd& own = end.is_send ? message.out : message.in;
  const ReplayEnd& other = end.is_send ? message.in : message.out;
  own.block = block;
  own.rank = self.rank;
  own.lane = self.lane;
  own.posted = true;
  const bool is_eager = message.out.posted && message.out.block.bytes() <= eager_bytes_;
  const bool begins = is_eager ? end.is_send : other.posted;
  const Request request{((std::uint64_t{message.serial} << 32) | (std::uint64_t{end.message} << 1) |
                         (end.is_send ? 1 : 0)) +
                        1};
  if (observation_ != nullptr) observe_post(message, end.is_send, progress.step);
  if (begins) begin(end.message);
  return request;
}

ReplayMail::End ReplayMail::find(ReplayParty party, Request request) {
  const std::uint64_t id = request.id - 1;
  const End end{static_cast<std::uint32_t>(id) >> 1, (id & 1) != 0};
  if (end.message >= messages_.size()) return {};
  const ReplayMessage& message = messages_[end.message];
  const ReplayEnd& own = end.is_send ? message.out : message.in;
  const bool is_open = message.serial == id >> 32 && own.posted && !own.closed;
  if (!is_open || own.rank != party.rank || own.lane != party.lane) return {};
  return end;
}

void ReplayMail::begin(std::uint32_t index) {
  ReplayMessage& message = messages_[index];
  const ReplayStream& stream = streams_[message.stream];
  const auto bytes = static_cast<double>(message.out.block.bytes() + stream.overhead_bytes);
  message.begun = true;
  if (!stalled_.empty() && (stalled_[static_cast<std::size_t>(stream.from)] ||
                            stalled_[static_cast<std::size_t>(stream.to)])) {
    return;
  }
  if (message.record != none) {
    observation_->messages[message.record].begin_seconds = tasks_.now();
  }
  if (flows_) {
    flows_->begin(tasks_.now(), index,
                  {stream.links, stream.latency_seconds, stream.bandwidth_bytes_per_second}, bytes);
    return;
  }
  end_at(message,
         tasks_.now() + stream.latency_seconds + bytes / stream.bandwidth_bytes_per_second);
  for (const std::uint32_t waiter : {message.out.waiter, message.in.waiter}) {
    if (waiter != none) tasks_.wake_at(message.end_seconds, waiter);
  }
}

void ReplayMail::handle(const Event& event) {
  if (!flows_->handle(tasks_.now(), event)) return;
  ReplayMessage& message = messages_[event.target];
  end_at(message, tasks_.now());
  wake_waiters(message);
}

void ReplayMail::end_at(ReplayMessage& message, double seconds) {
  message.end_seconds = seconds;
  if (message.record != none) observation_->messages[message.record].end_seconds = seconds;
}

void ReplayMail::wake_waiters(const ReplayMessage& message) {
  for (const std::uint32_t waiter : {message.out.waiter, message.in.waiter}) {
    if (waiter != none) tasks_.wake(waiter);
  }
}

ReplayMail::Ending ReplayMail::wait(End end, double deadline_seconds) {
  ReplayMessage& message = messages_[end.message];
  ReplayEnd& own = end.is_send ? message.out : message.in;
  const double since_seconds = tasks_.now();
  if (message.end_seconds > since_seconds && message.end_seconds != no_deadline) {
    tasks_.wake_at(message.end_seconds, tasks_.current());
  }
  while (message.end_seconds > tasks_.now()) {
    if (message.failure == ReplayMessage::Failure::given_up) return Ending::given_up;
    if (message.failure == ReplayMessage::Failure::peer_ended) return Ending::peer_ended;
    if (tasks_.now() >= deadline_seconds) {
      give_up(end);
      return Ending::timed_out;
    }
    own.waiter = tasks_.current();
    tasks_.block(deadline_seconds);
    own.waiter = none;
  }
  if (observation_ != nullptr && tasks_.now() > since_seconds) observe_block(end, since_seconds);
  return Ending::arrived;
}

void ReplayMail::close(End end) {
  ReplayMessage& message = messages_[end.message];
  (end.is_send ? message.out : message.in).closed = true;
  if (message.out.closed && message.in.closed) {
    ++finished_;
    messages_.close_slot(end.message);
  } else if (end.is_send) {
    keep_block(message);
  }
}

void ReplayMail::keep_block(ReplayMessage& message) {
  const Block& block = message.out.block;
  if (block.is_ghost() || message.is_copied) return;
  message.copy.assign(block.data, block.data + block.bytes());
  message.is_copied = true;
}

void ReplayMail::give_up(End end) {
  ReplayMessage& message = messages_[end.message];
  if (message.begun) {
    (end.is_send ? message.out : message.in).closed = true;
    return fail(end.message, ReplayMessage::Failure::given_up);
  }
  streams_.remove(messages_, end.message);
  messages_.close_slot(end.message);
}

void ReplayMail::fail(std::uint32_t index, ReplayMessage::Failure failure) {
  ReplayMessage& message = messages_[index];
  if (flows_) flows_->cancel(index);
  if (message.record != none) observation_->messages[message.record].end_seconds = tasks_.now();
  message.failure = failure;
  message.end_seconds = no_deadline;
  wake_waiters(message);
}

void ReplayMail::stall(int rank) {
  stalled_.resize(static_cast<std::size_t>(size_), false);
  stalled_[static_cast<std::size_t>(rank)] = true;
}

void ReplayMail::abandon(int rank, std::optional<int> lane, bool ended) {
  for (std::uint32_t index = 0; index < messages_.size(); ++index) {
    ReplayMessage& message = messages_[index];
    if (!message.out.posted && !message.in.posted) continue;
    const ReplayStream& stream = streams_[message.stream];
    const bool is_send = stream.from == rank;
    if ((!is_send && stream.to != rank) || (lane && stream.lane != *lane)) continue;
    ReplayEnd& own = is_send ? message.out : message.in;
    if (!own.posted || own.closed) continue;
    if (is_send) keep_block(message);
    if (!ended) continue;
    own.closed = true;
    if (message.end_seconds <= tasks_.now()) continue;
    if (message.begun) {
      fail(index, ReplayMessage::Failure::peer_ended);
    } else {
      streams_.remove(messages_, index);
      messages_.close_slot(index);
    }
  }
}

void ReplayMail::check_all_received() const {
  const ReplayStream* worst = nullptr;
  for (const ReplayStream& stream : streams_.all()) {
    if (stream.first == none || !stream.holds_sends) continue;
    const auto key = [](const ReplayStream& of) { return std::array{of.lane, of.from, of.to}; };
    if (worst == nullptr || key(stream) < key(*worst)) worst = &stream;
  }
  if (worst == nullptr) return;
  throw never_received(worst->lane, worst->from, worst->to, messages_.queued(worst->first));
}

void ReplayMail::observe_post(ReplayMessage& message, bool is_send, int step) {
  if (message.record == none) {
    const ReplayStream& stream = streams_[message.stream];
    message.record = static_cast<std::uint32_t>(observation_->messages.size());
    observation_->messages.push_back({.from = stream.from, .to = stream.to, .lane = stream.lane});
  }
  MessageRecord& record = observation_->messages[message.record];
  (is_send ? record.send_step : record.receive_step) = step;
  (is_send ? record.send_posted_seconds : record.receive_posted_seconds) = tasks_.now();
  if (is_send) record.bytes = message.out.block.bytes();
}

void ReplayMail::observe_block(End end, double since_seconds) {
  const ReplayMessage& message = messages_[end.message];
  const ReplayStream& stream = streams_[message.stream];
  observation_->blocks.push_back({.rank = end.is_send ? stream.from : stream.to,
                                  .lane = stream.lane,
                                  .is_send = end.is_send,
                                  .message = message.record,
                                  .begin_seconds = since_seconds,
                                  .end_seconds = tasks_.now()});
}

}  // namespace tutti
