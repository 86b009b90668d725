#include "sim/recorded_run.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace tutti {

RecordedRun::RecordedRun(Recording& recording, const Shape& shape, const SimOptions& options,
                         int size)
    : recording_(recording),
      streams_(recording.streams()),
      eager_bytes_(options.eager_bytes),
      ranks_(static_cast<std::size_t>(size)),
      registers_(ranks_.size() * recording.registers(), none),
      ready_(ranks_.size()),
      flows_(make_flows(options.model, shape, queue_)) {
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    Rank& rank = ranks_[index];
    const std::vector<Action>& actions = recording.actions(index);
    rank.next = actions.data();
    rank.end = actions.data() + actions.size();
    if (index < options.start_seconds.size()) rank.now_seconds = options.start_seconds[index];
    const int host = shape.host_of(static_cast<int>(index));
    rank.costs = local_costs_of(shape.hosts[static_cast<std::size_t>(host)]);
  }
  std::iota(ready_.begin(), ready_.end(), 0);
}

bool RecordedRun::run() {
  flows_ ? run_by_events() : run_by_clocks();
  if (is_wrong_ || ended_ < ranks_.size()) return false;
  return std::none_of(streams_.all().begin(), streams_.all().end(),
                      [](const ReplayStream& stream) { return stream.first != none; });
}

void RecordedRun::write_ends(std::span<double> end_seconds) const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    end_seconds[rank] = ranks_[rank].now_seconds;
  }
}

void RecordedRun::run_by_clocks() {
  while (!ready_.empty() && !is_wrong_) {
    const std::uint32_t rank = ready_.back();
    ready_.pop_back();
    advance(rank);
  }
}

void RecordedRun::run_by_events() {
  // Each rank begins at its time; those that begin at once do so in order, ahead of all others.
  std::vector<std::uint32_t> begins;
  for (const std::uint32_t rank : ready_) {
    const double start_seconds = std::exchange(ranks_[rank].now_seconds, 0.0);
    if (start_seconds > 0.0) {
      queue_.push(start_seconds, {Event::Kind::wake, rank, 0});
    } else {
      begins.push_back(rank);
    }
  }
  ready_ = std::move(begins);
  std::vector<Event> events;
  while (!is_wrong_) {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      ranks_[ready_[i]].now_seconds = now_seconds_;
      advance(ready_[i]);
    }
    ready_.clear();
    if (ended_ == ranks_.size()) return;
    flows_->settle(now_seconds_);
    if (queue_.empty()) return;
    now_seconds_ = queue_.pop(events);
    for (const Event& event : events) handle(event);
  }
}

void RecordedRun::handle(const Event& event) {
  if (event.kind == Event::Kind::wake) {
    ready_.push_back(event.target);
    return;
  }
  if (!flows_->handle(now_seconds_, event)) return;
  Message& message = messages_[event.target];
  message.ends = true;
  message.seconds = now_seconds_;
  wake_waiters(message);
}

void RecordedRun::advance(std::uint32_t index) {
  Rank& rank = ranks_[index];
  while (rank.next != rank.end) {
    if (!perform(index, *rank.next)) {
      __builtin_prefetch(rank.next + 3);  // By its next turn the other ranks have had theirs.
      return;
    }
    rank.phase = 0;
    ++rank.next;
  }
  ++ended_;
}

bool RecordedRun::perform(std::uint32_t index, const Action& action) {
  Rank& rank = ranks_[index];
  switch (action.kind) {
    case Action::Kind::send:
      register_of(index, action.message) = post(rank, action.posts.sent, true);
      return true;
    case Action::Kind::receive:
      register_of(index, action.message) = post(rank, action.posts.received, false);
      return true;
    case Action::Kind::wait: {
      const std::uint32_t message = register_of(index, action.message);
      if (!action.is_send) return receive(index, message, action.is_reduced);
      if (!wait(index, message, true)) return false;
      close(message);
      return true;
    }
    case Action::Kind::pass:
      return rank.phase++ > 0 || pass(index, action.seconds);
    case Action::Kind::exchange:
      break;
  }
  return exchange(index, action);
}

bool RecordedRun::exchange(std::uint32_t index, const Action& action) {
  Rank& rank = ranks_[index];
  if (rank.in == none && rank.out == none) {
    rank.out = post(rank, action.posts.sent, true);
    rank.in = post(rank, action.posts.received, false);
  }
  if (rank.in != none) {
    if (!receive(index, rank.in, action.is_reduced)) return false;
    rank.in = none;
  }
  if (!wait(index, rank.out, true)) return false;
  close(rank.out);
  rank.out = none;
  return true;
}

// Phases: the message has come, its overhead has passed, what follows has passed.
bool RecordedRun::receive(std::uint32_t index, std::uint32_t message, bool is_reduced) {
  Rank& rank = ranks_[index];
  if (rank.phase == 0) {
    if (!wait(index, message, false)) return false;
    rank.phase = 1;
    if (!pass(index, rank.costs.receive_overhead_seconds)) return false;
  }
  if (rank.phase == 1 && is_reduced) {
    rank.phase = 2;
    const std::size_t bytes = recording_.bytes(messages_[message].envelope);
    if (!pass(index, rank.costs.seconds_of(bytes))) return false;
  }
  close(message);
  return true;
}

std::uint32_t RecordedRun::post(const Rank& rank, Action::Post post, bool is_send) {
  ReplayStream& stream = streams_[post.stream];
  const bool is_eager = recording_.bytes(post.envelope) <= eager_bytes_;
  if (stream.first == none || stream.holds_sends == is_send) {
    const std::uint32_t message = open_message(post, rank.now_seconds);
    stream.holds_sends = is_send;
    if (stream.first == none) {
      stream.first = message;
    } else {
      messages_[stream.last].next = message;
    }
    stream.last = message;
    if (is_send && is_eager) begin(message, rank.now_seconds);
    return message;
  }
  const std::uint32_t index = stream.first;
  Message& message = messages_[index];
  stream.first = message.next;
  if (message.envelope != post.envelope) is_wrong_ = true;
  if (message.has_begun) return index;
  // An eager message does not wait for a receiver that is late by its own clock.
  begin(index, is_eager ? rank.now_seconds : std::max(message.seconds, rank.now_seconds));
  return index;
}

std::uint32_t RecordedRun::open_message(Action::Post post, double seconds) {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  messages_[index] = {.seconds = seconds, .stream = post.stream, .envelope = post.envelope};
  return index;
}

void RecordedRun::begin(std::uint32_t index, double seconds) {
  Message& message = messages_[index];
  const ReplayStream& stream = streams_[message.stream];
  const auto bytes =
      static_cast<double>(recording_.bytes(message.envelope) + stream.overhead_bytes);
  message.has_begun = true;
  if (flows_) {
    flows_->begin(now_seconds_, index,
                  {stream.links, stream.latency_seconds, stream.bandwidth_bytes_per_second}, bytes);
    return;
  }
  message.ends = true;
  message.seconds = seconds + stream.latency_seconds + bytes / stream.bandwidth_bytes_per_second;
  wake_waiters(message);
}

void RecordedRun::wake_waiters(Message& message) {
  for (std::uint32_t* const waiter : {&message.out_waiter, &message.in_waiter}) {
    if (*waiter != none) ready_.push_back(std::exchange(*waiter, none));
  }
}

bool RecordedRun::wait(std::uint32_t index, std::uint32_t number, bool is_send) {
  Message& message = messages_[number];
  if (!message.ends) {
    (is_send ? message.out_waiter : message.in_waiter) = index;
    return false;
  }
  Rank& rank = ranks_[index];
  rank.now_seconds = std::max(rank.now_seconds, message.seconds);
  if (message.seconds > recording_.deadline_seconds()) is_wrong_ = true;
  return true;
}

void RecordedRun::close(std::uint32_t index) {
  if (++messages_[index].closed < 2) return;
  ++finished_;
  free_.push_back(index);
}

bool RecordedRun::pass(std::uint32_t index, double seconds) {
  if (seconds <= 0.0) return true;
  Rank& rank = ranks_[index];
  if (!flows_) {
    rank.now_seconds += seconds;
    return true;
  }
  queue_.push(now_seconds_ + seconds, {Event::Kind::wake, index, 0});
  return false;
}

}  // namespace tutti
